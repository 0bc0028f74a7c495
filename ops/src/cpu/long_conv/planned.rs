//! Rows by the plans of realfft.

use std::sync::Arc;

use realfft::{ComplexToReal, RealToComplex};
use rustfft::num_complex::Complex;

use super::{LongConvOperands, RowSpectra, RowTransforms};
use crate::cpu::real::Real;
use crate::cpu::runtime::take;

/// Plans of padded rows, there and back.
pub(super) struct PlannedTransforms<T: Real> {
    forward: Arc<dyn RealToComplex<T>>,
    inverse: Arc<dyn ComplexToReal<T>>,
    /// 1 / points.
    scale: T,
}

impl<T: Real> PlannedTransforms<T> {
    pub fn of(inputs: &LongConvOperands<'_, T>) -> Self {
        let points = 2 * inputs.pairs();
        let (forward, inverse) = (T::real_plan(points), T::inverse_real_plan(points));
        Self { forward, inverse, scale: T::of(1.0 / points as f64) }
    }
}

impl<T: Real> RowTransforms<T> for PlannedTransforms<T> {
    fn with_spectra(&self, body: impl FnOnce(&mut dyn RowSpectra<T>)) {
        let (points, bins) = (self.forward.len(), self.forward.complex_len());
        let spare = self.forward.get_scratch_len().max(self.inverse.get_scratch_len());
        T::with_scratch(|scratch| {
            let (mut complex, samples, _) = scratch.buffers(4 * bins + spare, points, 0);
            let [kernel, signal, grad, sum] = std::array::from_fn(|_| take(&mut complex, bins));
            let padded = PaddedRow { transforms: self, samples, spare: complex };
            body(&mut PlannedSpectra { padded, kernel, signal, grad, sum });
        });
    }
}

/// Spectra of a row, one-sided.
struct PlannedSpectra<'a, T: Real> {
    padded: PaddedRow<'a, T>,
    kernel: &'a mut [Complex<T>],
    signal: &'a mut [Complex<T>],
    grad: &'a mut [Complex<T>],
    sum: &'a mut [Complex<T>],
}

impl<T: Real> RowSpectra<T> for PlannedSpectra<'_, T> {
    fn load_kernel(&mut self, taps: &[T]) {
        self.padded.forward(taps, None, self.kernel);
        self.sum.fill(Complex::new(T::zero(), T::zero()));
    }

    fn load_signal(&mut self, row: &[T]) {
        self.padded.forward(row, None, self.signal);
    }

    fn load_grad(&mut self, row: &[T], gate: Option<&[T]>) {
        self.padded.forward(row, gate, self.grad);
    }

    fn add_correlation(&mut self) {
        for (sum, (x, g)) in self.sum.iter_mut().zip(self.signal.iter().zip(&*self.grad)) {
            *sum += x.conj() * g;
        }
    }

    fn convolve(&mut self, factors: Option<&[T]>, row: &mut [T]) {
        self.signal.iter_mut().zip(&*self.kernel).for_each(|(z, kernel)| *z *= kernel);
        self.padded.inverse(self.signal, factors, row);
    }

    fn convolve_reversed(&mut self, row: &mut [T]) {
        // The spectrum of the reversed kernel is the conjugate.
        self.grad.iter_mut().zip(&*self.kernel).for_each(|(z, kernel)| *z *= kernel.conj());
        self.padded.inverse(self.grad, None, row);
    }

    fn correlations(&mut self, lags: &mut [T]) {
        self.padded.inverse(self.sum, None, lags);
    }
}

/// Samples of a padded row, and scratch memory.
struct PaddedRow<'a, T: Real> {
    transforms: &'a PlannedTransforms<T>,
    samples: &'a mut [T],
    spare: &'a mut [Complex<T>],
}

impl<T: Real> PaddedRow<'_, T> {
    /// The spectrum of a row, padded with zeros, times factors.
    fn forward(&mut self, row: &[T], factors: Option<&[T]>, spectrum: &mut [Complex<T>]) {
        let (used, rest) = self.samples.split_at_mut(row.len());
        used.copy_from_slice(row);
        if let Some(factors) = factors {
            used.iter_mut().zip(factors).for_each(|(sample, &factor)| *sample *= factor);
        }
        rest.fill(T::zero());
        let done = self.transforms.forward.process_with_scratch(self.samples, spectrum, self.spare);
        done.expect("the buffers have the plan's lengths");
    }

    /// The first samples of the row that has a spectrum, times factors.
    fn inverse(&mut self, spectrum: &mut [Complex<T>], factors: Option<&[T]>, row: &mut [T]) {
        // Both ends are real; a product with infinity may not be.
        for end in [0, spectrum.len() - 1] {
            spectrum[end].im = T::zero();
        }
        let done = self.transforms.inverse.process_with_scratch(spectrum, self.samples, self.spare);
        done.expect("the buffers have the plan's lengths");
        for (into, sample) in row.iter_mut().zip(&*self.samples) {
            *into = *sample * self.transforms.scale;
        }
        if let Some(factors) = factors {
            row.iter_mut().zip(factors).for_each(|(value, &factor)| *value *= factor);
        }
    }
}
