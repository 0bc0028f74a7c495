//! Macros that declare a register type from a table of intrinsics, and its token.

/// Calls of intrinsics, without memory operands but constants.
macro_rules! intrinsic {
    ($call:expr) => {
        // SAFETY: a register value or a token in scope proves that the processor has the instructions; the intrinsics
        // have no other precondition.
        unsafe { $call }
    };
}

/// Declares `$name`, a register of `$native`, with its operators and [`Lanewise`](super::register::Lanewise).
///
/// Each line of the table is one operation: its operands, then the intrinsic; under `keys`, on integer registers.
macro_rules! lanewise {
    (
        $(#[$attribute:meta])*
        $name:ident($native:ty): $lanes:literal lanes, $rows:literal rows, radix $radix:literal,
            $token:ident;
        load($from:ident) = $load:expr;
        store($into:ident, $stored:ident) = $store:expr;
        splat($scalar:ident) = $splat:expr;
        add($add_a:ident, $add_b:ident) = $add:expr;
        sub($sub_a:ident, $sub_b:ident) = $sub:expr;
        mul($mul_a:ident, $mul_b:ident) = $mul:expr;
        mul_add($fma_a:ident, $fma_b:ident, $fma_c:ident) = $fma:expr;
        mul_sub($fms_a:ident, $fms_b:ident, $fms_c:ident) = $fms:expr;
        neg_mul_add($fnma_a:ident, $fnma_b:ident, $fnma_c:ident) = $fnma:expr;
        keys $bits:ident, $from_bits:ident;
        descending($first:ident) = $descending:expr;
        with_low_bits($low_a:ident, $low_mask:ident, $low:ident) = $with_low:expr;
        inverted_bits($inverted_a:ident, $inverted_mask:ident) = $inverted:expr;
        ordered($ordered_a:ident) = $ordered:expr;
        key_max($max_a:ident, $max_b:ident) = $max:expr;
        key_min($min_a:ident, $min_b:ident) = $min:expr;
        equal_outside($eq_a:ident, $eq_b:ident, $eq_mask:ident) = $eq:expr;
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy)]
        #[repr(transparent)]
        pub(in crate::cpu) struct $name($native);

        $crate::cpu::isa::lanewise::operators! {
            $name:
            Add add($add_a, $add_b) = $add;
            Sub sub($sub_a, $sub_b) = $sub;
            Mul mul($mul_a, $mul_b) = $mul;
        }

        // SAFETY: a register of f32 has no padding, and any bits are valid. The token is created by detection, or where
        // a register value proves that detection took place.
        unsafe impl $crate::cpu::isa::register::Lanewise for $name {
            const LANES: usize = $lanes;
            const ROWS: usize = $rows;
            const RADIX: usize = $radix;
            type Token = $token;
            type Array = [f32; $lanes];

            #[inline(always)]
            fn token(self) -> $token {
                // SAFETY: a value was made with a token.
                unsafe { $token::assume() }
            }

            #[inline(always)]
            fn arrays(values: &[f32]) -> &[[f32; $lanes]] {
                values.as_chunks().0
            }

            #[inline(always)]
            fn arrays_mut(values: &mut [f32]) -> &mut [[f32; $lanes]] {
                values.as_chunks_mut().0
            }

            #[inline(always)]
            fn splat(_token: $token, $scalar: f32) -> Self {
                Self(intrinsic!($splat))
            }

            #[inline(always)]
            fn load(_token: $token, values: &[f32; $lanes]) -> Self {
                let $from = values.as_ptr();
                // SAFETY: the token proves the instructions; the array has all values, and loads need no alignment.
                Self(unsafe { $load })
            }

            #[inline(always)]
            fn store(self, into: &mut [f32; $lanes]) {
                let ($into, $stored) = (into.as_mut_ptr(), self.0);
                // SAFETY: `self` proves the instructions; the array has room for all values of a row, and stores need
                // no alignment.
                unsafe { $store }
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                let ($fma_a, $fma_b, $fma_c) = (self.0, factor.0, addend.0);
                Self(intrinsic!($fma))
            }

            #[inline(always)]
            fn mul_sub(self, factor: Self, subtrahend: Self) -> Self {
                let ($fms_a, $fms_b, $fms_c) = (self.0, factor.0, subtrahend.0);
                Self(intrinsic!($fms))
            }

            #[inline(always)]
            fn neg_mul_add(self, factor: Self, minuend: Self) -> Self {
                let ($fnma_a, $fnma_b, $fnma_c) = (self.0, factor.0, minuend.0);
                Self(intrinsic!($fnma))
            }

            #[inline(always)]
            fn descending(_token: $token, $first: u32) -> Self {
                Self(intrinsic!($from_bits($descending)))
            }

            #[inline(always)]
            fn with_low_bits(self, $low_mask: u32, low: Self) -> Self {
                Self(intrinsic!({
                    let ($low_a, $low) = ($bits(self.0), $bits(low.0));
                    $from_bits($with_low)
                }))
            }

            #[inline(always)]
            fn inverted_bits(self, $inverted_mask: u32) -> Self {
                Self(intrinsic!({
                    let $inverted_a = $bits(self.0);
                    $from_bits($inverted)
                }))
            }

            #[inline(always)]
            fn ordered(self) -> Self {
                Self(intrinsic!({
                    let $ordered_a = $bits(self.0);
                    $from_bits($ordered)
                }))
            }

            #[inline(always)]
            fn key_max(self, other: Self) -> Self {
                Self(intrinsic!({
                    let ($max_a, $max_b) = ($bits(self.0), $bits(other.0));
                    $from_bits($max)
                }))
            }

            #[inline(always)]
            fn key_min(self, other: Self) -> Self {
                Self(intrinsic!({
                    let ($min_a, $min_b) = ($bits(self.0), $bits(other.0));
                    $from_bits($min)
                }))
            }

            #[inline(always)]
            fn equal_outside(self, other: Self, $eq_mask: u32) -> u32 {
                intrinsic!({
                    let ($eq_a, $eq_b) = ($bits(self.0), $bits(other.0));
                    $eq
                })
            }

            #[inline(always)]
            fn call_shared(token: $token, kernel: impl $crate::cpu::isa::register::SharedKernel) {
                token.call_shared(kernel);
            }
        }
    };
}

