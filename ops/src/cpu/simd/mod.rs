//! Welch estimates in f32 by kernels of our own, compiled for several instruction sets and chosen at run time.
//!
//! One source is generic over [`Lanes`], a register of an instruction set. [`dispatch`] is the only way
//! from here into it.

mod ahead;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_pairs;
mod butterflies;
mod fold;
mod fourier;
mod instruction_set;
mod lanes;
mod memory;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(super) mod network;
mod plan;
mod portable;
mod rows;
mod short;
mod source;
mod strongest;
#[cfg(test)]
mod tests;
mod transform;

#[cfg(target_arch = "x86_64")]
use std::hint::black_box;

use super::parallel::Tasks;
use super::scaling;
use crate::cpu::Real;
use crate::options::WelchOptions;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
#[cfg(target_arch = "x86_64")]
use avx512_pairs::Avx512Pairs;
pub(super) use fourier::{direction, fourier};
pub use instruction_set::InstructionSet;
use lanes::Lanes;
use memory::{Line, with_lines};
use portable::Portable;
use rows::{Outputs, Peaks, Welch};
use strongest::MAX_LANES;

/// Whether the kernels take transforms of `n_fft` on this thread. Where the processor has no more than the portable
/// set, planned transforms are faster: it runs only when it is forced. So it is without optimisation, when a kernel, all
/// of it inlined, besides takes more than a thread's stack.
pub(super) fn takes(n_fft: usize) -> bool {
    let pays = InstructionSet::current() > InstructionSet::Portable && !cfg!(debug_assertions);
    (pays || InstructionSet::is_forced()) && (network::MIN_N..=plan::MAX_N).contains(&n_fft)
}

/// The instruction set that kernels of Firefly's own use for Welch estimates in f32 from segments of `n_fft` samples, when
/// called from this thread; none where planned transforms of rustfft run instead, which choose their own.
pub fn welch_instruction_set(n_fft: usize) -> Option<InstructionSet> {
    takes(n_fft).then(InstructionSet::current)
}

/// As [`welch_psd`](super::welch_psd()), for lengths it [takes].
pub(super) fn welch_psd(signal: &[f32], frame_len: usize, window: &[f32], options: &WelchOptions, power: &mut [f32]) {
    if options.n_fft < plan::MIN_N {
        return short::welch_psd(signal, frame_len, window, options, power);
    }
    let bins = options.bins();
    let welch = welch(frame_len, window, options);
    let (set, shortest) = (InstructionSet::current(), shortest_transform(options));
    let tasks = Tasks::independent(power.len() / bins, work(options));
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        with_lines(welch.lines(), |memory| {
            let outputs = Outputs::Power(power);
            RowsTask { welch, memory, frames, outputs }.dispatch(set, shortest);
        });
    });
}

/// As [`welch_peaks`](super::welch_peaks()), for lengths it [takes].
pub(super) fn welch_peaks(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [f32],
) {
    if options.n_fft < plan::MIN_N {
        return short::welch_peaks(signal, frame_len, window, options, k, out_bins, out_power);
    }
    let welch = welch(frame_len, window, options);
    let (set, shortest) = (InstructionSet::current(), shortest_transform(options));
    let tasks = Tasks::independent_groups(out_bins.len() / k, work(options) + options.n_fft / 4, MAX_LANES);
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        f32::with_scratch(|scratch| {
            let (_, _, keys) = scratch.buffers(0, 0, options.bins());
            with_lines(welch.lines(), |memory| {
                let outputs = Outputs::Peaks(Peaks { k, keys, bins: out_bins, power: out_power });
                RowsTask { welch, memory, frames, outputs }.dispatch(set, shortest);
            });
        });
    });
}

fn welch<'a>(frame_len: usize, window: &'a [f32], options: &'a WelchOptions) -> Welch<'a> {
    let factor = scaling::factor(window, options.scaling) / options.segments as f64;
    Welch { window, options, factor: factor as f32, frame_len }
}

/// The length of the transforms that most of a row's work is: one segment is taken two samples at a time.
fn shortest_transform(options: &WelchOptions) -> usize {
    if options.segments == 1 { options.n_fft / 2 } else { options.n_fft }
}

/// Work of a row's power, in the unit of [`Tasks`].
fn work(options: &WelchOptions) -> usize {
    options.segments.div_ceil(2) * options.n_fft * options.stages() / 16
}

/// The length that has code of its own where registers are wide: its loops are short enough for their bookkeeping to count.
const USUAL_N: usize = 256;

/// Work that is compiled for each instruction set. `run` must be inlined, and all it calls: a function or closure that
/// is not is compiled without the instructions, and every operation in it becomes a call.
trait Task {
    fn run<V: Lanes>(self);
}

struct RowsTask<'a> {
    welch: Welch<'a>,
    memory: &'a mut [Line],
    frames: &'a [f32],
    outputs: Outputs<'a>,
}

impl Task for RowsTask<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { welch, memory, frames, outputs } = self;
        if welch.options.n_fft == USUAL_N && V::COUNT > 4 {
            welch.run::<V, USUAL_N>(frames, memory, outputs);
        } else {
            welch.run::<V, 0>(frames, memory, outputs);
        }
    }
}

impl RowsTask<'_> {
    /// As [`dispatch`]. Where the transforms are too short for a row in the widest registers, those take two rows, if they are
    /// long enough for that.
    fn dispatch(self, set: InstructionSet, shortest: usize) {
        #[cfg(target_arch = "x86_64")]
        if set.min(InstructionSet::detected()) == InstructionSet::Avx512
            && (plan::shortest::<Avx512Pairs>()..plan::shortest::<Avx512>()).contains(&shortest)
        {
            // SAFETY: the processor has what `Avx512` stands for, which is all that is enabled.
            return unsafe { run_avx512_pairs(self) };
        }
        dispatch(set, shortest, self);
    }
}

/// Runs `task` with `set`, or the best set this processor has if that is less.
#[cfg(target_arch = "x86_64")]
fn dispatch(set: InstructionSet, transform: usize, task: impl Task) {
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
fn dispatch(set: InstructionSet, _transform: usize, task: impl Task) {
    match set {
        InstructionSet::Neon => task.run::<neon::Neon>(),
        InstructionSet::Portable => task.run::<Portable<4>>(),
    }
}

/// Runs `task`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn dispatch(_set: InstructionSet, _transform: usize, task: impl Task) {
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
fn run_avx512_pairs(task: RowsTask<'_>) {
    let _frame = black_box(&LineAligned([0; 64]));
    task.run::<Avx512Pairs>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(task: impl Task) {
    let _frame = black_box(&LineAligned([0; 64]));
    task.run::<avx2::Avx2>();
}
