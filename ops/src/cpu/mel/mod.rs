//! Mel spectra: bands of the power or amplitude of frames, and their logarithms.
//!
//! Frames of f32 whose length has small factors are transformed with a frame per lane, and summed into bands in the
//! tile (`lanes.rs`); all others one at a time by realfft ([`PlannedFrames`]). All frames of a call go the same way.

mod bands;
mod frame_samples;
mod lanes;

use std::sync::Arc;

use realfft::RealToComplex;
use rustfft::num_complex::Complex;

use self::bands::{PackedFilters, Scaled};
use self::frame_samples::{FrameGradients, Framing};
use super::isa::register::MAX_LANES;
use super::real::Real;
use super::runtime::tasks::{Tasks, optional_chunks};
use super::runtime::{sum_blocks, take};
use super::transform::plan_of_frames;
use crate::mel_filters::cached_filters;
use crate::options::{Logarithm, MelOptions};

#[derive(Debug, Clone, Copy)]
pub struct MelCall<'a, T> {
    /// Samples of a row; enough for a frame.
    pub samples: usize,
    /// `[n_fft]`.
    pub window: &'a [T],
    pub options: &'a MelOptions,
    pub logarithm: Option<&'a Logarithm>,
}

/// Bands of every frame, or their logarithms: `signal` `[rows, samples]` → `output` `[rows, bands, frames]`.
///
/// A sample that is not finite spoils the frames that hold it, and no other.
pub fn mel<T: Real>(signal: &[T], call: &MelCall<'_, T>, output: &mut [T]) {
    let spectra = MelSpectra::new(call);
    if let Some(plan) = plan_of_frames(spectra.framing.n_fft, spectra.framing.count)
        && let (Some(signal), Some(window)) = (T::as_f32(signal), T::as_f32(call.window))
        && let Some(output) = T::as_f32_mut(output)
    {
        let spectra = MelSpectra::new(&MelCall { window, ..call.of_type() });
        return spectra.forward(signal, output, |range| lanes::forward(&spectra, &plan, range));
    }
    spectra.forward(signal, output, |range| planned_forward(&spectra, range));
}

/// Gradients of [`mel`] for `grad` `[rows, bands, frames]`: adds to those of the signal `[rows, samples]` and of the
/// window `[n_fft]`, each if given, which are 0.
pub fn mel_backward<T: Real>(signal: &[T], call: &MelCall<'_, T>, grad: &[T], into: [Option<&mut [T]>; 2]) {
    let spectra = MelSpectra::new(call);
    if let Some(plan) = plan_of_frames(spectra.framing.n_fft, spectra.framing.count)
        && let (Some(signal), Some(window), Some(grad)) = (T::as_f32(signal), T::as_f32(call.window), T::as_f32(grad))
    {
        let into = into.map(|values| values.and_then(T::as_f32_mut));
        let spectra = MelSpectra::new(&MelCall { window, ..call.of_type() });
        return spectra
            .backward(signal, grad, into, |row, grad, into| lanes::backward(&spectra, &plan, row, grad, into));
    }
    spectra.backward(signal, grad, into, |row, grad, into| planned_backward(&spectra, row, grad, into));
}

impl<'a, T> MelCall<'a, T> {
    /// The same call for another type, without a window.
    fn of_type<U>(&self) -> MelCall<'a, U> {
        MelCall { samples: self.samples, window: &[], options: self.options, logarithm: self.logarithm }
    }
}

/// Tables and sizes that all frames of a call share.
struct MelSpectra<'a, T> {
    framing: Framing,
    /// `[n_fft]`.
    window: &'a [T],
    bands: PackedFilters<T>,
    /// Whether power is summed, or else amplitude.
    is_power: bool,
    logarithm: Option<Scaled>,
}

/// Some of the frames of a row.
struct FrameRange<'a, T> {
    /// The row, `[samples]`.
    row: &'a [T],
    first: usize,
    /// The frames' values in each band, or none.
    bands: Vec<&'a mut [T]>,
}