/// Operators of [`lanewise`].
macro_rules! operators {
    ($name:ident: $($operator:ident $method:ident($a:ident, $b:ident) = $result:expr;)*) => {$(
        impl std::ops::$operator for $name {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self(intrinsic!($result))
            }
        }
    )*};
}

/// Declares a token, with the functions that are compiled for `$features`.
macro_rules! token {
    ($(#[$attribute:meta])* $name:ident, detected by $detected:expr, features $features:tt) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy)]
        pub(in crate::cpu) struct $name(());

        impl $name {
            /// The token, if this processor has the instructions.
            pub fn detect() -> Option<Self> {
                $detected.then_some(Self(()))
            }

            /// The token, without detection.
            ///
            /// # Safety
            /// The processor must have the instructions.
            #[inline(always)]
            pub(in crate::cpu::isa) const unsafe fn assume() -> Self {
                Self(())
            }

            /// Runs `kernel` on registers of `V`.
            pub fn run<V>(self, kernel: impl $crate::cpu::isa::dispatch::Kernel)
            where
                V: $crate::cpu::isa::register::Register<Token = Self>,
            {
                #[target_feature(enable = $features)]
                fn run_kernel<V: $crate::cpu::isa::register::Register>(
                    token: V::Token,
                    kernel: impl $crate::cpu::isa::dispatch::Kernel,
                ) {
                    let _frame = std::hint::black_box(&$crate::cpu::isa::dispatch::LineAligned::new());
                    kernel.run::<V>(token);
                }
                // SAFETY: the token proves that the processor has what is enabled.
                unsafe { run_kernel::<V>(self, kernel) }
            }

            #[inline(always)]
            pub fn call_shared(self, kernel: impl $crate::cpu::isa::register::SharedKernel) {
                #[target_feature(enable = $features)]
                fn run_shared_kernel(kernel: impl $crate::cpu::isa::register::SharedKernel) {
                    kernel.run();
                }
                // SAFETY: the token proves that the processor has what is enabled.
                unsafe { run_shared_kernel(kernel) }
            }
        }
    };
}

pub(in crate::cpu::isa) use {intrinsic, lanewise, operators, token};
