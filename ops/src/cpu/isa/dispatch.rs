//! Choice of the register type at run time. [`dispatch`] and [`dispatch_two_rows`] are the only ways into kernels.

use crate::cpu::isa::InstructionSet;
#[cfg(target_arch = "x86_64")]
use crate::cpu::isa::avx2::{Avx2, Avx2Token};
#[cfg(target_arch = "x86_64")]
use crate::cpu::isa::avx512::{Avx512, Avx512Token, Avx512TwoRows};
#[cfg(target_arch = "aarch64")]
use crate::cpu::isa::neon::{Neon as FourLanes, NeonToken as FourLanesToken};
use crate::cpu::isa::portable::{Portable, PortableToken};
use crate::cpu::isa::register::Register;
#[cfg(target_feature = "simd128")]
use crate::cpu::isa::simd128::{Simd128 as FourLanes, Simd128Token as FourLanesToken};

/// Work of one task, compiled for each register type.
///
/// `run` and everything it calls must be `#[inline(always)]`, closures included: a function that is not inlined is
/// compiled without the set's instructions, and every operation in it becomes a call. On x86-64 the test
/// `kernels_call_nothing_that_should_be_inlined` guards this.
pub(in crate::cpu) trait Kernel {
    fn run<V: Register>(self, token: V::Token);
}

/// A kernel that names no register type: plain code, which the compiler turns into the instructions of the set. A
/// closure's `FnOnce` would call it through a function of its own.
pub(in crate::cpu) struct PlainKernel<F>(pub F);

impl<F: FnMut()> Kernel for PlainKernel<F> {
    #[inline(always)]
    fn run<V: Register>(mut self, _token: V::Token) {
        (self.0)();
    }
}

/// A local of this type aligns its function's stack frame to cache lines, and with it the registers that the compiler
/// spills there, most of which would straddle two lines otherwise.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
#[repr(align(64))]
#[expect(dead_code, reason = "only its size and alignment count")]
pub(in crate::cpu::isa) struct LineAligned([u8; 64]);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
impl LineAligned {
    #[inline(always)]
    pub const fn new() -> Self {
        Self([0; 64])
    }
}

/// Lanes of the registers that a kernel runs on where the processor has AVX-512.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cpu) enum Width {
    Eight,
    Sixteen,
}

/// Runs `kernel` with this thread's set, in the widest registers.
pub(in crate::cpu) fn dispatch_widest(kernel: impl Kernel) {
    dispatch(InstructionSet::current(), Width::Sixteen, kernel);
}

/// Runs `kernel` with `set`, or with the best set this processor has if that is less.
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) fn dispatch(set: InstructionSet, width: Width, kernel: impl Kernel) {
    if set >= InstructionSet::Avx512
        && width == Width::Sixteen
        && let Some(token) = Avx512Token::detect()
    {
        token.run::<Avx512>(kernel);
    } else if set >= InstructionSet::Avx2
        && let Some(token) = Avx2Token::detect()
    {
        token.run::<Avx2>(kernel);
    } else {
        kernel.run::<Portable<4>>(PortableToken);
    }
}

/// Runs `kernel` with `set`, or with the best set this processor has if that is less. A module for WebAssembly's SIMD runs
/// nowhere without it: only tests need kernels for portable registers, which would double its size.
#[cfg(any(target_arch = "aarch64", target_feature = "simd128"))]
pub(in crate::cpu) fn dispatch(set: InstructionSet, _width: Width, kernel: impl Kernel) {
    const IS_ONLY_SET: bool = cfg!(all(target_feature = "simd128", not(feature = "testing")));
    if (IS_ONLY_SET || set > InstructionSet::Portable)
        && let Some(token) = FourLanesToken::detect()
    {
        token.run::<FourLanes>(kernel);
    } else {
        kernel.run::<Portable<4>>(PortableToken);
    }
}

/// Runs `kernel` on portable registers.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128")))]
pub(in crate::cpu) fn dispatch(_set: InstructionSet, _width: Width, kernel: impl Kernel) {
    kernel.run::<Portable<4>>(PortableToken);
}

/// As [`dispatch`], on two rows of eight lanes where `set` and the processor have AVX-512, else with [`Width::Eight`].
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) fn dispatch_two_rows(set: InstructionSet, kernel: impl Kernel) {
    if set >= InstructionSet::Avx512
        && let Some(token) = Avx512Token::detect()
    {
        token.run::<Avx512TwoRows>(kernel);
    } else {
        dispatch(set, Width::Eight, kernel);
    }
}

/// As [`dispatch`]: no set of this architecture has registers with two rows.
#[cfg(not(target_arch = "x86_64"))]
pub(in crate::cpu) fn dispatch_two_rows(set: InstructionSet, kernel: impl Kernel) {
    dispatch(set, Width::Eight, kernel);
}
