//! Causal convolutions of rows with a kernel per channel, and their gradients.
//!
//! f32 is computed with a row per lane (`lanes`, with the products in `tile`) where the transform has a plan; all other
//! cases are computed one row at a time by realfft (`planned`). In both, a task has the rows of a few channels
//! (`tiling`), whose kernels it transforms once.
//!
//! The gradients are convolutions too. With g = gate · grad: that of the signal is g convolved with the reversed
//! kernel, that of the gate the convolution times grad, and that of the kernel the correlation of signal and g, summed
//! over the batch.

mod lanes;
mod planned;
mod tile;
mod tiling;

use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::transform::plan::MixedRadixPlan;
use crate::fast_length::next_fast_len;
use tiling::Tiling;

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

    /// Half the points of the transforms: pairs of samples.
    fn pairs(&self) -> usize {
        next_fast_len((self.n + self.used_taps() - 1).div_ceil(2))
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

/// Causal convolutions → `output` `[batch, channels, n]`: Σ_(s ≤ t) kernel_s signal_(t−s), times the gate.
pub fn long_conv<T: Real>(inputs: &LongConvOperands<'_, T>, output: &mut [T]) {
    debug_assert_eq!(output.len(), inputs.signal.len());
    if output.is_empty() {
        return;
    }
    if let (Some(inputs), Some(output)) = (inputs.as_f32(), T::as_f32_mut(output))
        && let Some(plan) = MixedRadixPlan::of(inputs.pairs(), inputs.rows())
    {
        let tiling = Tiling::new(&inputs, lanes::ROWS);
        return lanes::LaneConv { inputs: &inputs, plan: &plan, tiling: &tiling }.forward(output);
    }
    planned::PlannedConv { inputs, tiling: &Tiling::new(inputs, 1) }.forward(output);
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
    let in_lanes = inputs.as_f32().zip(T::as_f32(grad)).zip(MixedRadixPlan::of(inputs.pairs(), inputs.rows()));
    let tiling = Tiling::new(inputs, if in_lanes.is_some() { lanes::ROWS } else { 1 });
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
    match in_lanes {
        Some(((inputs, grad), plan)) => {
            let LongConvGradients { signal, kernel, gate } = gradients;
            let [signal, kernel, gate] = [signal, kernel, gate].map(|part| part.and_then(T::as_f32_mut));
            let call = lanes::LaneConv { inputs: &inputs, plan: &plan, tiling: &tiling };
            call.backward(grad, LongConvGradients { signal, kernel, gate });
        }
        None => planned::PlannedConv { inputs, tiling: &tiling }.backward(grad, gradients),
    }
    if let (Some(kernel), false) = (into.kernel, partial.is_empty()) {
        kernel.copy_from_slice(sum_blocks(&mut partial, kernel.len()));
    }
}
