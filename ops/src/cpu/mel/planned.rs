//! Mel spectra one frame at a time, by the plans of realfft.

use std::sync::Arc;

use realfft::RealToComplex;
use rustfft::num_complex::Complex;

use super::frame_samples::FrameGradients;
use super::{FrameRange, MelSpectra};
use crate::cpu::real::Real;
use crate::cpu::runtime::take;

/// The transform of single frames, and its memory.
struct PlannedFrames<'a, T> {
    spectra: &'a MelSpectra<'a, T>,
    plan: Arc<dyn RealToComplex<T>>,
    /// `[n_fft]`.
    samples: &'a mut [T],
    /// `[bins]`.
    spectrum: &'a mut [Complex<T>],
    scratch: &'a mut [Complex<T>],
    /// Power or amplitude of bins.
    magnitudes: &'a mut [T],
    /// `[bands]`.
    bands: &'a mut [T],
}

impl<T: Real> PlannedFrames<'_, T> {
    /// Runs `body` with the memory of this thread; `scratch` is how much more complex memory is needed.
    fn with<R>(spectra: &MelSpectra<'_, T>, scratch: usize, body: impl FnOnce(PlannedFrames<'_, T>) -> R) -> R {
        let (n, bands) = (spectra.framing.n_fft, spectra.bands.count());
        let (bins, plan) = (n / 2 + 1, T::real_plan(n));
        T::with_scratch(|memory| {
            let scratch = scratch.max(plan.get_scratch_len());
            let (mut complex, mut real, _) = memory.buffers(bins + scratch, n + bins + bands, 0);
            let spectrum = take(&mut complex, bins);
            let (samples, magnitudes) = (take(&mut real, n), take(&mut real, bins));
            body(PlannedFrames { spectra, plan, samples, spectrum, scratch: complex, magnitudes, bands: real })
        })
    }

    /// Transforms frame `frame` of a row, and sums it into bands.
    fn transform(&mut self, row: &[T], frame: usize) {
        let MelSpectra { framing, window, bands, is_power, .. } = self.spectra;
        framing.copy(row, frame, self.samples);
        self.samples.iter_mut().zip(*window).for_each(|(sample, &window)| *sample *= window);
        let scratch = &mut self.scratch[..self.plan.get_scratch_len()];
        let transformed = self.plan.process_with_scratch(self.samples, self.spectrum, scratch);
        transformed.expect("the buffers have the plan's lengths");
        for (magnitude, bin) in self.magnitudes.iter_mut().zip(&*self.spectrum) {
            *magnitude = if *is_power { bin.norm_sqr() } else { bin.norm_sqr().sqrt() };
        }
        bands.sum(self.magnitudes, self.bands);
    }
}

/// Bands of a range of frames.
pub(super) fn forward<T: Real>(spectra: &MelSpectra<'_, T>, range: FrameRange<'_, T>) {
    let FrameRange { row, first, mut bands } = range;
    let count = bands.first().map_or(0, |band| band.len());
    PlannedFrames::with(spectra, 0, |mut frames| {
        for frame in 0..count {
            frames.transform(row, first + frame);
            for (band, &value) in bands.iter_mut().zip(&*frames.bands) {
                band[frame] = spectra.logarithm.map_or(value, |logarithm| logarithm.of(value));
            }
        }
    });
}

/// Gradients of a row for `grad` `[bands, frames]`.
pub(super) fn backward<T: Real>(spectra: &MelSpectra<'_, T>, row: &[T], grad: &[T], into: &mut FrameGradients<'_, T>) {
    let (n, count) = (spectra.framing.n_fft, spectra.framing.count);
    let inverse = T::inverse_real_plan(n);
    PlannedFrames::with(spectra, inverse.get_scratch_len(), |mut frames| {
        for frame in 0..count {
            frames.transform(row, frame);
            // Gradients of bands, then of the power or amplitude of bins.
            for (band, grads) in frames.bands.iter_mut().zip(grad.chunks_exact(count)) {
                let slope = spectra.logarithm.map_or(T::one(), |logarithm| logarithm.derivative(*band));
                *band = if grads[frame].is_zero() { T::zero() } else { grads[frame] * slope };
            }
            spectra.bands.spread(frames.bands, frames.magnitudes);
            // Gradients of bins: 2 g X of power, g X / |X| of amplitude. The sum over one side of the spectrum counts
            // an interior bin once, and the inverse transform twice.
            let interior = 1..n.div_ceil(2);
            for (bin, z) in frames.spectrum.iter_mut().enumerate() {
                let grad = frames.magnitudes[bin];
                let slope = match z.norm_sqr().sqrt() {
                    _ if spectra.is_power => grad + grad,
                    amplitude if amplitude.is_zero() => T::zero(),
                    amplitude => grad / amplitude,
                };
                *z = if interior.contains(&bin) {
                    *z * (slope * T::of(0.5))
                } else {
                    Complex::new(z.re * slope, T::zero())
                };
            }
            let scratch = &mut frames.scratch[..inverse.get_scratch_len()];
            let transformed = inverse.process_with_scratch(frames.spectrum, frames.samples, scratch);
            transformed.expect("the buffers have the plan's lengths");
            into.add(row, frame, frames.samples);
        }
    });
}
