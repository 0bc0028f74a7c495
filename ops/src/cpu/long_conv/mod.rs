//! Causal convolutions of rows with a kernel per channel, and their gradients.
//!
//! Several rows in f32 that are not too long are computed with a row per lane (`lanes`), all others one at a time
//! ([`RowConv`]): in f32 with the values of a row side by side (`spectra`), otherwise by realfft (`planned`). A task has
//! the rows of a few channels (`tiling`), whose kernels it transforms once.
//!
//! The gradients are convolutions too. With g = gate · grad: that of the signal is g convolved with the reversed
//! kernel, that of the gate the convolution times grad, and that of the kernel the correlation of signal and g, summed
//! over the batch.

mod lanes;
mod planned;
mod spectra;
mod tiling;

use std::sync::Arc;

use self::lanes::LaneConv;
use self::planned::PlannedTransforms;
use self::spectra::SplitTransforms;
use self::tiling::Tiling;
use crate::cpu::real::Real;
use crate::cpu::runtime::sum_blocks;
use crate::cpu::transform::plan::MixedRadixPlan;
use crate::fast_length::next_fast_len;

/// The shortest power of two points, a register each, that meet in few sets of the second-level cache.
const MIN_ALIASED: usize = 1024;

/// Inputs of a convolution, as contiguous values.
#[derive(Debug, Clone, Copy)]
pub struct LongConvOperands<'a, T> {
    /// `[batch, channels, n]`.
    pub signal: &'a [T],
    /// `[channels, k]`.
    pub kernel: &'a [T],
    /// Factors of the output, `[batch, channels, n]`; all are 1 where there are none.
    pub gate: Option<&'a [T]>,
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
}

impl<'a, T: Real> LongConvOperands<'a, T> {
    fn taps(&self) -> usize {
        self.kernel.len() / self.channels
    }

    /// The first of them, which rows of n samples meet.
    fn used_taps(&self) -> usize {
        self.taps().min(self.n)
    }

    fn rows(&self) -> usize {
        self.signal.len() / self.n
    }

    /// The fewest pairs of samples that hold the convolution of a row.
    fn least_pairs(&self) -> usize {
        (self.n + self.used_taps() - 1).div_ceil(2)
    }

    /// Half the points of the transforms: pairs of samples.
    fn pairs(&self) -> usize {
        next_fast_len(self.least_pairs())
    }

    fn as_f32(&self) -> Option<LongConvOperands<'a, f32>> {
        let gate = self.gate.map_or(Some(None), |gate| T::as_f32(gate).map(Some))?;
        let (signal, kernel) = (T::as_f32(self.signal)?, T::as_f32(self.kernel)?);
        Some(LongConvOperands { signal, kernel, gate, channels: self.channels, n: self.n })
    }
}

enum Engine<T: Real> {
    /// In f32, a row per lane.
    Lanes(Arc<MixedRadixPlan>),
    /// In f32, one at a time.
    Split(SplitTransforms),
    /// One at a time, by realfft.
    Planned(PlannedTransforms<T>),
}

impl<T: Real> Engine<T> {
    fn of(inputs: &LongConvOperands<'_, T>) -> Self {
        if let Some(single) = inputs.as_f32() {
            if let Some(plan) = MixedRadixPlan::of(lane_points(inputs.pairs()), inputs.rows()) {
                return Self::Lanes(plan);
            }
            if let Some(transforms) = SplitTransforms::of(&single) {
                return Self::Split(transforms);
            }
        }
        Self::Planned(PlannedTransforms::of(inputs))
    }

    /// Rows of a tile, at most.
    fn rows_of_tile(&self) -> usize {
        if let Self::Lanes(_) = self { lanes::ROWS } else { 1 }
    }
}

/// Points of a transform with a row per lane, at least as many; those of a long power of two are in few sets of a cache.
fn lane_points(pairs: usize) -> usize {
    if pairs.is_power_of_two() && pairs >= MIN_ALIASED { next_fast_len(pairs + 1) } else { pairs }
}

