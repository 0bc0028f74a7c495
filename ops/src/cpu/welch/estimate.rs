//! Welch estimate as all engines take it, and the gradients of one.

use crate::cpu::real::Real;
use crate::cpu::runtime::sum_by;
use crate::cpu::welch::gain::{PRODUCT_TAPS, is_gain_of, taps_of};
use crate::options::{Detrend, Scaling, SegmentSet, WelchOptions};

/// Welch estimate of frames.
///
/// Power before the gain is the mean over the chosen segments of c_k |X\[k\]|², times the factor of the scaling, with
/// c_k = 1 at DC and Nyquist and 2 between (Welch, 1967).
#[derive(Debug, Clone, Copy)]
pub struct Estimate<'a, T> {
    /// `[n_fft]`.
    pub(in crate::cpu) window: &'a [T],
    /// `[bins, 3]` or `[bins, 5]`, as in [`gain`](crate::cpu::welch::gain), of an even `n_fft`, if power has one.
    pub(in crate::cpu) gain: Option<&'a [T]>,
    pub(in crate::cpu) options: &'a WelchOptions,
    pub(in crate::cpu) segments: FrameSegments,
}

impl<'a, T: Real> Estimate<'a, T> {
    /// The estimate with a window and perhaps a gain.
    pub fn new(window: &'a [T], gain: Option<&'a [T]>, options: &'a WelchOptions) -> Self {
        options.validate_for_kernels("welch_psd").expect("kernels are given estimates that they compute");
        Self { window, gain, options, segments: FrameSegments::new(options) }
    }

    pub(in crate::cpu) fn as_f32(&self) -> Option<Estimate<'a, f32>> {
        let gain = self.gain.map_or(Some(None), |gain| T::as_f32(gain).map(Some))?;
        Some(Estimate { window: T::as_f32(self.window)?, gain, options: self.options, segments: self.segments })
    }

    /// Factor on |X|² summed over segments.
    pub(in crate::cpu) fn factor(&self) -> T {
        T::of(factor(self.window, self.options.scaling) / self.segments.count as f64)
    }

    pub(in crate::cpu) fn debug_check(&self) {
        debug_assert_eq!(self.window.len(), self.options.n_fft);
        debug_assert!(self.gain.is_none_or(|gain| is_gain_of(gain, self.options.bins())));
    }

    pub(in crate::cpu) fn has_products(&self) -> bool {
        self.gain.is_some_and(|gain| taps_of(gain, self.options.bins()) == PRODUCT_TAPS)
    }
}

/// Segments of a frame that an estimate averages.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct FrameSegments {
    /// Indices of the chosen ones, ascending; every index below `count` if `None`.
    indices: Option<[u8; SegmentSet::MAX_SEGMENTS]>,
    pub count: usize,
}

impl FrameSegments {
    /// The segments that the options choose, or all.
    fn new(options: &WelchOptions) -> Self {
        let indices = options.chosen.map(|chosen| {
            let mut indices = [0; SegmentSet::MAX_SEGMENTS];
            indices.iter_mut().zip(chosen.indices()).for_each(|(into, index)| *into = index as u8);
            indices
        });
        Self { indices, count: options.averaged() }
    }

    /// Samples of a frame that are read: those of the segments, shared ones counted once.
    pub fn samples(&self, options: &WelchOptions) -> usize {
        let apart = |at: usize| (self.index(at) - self.index(at - 1)) * options.hop;
        (1..self.count).map(|at| apart(at).min(options.n_fft)).sum::<usize>() + options.n_fft
    }

    /// Index in its frame of segment number `at` of these.
    #[inline(always)]
    pub fn index(&self, at: usize) -> usize {
        match &self.indices {
            Some(indices) => usize::from(indices[at]),
            None => at,
        }
    }
}

/// The mean that `detrend` subtracts from the segment, else 0.
pub(in crate::cpu) fn subtracted_mean<T: Real>(segment: &[T], detrend: Detrend) -> T {
    match detrend {
        Detrend::None => T::zero(),
        Detrend::Constant => mean(segment),
        Detrend::Linear => unreachable!("an estimate with a linear trend is composed of one without"),
    }
}

/// Destinations to which the gradients of a segment and of the window are added.
pub(in crate::cpu) struct WindowedGradients<'a, T> {
    /// The segment's samples in the gradient of the frame; empty if not requested.
    pub segment: &'a mut [T],
    /// The window's gradient; empty if not requested.
    pub window: &'a mut [T],
}

impl<T: Real> WindowedGradients<'_, T> {
    /// Adds the gradients for `grad`, the gradient of the windowed samples, which is overwritten.
    pub fn add(&mut self, segment: &[T], offset: T, window: &[T], detrend: Detrend, grad: &mut [T]) {
        for ((sum, &g), &x) in self.window.iter_mut().zip(&*grad).zip(segment) {
            *sum += g * (x - offset);
        }
        if self.segment.is_empty() {
            return;
        }
        for (g, &w) in grad.iter_mut().zip(window) {
            *g *= w;
        }
        // Subtracting the mean is a projection, and so its own adjoint.
        let shift = subtracted_mean(grad, detrend);
        for (sum, &g) in self.segment.iter_mut().zip(&*grad) {
            *sum += g - shift;
        }
    }
}

fn mean<T: Real>(values: &[T]) -> T {
    T::of(sum_by(values, |_, value| value.into()) / values.len() as f64)
}

/// Factor on |X|² under `scaling` with `window`.
pub(in crate::cpu) fn factor<T: Real>(window: &[T], scaling: Scaling) -> f64 {
    match scaling {
        Scaling::Power => 1.0,
        Scaling::Spectrum => total(window).powi(-2),
        Scaling::Density { sample_rate } => (sample_rate * energy(window)).recip(),
    }
}

/// Adds the part through the scaling to `grad_window`, the gradient through the windowed samples alone.
///
/// The loss depends on the factor A only through A · |X|², and |X|² is a quadratic form in the windowed samples y. So,
/// with Euler's theorem, A · dL/dA = ½ Σ y · dL/dy = ½ Σ window · grad_window.
pub(in crate::cpu) fn add_factor_gradient<T: Real>(window: &[T], scaling: Scaling, grad_window: &mut [T]) {
    let through_factor = |grad: &[T]| 0.5 * sum_by(window, |j, w| w.into() * grad[j].into());
    match scaling {
        Scaling::Power => {}
        Scaling::Spectrum => {
            let shift = T::of(-2.0 * through_factor(grad_window) / total(window));
            grad_window.iter_mut().for_each(|grad| *grad += shift);
        }
        Scaling::Density { .. } => {
            let slope = T::of(-2.0 * through_factor(grad_window) / energy(window));
            for (grad, &w) in grad_window.iter_mut().zip(window) {
                *grad += slope * w;
            }
        }
    }
}

fn total<T: Real>(window: &[T]) -> f64 {
    sum_by(window, |_, w| w.into())
}

fn energy<T: Real>(window: &[T]) -> f64 {
    sum_by(window, |_, w| w.into() * w.into())
}
