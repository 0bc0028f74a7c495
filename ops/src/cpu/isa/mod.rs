//! Instruction sets: a register type for each, with a token that proves its detection, and the choice at run time.
//!
//! Kernels are generic over [`Register`](register::Register). A register value is made only with the token of its
//! instruction set, and tokens come only from detection, so a kernel can't run without its instructions.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod instruction_set;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_feature = "simd128"))]
mod lanewise;
pub(in crate::cpu) mod lines;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(in crate::cpu) mod portable;
pub(in crate::cpu) mod register;
#[cfg(target_feature = "simd128")]
mod simd128;
#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests;

use crate::options::{MAX_N_FFT, MIN_N_FFT};
pub(in crate::cpu) use dispatch::{Kernel, PlainKernel, Width, dispatch, dispatch_two_rows, dispatch_widest};
pub use instruction_set::InstructionSet;

/// Whether the f32 kernels compute transforms of length `n` on this thread, [if they run](simd_enabled) at all.
pub(in crate::cpu) fn supports_length(n: usize) -> bool {
    simd_enabled() && (MIN_N_FFT..=MAX_N_FFT).contains(&n)
}

/// Whether the f32 kernels run on this thread at all.
///
/// They do if the build is optimised: otherwise a kernel, in which everything is inlined, takes more than a thread's stack.
/// A forced set runs in any build.
pub(in crate::cpu) fn simd_enabled() -> bool {
    !cfg!(debug_assertions) || InstructionSet::is_forced()
}

/// The instruction set of Firefly's own kernels for Welch estimates in f32 from segments of `n_fft` samples, when
/// called from this thread; none where planned transforms of rustfft run instead, which choose their own.
#[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "a report of benchmarks"))]
pub fn welch_instruction_set(n_fft: usize) -> Option<InstructionSet> {
    supports_length(n_fft).then(InstructionSet::current)
}

/// Name of the best instruction set that this processor has kernels for: `portable`, `neon`, `simd128`, `avx2` or `avx512`.
///
/// ```
/// assert!(["portable", "neon", "simd128", "avx2", "avx512"].contains(&firefly_ops::instruction_sets::instruction_set()));
/// ```
pub fn instruction_set() -> &'static str {
    InstructionSet::detected().name()
}