/// Causal convolutions → `output` `[batch, channels, n]`: Σ_(s ≤ t) kernel_s signal_(t−s), times the gate.
pub fn long_conv<T: Real>(inputs: &LongConvOperands<'_, T>, output: &mut [T]) {
    debug_assert_eq!(output.len(), inputs.signal.len());
    if output.is_empty() {
        return;
    }
    let engine = Engine::of(inputs);
    let tiling = &Tiling::new(inputs, engine.rows_of_tile());
    match (&engine, inputs.as_f32(), T::as_f32_mut(output)) {
        (Engine::Split(transforms), Some(inputs), Some(output)) => {
            RowConv { inputs: &inputs, tiling, transforms }.forward(output);
        }
        (Engine::Lanes(plan), Some(inputs), Some(output)) => LaneConv { inputs: &inputs, plan, tiling }.forward(output),
        (Engine::Planned(transforms), ..) => RowConv { inputs, tiling, transforms }.forward(output),
        _ => unreachable!("the other engines are for f32"),
    }
}

/// Gradients of [`long_conv`] for `grad` `[batch, channels, n]`: overwrites those that are given, of the signal, the
/// kernel and the gate.
pub fn long_conv_backward<T: Real>(
    inputs: &LongConvOperands<'_, T>,
    grad: &[T],
    [of_signal, mut of_kernel, of_gate]: [Option<&mut [T]>; 3],
) {
    debug_assert_eq!(grad.len(), inputs.signal.len());
    if inputs.signal.is_empty() {
        if let Some(kernel) = of_kernel {
            kernel.fill(T::zero());
        }
        return;
    }
    let engine = Engine::of(inputs);
    let tiling = &Tiling::new(inputs, engine.rows_of_tile());
    // A sum over the batch is made of one partial sum per block.
    let mut partial = Vec::new();
    let sums = match &mut of_kernel {
        Some(kernel) if tiling.blocks > 1 => {
            partial.resize(tiling.blocks * kernel.len(), T::zero());
            Some(&mut partial[..])
        }
        kernel => kernel.as_deref_mut(),
    };
    let into = [of_signal, sums, of_gate];
    let single = |gradient: Option<_>| gradient.and_then(T::as_f32_mut);
    match (&engine, inputs.as_f32(), T::as_f32(grad)) {
        (Engine::Split(transforms), Some(inputs), Some(grad)) => {
            RowConv { inputs: &inputs, tiling, transforms }.backward(grad, into.map(single));
        }
        (Engine::Lanes(plan), Some(inputs), Some(grad)) => {
            LaneConv { inputs: &inputs, plan, tiling }.backward(grad, into.map(single));
        }
        (Engine::Planned(transforms), ..) => RowConv { inputs, tiling, transforms }.backward(grad, into),
        _ => unreachable!("the other engines are for f32"),
    }
    if let (Some(kernel), false) = (of_kernel, partial.is_empty()) {
        kernel.copy_from_slice(sum_blocks(&mut partial, kernel.len()));
    }
}

/// Transforms of padded rows, in memory of a thread.
trait RowTransforms<T>: Sync {
    /// Calls `body` with memory for the spectra of a row.
    fn with_spectra(&self, body: impl FnOnce(&mut dyn RowSpectra<T>));
}

/// Spectra of a kernel, of a row of the signal and of one of g = gate · grad, and a sum over the batch.
trait RowSpectra<T> {
    /// Transforms a kernel, and clears the sum.
    fn load_kernel(&mut self, taps: &[T]);
    fn load_signal(&mut self, row: &[T]);
    /// Transforms a row of g: of the gradient, times the gate.
    fn load_grad(&mut self, row: &[T], gate: Option<&[T]>);
    /// Adds the spectrum of the correlation of signal and g to the sum.
    fn add_correlation(&mut self);
    /// The convolution of the signal, whose spectrum is used up, times factors.
    fn convolve(&mut self, factors: Option<&[T]>, row: &mut [T]);
    /// The convolution of g, whose spectrum is used up, with the reversed kernel.
    fn convolve_reversed(&mut self, row: &mut [T]);
    /// The first lags of the sum of correlations, whose spectrum is used up.
    fn correlations(&mut self, lags: &mut [T]);
}