impl<'a, T: Real> MelSpectra<'a, T> {
    fn new(call: &MelCall<'a, T>) -> Self {
        let options = call.options;
        let filters = cached_filters(options.stft.n_fft, &options.bands);
        Self {
            framing: Framing::new(&options.stft, call.samples),
            window: call.window,
            bands: PackedFilters::new(&filters, options.factor()),
            is_power: options.is_power(),
            logarithm: call.logarithm.map(|logarithm| Scaled::new(logarithm, options.is_power())),
        }
    }

    /// Work of a frame, in the unit of [`Tasks`].
    fn work(&self) -> usize {
        let n = self.framing.n_fft;
        n * n.max(2).ilog2() as usize / 8 + n
    }

    /// Runs `forward` on ranges of frames that make up all rows.
    fn forward(&self, signal: &[T], output: &mut [T], forward: impl Fn(FrameRange<'_, T>) + Send + Sync) {
        let Framing { samples, count: frames, .. } = self.framing;
        let (rows, bands) = (signal.len() / samples, self.bands.count());
        debug_assert_eq!(output.len(), rows * bands * frames);
        let length = Tasks::independent_groups(rows * frames, self.work(), MAX_LANES).rows.min(frames);
        let pieces = signal.chunks_exact(samples).zip(output.chunks_exact_mut(bands * frames));
        let ranges = pieces.flat_map(|(row, output)| {
            let mut bands: Vec<_> = output.chunks_exact_mut(frames).map(|band| band.chunks_mut(length)).collect();
            let range =
                move |first| FrameRange { row, first, bands: bands.iter_mut().filter_map(Iterator::next).collect() };
            (0..frames).step_by(length).map(range)
        });
        Tasks { rows: length, count: rows * frames.div_ceil(length) }.run(ranges, forward);
    }

    /// Runs `backward` on every row and its gradient.
    fn backward(
        &self,
        signal: &[T],
        grad: &[T],
        [of_signal, of_window]: [Option<&mut [T]>; 2],
        backward: impl Fn(&[T], &[T], &mut FrameGradients<'_, T>) + Send + Sync,
    ) {
        let Framing { samples, count: frames, n_fft, .. } = self.framing;
        let (rows, values) = (signal.len() / samples, self.bands.count() * frames);
        debug_assert_eq!(grad.len(), rows * values);
        let partial = if of_window.is_some() { n_fft } else { 0 };
        let tasks = Tasks::reduction(rows, 3 * frames * self.work(), partial);
        let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
        let pieces = (signal.chunks(tasks.rows * samples))
            .zip(grad.chunks(tasks.rows * values))
            .zip(optional_chunks(of_signal, tasks.rows * samples))
            .zip(optional_chunks(of_window.is_some().then_some(&mut partials[..]), n_fft));
        tasks.run(pieces, |(((rows, grads), of_rows), of_window)| {
            let of_window = of_window.unwrap_or_default();
            let rows = rows.chunks_exact(samples).zip(grads.chunks_exact(values));
            for ((row, grad), of_row) in rows.zip(optional_chunks(of_rows, samples)) {
                // A row without a gradient gives none, also where its samples are not finite.
                if grad.iter().any(|g| !g.is_zero()) {
                    let signal = of_row.unwrap_or_default();
                    let (framing, window) = (&self.framing, self.window);
                    backward(row, grad, &mut FrameGradients { framing, window, signal, of_window: &mut *of_window });
                }
            }
        });
        if let Some(of_window) = of_window {
            of_window.copy_from_slice(sum_blocks(&mut partials, n_fft));
        }
    }
}

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
fn planned_forward<T: Real>(spectra: &MelSpectra<'_, T>, range: FrameRange<'_, T>) {
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
fn planned_backward<T: Real>(spectra: &MelSpectra<'_, T>, row: &[T], grad: &[T], into: &mut FrameGradients<'_, T>) {
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
