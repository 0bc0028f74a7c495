//! Convolutions one row at a time.
//!
//! Every row is computed by itself, so it has the same bits wherever it is in the batch, and no row disturbs another.

use super::tiling::Tiling;
use super::{LongConvGradients, LongConvOperands};
use crate::cpu::real::Real;

/// Transforms of padded rows, in memory of a thread.
pub(super) trait RowTransforms<T>: Sync {
    /// Calls `body` with memory for the spectra of a row.
    fn with_spectra(&self, body: impl FnOnce(&mut dyn RowSpectra<T>));
}

/// Spectra of a kernel, of a row of the signal and of one of g = gate · grad, and a sum over the batch.
pub(super) trait RowSpectra<T> {
    /// Transforms a kernel, and clears the sum.
    fn load_kernel(&mut self, taps: &[T]);
    /// Transforms a row of the signal.
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
pub(super) struct RowConv<'a, T, R> {
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
    pub fn backward(self, grad: &[T], into: LongConvGradients<'_, T>) {
        let Self { inputs, tiling, transforms } = self;
        let n = inputs.n;
        let [of_signal, of_gate] = [into.signal, into.gate].map(|rows| tiling.deal(rows, n));
        let of_kernel = tiling.deal_kernels(into.kernel, inputs.taps());
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
