//! Instruction sets: registers of each, and the choice at run time.
//!
//! Kernels are generic over [`Lanes`], a register of an instruction set. [`dispatch`] is the only way into them.

#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) mod avx512_two_rows;
mod instruction_set;
pub(in crate::cpu) mod lines;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(in crate::cpu) mod portable;
pub(in crate::cpu) mod register;

#[cfg(target_arch = "x86_64")]
use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use crate::cpu::fft::plan;
#[cfg(target_arch = "x86_64")]
use crate::cpu::welch::forward::RowsTask;
use crate::options::{MAX_N_FFT, MIN_N_FFT};
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "x86_64")]
use avx512_two_rows::Avx512Pairs;
pub use instruction_set::InstructionSet;
use portable::Portable;
use register::Lanes;

/// Whether f32 kernels on registers take transforms of length `n` on this thread; the scalar engine takes the others.
///
/// One rule for every operation: the processor has an instruction set beyond the portable one, with which planned
/// transforms are faster, and the build is optimised: without optimisation a kernel, all of it inlined, takes more than
/// a thread's stack. A forced set runs in any build.
pub(in crate::cpu) fn takes(n: usize) -> bool {
    let pays = InstructionSet::current() > InstructionSet::Portable && !cfg!(debug_assertions);
    (pays || InstructionSet::is_forced()) && (MIN_N_FFT..=MAX_N_FFT).contains(&n)
}

/// The instruction set of Firefly's own kernels for Welch estimates in f32 from segments of `n_fft` samples, when
/// called from this thread; none where planned transforms of rustfft run instead, which choose their own.
pub fn welch_instruction_set(n_fft: usize) -> Option<InstructionSet> {
    takes(n_fft).then(InstructionSet::current)
}

/// The length that has code of its own where registers are wide: its loops are short enough for their bookkeeping to count.
pub(in crate::cpu) const USUAL_N: usize = 256;

/// Work that is compiled for each instruction set. `run` must be inlined, and all it calls: a function or closure that
/// is not is compiled without the instructions, and every operation in it becomes a call.
pub(in crate::cpu) trait Task {
    fn run<V: Lanes>(self);
}

/// Runs `task` with `set`, or the best set this processor has if that is less.
#[cfg(target_arch = "x86_64")]
pub(in crate::cpu) fn dispatch(set: InstructionSet, transform: usize, task: impl Task) {
    let wide = transform >= plan::shortest::<Avx512>();
    match set.min(InstructionSet::detected()) {
        // SAFETY: the processor has what `Avx512` stands for, which is all that is enabled.
        InstructionSet::Avx512 if wide => unsafe { run_avx512(task) },
        // SAFETY: the processor has what `Avx2` stands for, which is all that is enabled.
        InstructionSet::Avx512 | InstructionSet::Avx2 => unsafe { run_avx2(task) },
        InstructionSet::Portable => task.run::<Portable<4>>(),
    }
}

/// Runs `task` with `set`.
#[cfg(target_arch = "aarch64")]
pub(in crate::cpu) fn dispatch(set: InstructionSet, _transform: usize, task: impl Task) {
    match set {
        InstructionSet::Neon => task.run::<neon::Neon>(),
        InstructionSet::Portable => task.run::<Portable<4>>(),
    }
}

/// Runs `task`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(in crate::cpu) fn dispatch(_set: InstructionSet, _transform: usize, task: impl Task) {
    task.run::<Portable<4>>();
}

/// A local of this type aligns the frame of its function to cache lines, and with it the registers that the compiler keeps
/// there for a while, most of which would straddle two lines otherwise.
#[cfg(target_arch = "x86_64")]
#[repr(align(64))]
#[expect(dead_code, reason = "only its size and alignment count")]
struct LineAligned([u8; 64]);

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
fn run_avx512(task: impl Task) {
    let _frame = black_box(&LineAligned([0; 64]));
    task.run::<Avx512>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
pub(in crate::cpu) fn run_avx512_pairs(task: RowsTask<'_>) {
    let _frame = black_box(&LineAligned([0; 64]));
    task.run::<Avx512Pairs>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(task: impl Task) {
    let _frame = black_box(&LineAligned([0; 64]));
    task.run::<avx2::Avx2>();
}
