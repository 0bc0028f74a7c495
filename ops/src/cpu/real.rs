//! Float types of the kernels.

use std::cell::Cell;
use std::fmt::Debug;

use num_traits::{Float, NumAssign};

use crate::cpu::runtime::Scratch;
use crate::rustfft_plans::Planned;

/// `f32` or `f64`, with per-thread buffers and integer keys that order power.
pub trait Real: Planned + Float + NumAssign + Default + Into<f64> {
    /// (power, bin) as one integer; see [`Real::key`].
    type Key: Copy + Ord + Default + Debug + Send;

    /// The nearest value to `value`.
    fn of(value: f64) -> Self;

    /// A key that is greater for greater power and, at equal power, for the lower bin. Non-finite power gives
    /// `Key::default()`, which is less than the key of any finite power.
    fn key(self, bin: usize) -> Self::Key;

    /// The bin in `key`; none for the key of non-finite power.
    fn key_bin(key: Self::Key) -> Option<usize>;

    /// `values` if they are f32.
    fn as_f32(values: &[Self]) -> Option<&[f32]>;

    /// Real and imaginary parts if they are f32.
    fn parts_as_f32([re, im]: [&[Self]; 2]) -> Option<[&[f32]; 2]> {
        Some([Self::as_f32(re)?, Self::as_f32(im)?])
    }

    /// `values` if they are f32.
    fn as_f32_mut(values: &mut [Self]) -> Option<&mut [f32]>;

    /// Runs `body` with this thread's buffers.
    fn with_scratch<R>(body: impl FnOnce(&mut Scratch<Self, Self::Key>) -> R) -> R;
}

macro_rules! real {
    ($float:ty, $bits:ty, $key:ty, $as_f32:expr) => {
        impl Real for $float {
            type Key = $key;

            fn of(value: f64) -> Self {
                value as Self
            }

            #[inline]
            fn key(self, bin: usize) -> $key {
                const SIGN: $bits = 1 << (<$bits>::BITS - 1);
                if !self.is_finite() {
                    return 0;
                }
                // Adding zero turns -0 into +0, so that the two tie. Then negative numbers, whose bits grow with
                // their magnitude, are reversed, and put below the positive ones.
                let bits = (self + 0.0).to_bits();
                let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                <$key>::from(ordered) << 32 | <$key>::from(u32::MAX - bin as u32)
            }

            #[inline]
            fn key_bin(key: $key) -> Option<usize> {
                (key != 0).then(|| (u32::MAX - key as u32) as usize)
            }

            fn as_f32(values: &[Self]) -> Option<&[f32]> {
                $as_f32(values)
            }

            fn as_f32_mut(values: &mut [Self]) -> Option<&mut [f32]> {
                $as_f32(values)
            }

            fn with_scratch<R>(body: impl FnOnce(&mut Scratch<Self, Self::Key>) -> R) -> R {
                thread_local! {
                    static SCRATCH: Cell<Vec<Scratch<$float, $key>>> = Cell::default();
                }
                // Taken rather than borrowed: a nested call on the same thread gets buffers of its own.
                let mut idle = SCRATCH.take();
                let mut scratch = idle.pop().unwrap_or_default();
                SCRATCH.set(idle);
                let result = body(&mut scratch);
                let mut idle = SCRATCH.take();
                idle.push(scratch);
                SCRATCH.set(idle);
                result
            }
        }
    };
}

real!(f32, u32, u64, Some);
real!(f64, u64, u128, |_| None);
