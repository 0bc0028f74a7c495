//! Causal convolutions of rows with a kernel per channel, and their gradients.
//!
//! Several rows in f32 that are not too long are computed with a row per lane (`lanes`, with the products in `tile`), all
//! others one at a time (`rows`): in f32 with the values of a row side by side (`spectra`),
//! otherwise by realfft (`planned`). A task has the rows of a few channels (`tiling`), whose kernels it
//! transforms once.
//!
//! The gradients are convolutions too. With g = gate · grad: that of the signal is g convolved with the reversed
//! kernel, that of the gate the convolution times grad, and that of the kernel the correlation of signal and g, summed
//! over the batch.

mod lanes;
mod planned;
mod rows;
mod spectra;
mod tile;
mod tiling;

use std::sync::Arc;

use lanes::LaneConv;
use planned::PlannedTransforms;
use rows::RowConv;
use tiling::Tiling;

use self::spectra::SplitTransforms;
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
    /// Number of channels.
    pub channels: usize,
    /// Samples of a row.
    pub n: usize,
}

/// Gradients that the backward pass writes; absent ones are not computed.
pub struct LongConvGradients<'a, T> {
    /// `[batch, channels, n]`.
    pub signal: Option<&'a mut [T]>,
    /// `[channels, k]`.
    pub kernel: Option<&'a mut [T]>,
    /// `[batch, channels, n]`.
    pub gate: Option<&'a mut [T]>,
}

impl<'a, T: Real> LongConvGradients<'a, T> {
    /// The gradients as those of f32, of which there are none in another type.
    fn into_f32(self) -> LongConvGradients<'a, f32> {
        let [signal, kernel, gate] =
            [self.signal, self.kernel, self.gate].map(|part| part.and_then(|part| T::as_f32_mut(part)));
        LongConvGradients { signal, kernel, gate }
    }
}

impl<'a, T: Real> LongConvOperands<'a, T> {
    /// Values of a kernel.
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
        let gate = match self.gate {
            Some(gate) => Some(T::as_f32(gate)?),
            None => None,
        };
        let (signal, kernel) = (T::as_f32(self.signal)?, T::as_f32(self.kernel)?);
        Some(LongConvOperands { signal, kernel, gate, channels: self.channels, n: self.n })
    }
}

/// How rows are transformed.
enum Engine<T: Real> {
    /// In f32, a row per lane.
    Lanes(Arc<MixedRadixPlan>),
    /// In f32, one at a time.
    Split(SplitTransforms),
    /// One at a time, by realfft.
    Planned(PlannedTransforms<T>),
}

impl<T: Real> Engine<T> {
    /// The engine for rows on this thread.
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

/// Points of a transform with a row per lane, of at least as many. Those of a long power of two would be in few sets of
/// the cache.
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

/// Gradients of [`long_conv`] for `grad` `[batch, channels, n]`: overwrites those that are given.
pub fn long_conv_backward<T: Real>(inputs: &LongConvOperands<'_, T>, grad: &[T], mut into: LongConvGradients<'_, T>) {
    debug_assert_eq!(grad.len(), inputs.signal.len());
    if inputs.signal.is_empty() {
        if let Some(kernel) = into.kernel {
            kernel.fill(T::zero());
        }
        return;
    }
    let engine = Engine::of(inputs);
    let tiling = &Tiling::new(inputs, engine.rows_of_tile());
    // A sum over the batch is made of one partial sum per block.
    let mut partial = Vec::new();
    let sums = match &mut into.kernel {
        Some(kernel) if tiling.blocks > 1 => {
            partial.resize(tiling.blocks * kernel.len(), T::zero());
            Some(&mut partial[..])
        }
        kernel => kernel.as_deref_mut(),
    };
    let gradients = LongConvGradients { signal: into.signal, kernel: sums, gate: into.gate };
    match (&engine, inputs.as_f32(), T::as_f32(grad)) {
        (Engine::Split(transforms), Some(inputs), Some(grad)) => {
            RowConv { inputs: &inputs, tiling, transforms }.backward(grad, gradients.into_f32());
        }
        (Engine::Lanes(plan), Some(inputs), Some(grad)) => {
            LaneConv { inputs: &inputs, plan, tiling }.backward(grad, gradients.into_f32());
        }
        (Engine::Planned(transforms), ..) => RowConv { inputs, tiling, transforms }.backward(grad, gradients),
        _ => unreachable!("the other engines are for f32"),
    }
    if let (Some(kernel), false) = (into.kernel, partial.is_empty()) {
        kernel.copy_from_slice(sum_blocks(&mut partial, kernel.len()));
    }
}
