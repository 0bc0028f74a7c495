//! Convolutions one row at a time, by the plans of realfft.

use std::sync::Arc;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::num_complex::Complex;

use super::tiling::Tiling;
use super::{LongConvGradients, LongConvOperands};
use crate::cpu::real::Real;
use crate::cpu::runtime::scratch::take;

/// A convolution by planned transforms, as every task has it; tiles are single rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedConv<'a, T> {
    pub inputs: &'a LongConvOperands<'a, T>,
    pub tiling: &'a Tiling,
}

impl<T: Real> PlannedConv<'_, T> {
    /// Convolutions → `output`, as [`long_conv`](super::long_conv()).
    pub fn forward(self, output: &mut [T]) {
        let Self { inputs, tiling } = self;
        let (n, transforms) = (inputs.n, Transforms::of(inputs));
        let tasks = tiling.of_tasks().into_iter().zip(tiling.deal(Some(output), n)).enumerate();
        tiling.tasks().run(tasks, |(task, (tiles, outputs))| {
            transforms.with_buffers(|mut buffers, [kernel, spectrum, ..]| {
                transforms.forward(self.kernel(task), None, kernel, &mut buffers);
                for (tile, output) in tiles.into_iter().zip(outputs.into_iter().flatten()) {
                    let row = tile.start * n..(tile.start + 1) * n;
                    transforms.forward(&inputs.signal[row.clone()], None, spectrum, &mut buffers);
                    spectrum.iter_mut().zip(&*kernel).for_each(|(z, kernel)| *z *= kernel);
                    transforms.inverse(spectrum, inputs.gate.map(|gate| &gate[row]), output, &mut buffers);
                }
            });
        });
    }

    /// Gradients, as [`long_conv_backward`](super::long_conv_backward()); those of the kernels as one partial sum
    /// `[channels, taps]` per block.
    pub fn backward(self, grad: &[T], into: LongConvGradients<'_, T>) {
        let Self { inputs, tiling } = self;
        let (n, transforms) = (inputs.n, Transforms::of(inputs));
        let [of_signal, of_gate] = [into.signal, into.gate].map(|rows| tiling.deal(rows, n));
        let of_kernel = tiling.deal_kernels(into.kernel, inputs.taps());
        let tasks = tiling.of_tasks().into_iter().zip(of_kernel).zip(of_signal).zip(of_gate).enumerate();
        tiling.tasks().run(tasks, |(task, (((tiles, of_kernel), of_signal), of_gate))| {
            transforms.with_buffers(|mut buffers, [kernel, signal, of_output, sum]| {
                // The spectrum of the task's kernel, and an empty sum for its gradient.
                transforms.forward(self.kernel(task), None, kernel, &mut buffers);
                sum.fill(Complex::new(T::zero(), T::zero()));
                for (tile, (of_signal, of_gate)) in tiles.into_iter().zip(of_signal.into_iter().zip(of_gate)) {
                    let row = tile.start * n..(tile.start + 1) * n;
                    let (input, grad) = (&inputs.signal[row.clone()], &grad[row.clone()]);
                    // Spectra of g = gate · grad and of the signal, each only if a gradient takes it.
                    if of_signal.is_some() || of_kernel.is_some() {
                        transforms.forward(grad, inputs.gate.map(|gate| &gate[row]), of_output, &mut buffers);
                    }
                    if of_gate.is_some() || of_kernel.is_some() {
                        transforms.forward(input, None, signal, &mut buffers);
                    }
                    // Gradient of the kernel: the correlation of signal and g, summed over the batch as spectra.
                    if of_kernel.is_some() {
                        for (sum, (x, g)) in sum.iter_mut().zip(signal.iter().zip(&*of_output)) {
                            *sum += x.conj() * g;
                        }
                    }
                    // Gradient of the signal: g convolved with the reversed kernel, whose spectrum is the conjugate.
                    if let Some(of_signal) = of_signal {
                        of_output.iter_mut().zip(&*kernel).for_each(|(z, kernel)| *z *= kernel.conj());
                        transforms.inverse(of_output, None, of_signal, &mut buffers);
                    }
                    // Gradient of the gate: the convolution, times grad.
                    if let Some(of_gate) = of_gate {
                        signal.iter_mut().zip(&*kernel).for_each(|(z, kernel)| *z *= kernel);
                        transforms.inverse(signal, Some(grad), of_gate, &mut buffers);
                    }
                }
                if let Some(of_kernel) = of_kernel {
                    // One inverse transform gives the gradient of each tap; taps past the row's length have none.
                    let (used, rest) = of_kernel.split_at_mut(inputs.used_taps());
                    transforms.inverse(sum, None, used, &mut buffers);
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

/// Transforms of padded rows, there and back.
struct Transforms<T: Real> {
    forward: Arc<dyn RealToComplex<T>>,
    inverse: Arc<dyn ComplexToReal<T>>,
    /// 1 / points.
    scale: T,
}

/// Samples of a padded row, and scratch memory.
struct Buffers<'a, T> {
    samples: &'a mut [T],
    spare: &'a mut [Complex<T>],
}

impl<T: Real> Transforms<T> {
    fn of(inputs: &LongConvOperands<'_, T>) -> Self {
        let points = 2 * inputs.pairs();
        let (forward, inverse) = (T::real_plan(points), T::inverse_real_plan(points));
        Self { forward, inverse, scale: T::of(1.0 / points as f64) }
    }

    /// Runs `body` with buffers, and with four spectra.
    fn with_buffers(&self, body: impl FnOnce(Buffers<'_, T>, [&mut [Complex<T>]; 4])) {
        let (points, bins) = (self.forward.len(), self.forward.complex_len());
        let spare = self.forward.get_scratch_len().max(self.inverse.get_scratch_len());
        T::with_scratch(|scratch| {
            let (mut complex, samples, _) = scratch.buffers(4 * bins + spare, points, 0);
            let spectra = std::array::from_fn(|_| take(&mut complex, bins));
            body(Buffers { samples, spare: complex }, spectra);
        });
    }

    /// The spectrum of a row, padded with zeros, times factors.
    fn forward(&self, row: &[T], factors: Option<&[T]>, spectrum: &mut [Complex<T>], buffers: &mut Buffers<'_, T>) {
        let (used, rest) = buffers.samples.split_at_mut(row.len());
        used.copy_from_slice(row);
        if let Some(factors) = factors {
            used.iter_mut().zip(factors).for_each(|(sample, &factor)| *sample *= factor);
        }
        rest.fill(T::zero());
        let done = self.forward.process_with_scratch(buffers.samples, spectrum, buffers.spare);
        done.expect("the buffers have the plan's lengths");
    }

    /// The first samples of the row that has a spectrum, times factors.
    fn inverse(&self, spectrum: &mut [Complex<T>], factors: Option<&[T]>, row: &mut [T], buffers: &mut Buffers<'_, T>) {
        // Both ends are real; a product with infinity may not be.
        for end in [0, spectrum.len() - 1] {
            spectrum[end].im = T::zero();
        }
        let done = self.inverse.process_with_scratch(spectrum, buffers.samples, buffers.spare);
        done.expect("the buffers have the plan's lengths");
        for (into, sample) in row.iter_mut().zip(&*buffers.samples) {
            *into = *sample * self.scale;
        }
        if let Some(factors) = factors {
            row.iter_mut().zip(factors).for_each(|(value, &factor)| *value *= factor);
        }
    }
}