/// A convolution of rows, as every task has it; tiles are single rows.
#[derive(Debug, Clone, Copy)]
struct RowConv<'a, T, R> {
    pub inputs: &'a LongConvOperands<'a, T>,
    pub tiling: &'a Tiling,
    pub transforms: &'a R,
}

impl<T: Real, R: RowTransforms<T>> RowConv<'_, T, R> {
    /// Convolutions → `output`, as [`long_conv`](super::long_conv()).
    pub fn forward(self, output: &mut [T]) {
        let Self { inputs, tiling, transforms } = self;
        let n = inputs.n;
        let tasks = tiling.of_tasks().into_iter().zip(tiling.deal(Some(output), n)).enumerate();
        tiling.tasks().run(tasks, |(task, (tiles, outputs))| {
            transforms.with_spectra(|spectra| {
                spectra.load_kernel(self.kernel(task));
                for (tile, output) in tiles.into_iter().zip(outputs.into_iter().flatten()) {
                    let row = tile.start * n..(tile.start + 1) * n;
                    spectra.load_signal(&inputs.signal[row.clone()]);
                    spectra.convolve(inputs.gate.map(|gate| &gate[row]), output);
                }
            });
        });
    }

    /// Gradients, as [`long_conv_backward`](super::long_conv_backward()); those of the kernels as one partial sum
    /// `[channels, taps]` per block.
    pub fn backward(self, grad: &[T], [of_signal, of_kernel, of_gate]: [Option<&mut [T]>; 3]) {
        let Self { inputs, tiling, transforms } = self;
        let n = inputs.n;
        let [of_signal, of_gate] = [of_signal, of_gate].map(|rows| tiling.deal(rows, n));
        let of_kernel = tiling.deal_kernels(of_kernel, inputs.taps());
        let tasks = tiling.of_tasks().into_iter().zip(of_kernel).zip(of_signal).zip(of_gate).enumerate();
        tiling.tasks().run(tasks, |(task, (((tiles, of_kernel), of_signal), of_gate))| {
            transforms.with_spectra(|spectra| {
                spectra.load_kernel(self.kernel(task));
                for (tile, (of_signal, of_gate)) in tiles.into_iter().zip(of_signal.into_iter().zip(of_gate)) {
                    let row = tile.start * n..(tile.start + 1) * n;
                    let (input, grad) = (&inputs.signal[row.clone()], &grad[row.clone()]);
                    // Spectra of g and of the signal, each only if a gradient takes it.
                    if of_signal.is_some() || of_kernel.is_some() {
                        spectra.load_grad(grad, inputs.gate.map(|gate| &gate[row]));
                    }
                    if of_gate.is_some() || of_kernel.is_some() {
                        spectra.load_signal(input);
                    }
                    if of_kernel.is_some() {
                        spectra.add_correlation();
                    }
                    if let Some(of_signal) = of_signal {
                        spectra.convolve_reversed(of_signal);
                    }
                    if let Some(of_gate) = of_gate {
                        spectra.convolve(Some(grad), of_gate);
                    }
                }
                if let Some(of_kernel) = of_kernel {
                    // The gradient of each tap is a lag; taps past the row's length have none.
                    let (used, rest) = of_kernel.split_at_mut(inputs.used_taps());
                    spectra.correlations(used);
                    rest.fill(T::zero());
                }
            });
        });
    }

    /// The kernel of a task, of the taps that count.
    fn kernel(&self, task: usize) -> &[T] {
        let first = self.tiling.group(task % self.tiling.groups()).start * self.inputs.taps();
        &self.inputs.kernel[first..first + self.inputs.used_taps()]
    }
}
