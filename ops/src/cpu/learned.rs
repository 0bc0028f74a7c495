//! Welch power and peaks through a learned butterfly network, weighted segments and a per-bin gain.

use super::gain;
use super::network::{Network, Schedule};
use super::parallel::Tasks;
use super::real::Real;
use super::scratch::take;
use super::split::{Split, SplitMut};
use super::top_k::{self, top_k_row};
use super::{scaling, segment, simd};
use crate::options::WelchOptions;

/// A learned Welch estimate.
///
/// Every segment, detrended and windowed, goes through the network as the real part of its input. With Y_s the
/// network's output for segment s: P\[k\] = scale · Σ_s weights\[s\] c_k |Y_s\[k\]|² for k = 0..=n/2, scale and c_k as
/// for [`welch_psd`](super::welch_psd); then the gain is applied. Exact twiddles, open gates, weights 1 / segments
/// and gain (0, 1, 0) give the Welch power.
#[derive(Debug, Clone, Copy)]
pub struct LearnedWelch<'a, T> {
    /// The taper, `[n_fft]`.
    pub window: &'a [T],
    /// The network, of length `n_fft`.
    pub network: Network<'a, T>,
    /// Weights of the segments, `[segments]`, not negative. A segment of weight 0 is skipped.
    pub weights: &'a [T],
    /// Gain of the bins, [bins, 3]: see [`GAIN_TAPS`](super::GAIN_TAPS). [`simd::network`] takes none for a gain of 1.
    pub gain: &'a [T],
    /// The segments, scaling and detrending.
    pub options: &'a WelchOptions,
}

impl<'a, T: Real> LearnedWelch<'a, T> {
    /// The model if it is of f32.
    pub(super) fn as_f32(&self) -> Option<LearnedWelch<'a, f32>> {
        Some(LearnedWelch {
            window: T::as_f32(self.window)?,
            network: self.network.as_f32()?,
            weights: T::as_f32(self.weights)?,
            gain: T::as_f32(self.gain)?,
            options: self.options,
        })
    }
}

/// Learned Welch power of every row: `signal` `[rows, frame_len]` → `power` `[rows, bins]`.
pub fn learned_welch_psd<T: Real>(signal: &[T], frame_len: usize, model: &LearnedWelch<'_, T>, power: &mut [T]) {
    let bins = model.options.bins();
    let rows = power.len() / bins;
    debug_assert_eq!(power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    if simd::network::takes(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(power) = T::as_f32_mut(power)
    {
        return simd::network::learned_welch_psd(signal, frame_len, &model, power);
    }
    let learned = Learned::new(model);
    let tasks = Tasks::independent(rows, learned.work());
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        T::with_scratch(|scratch| {
            let mut buffers = Buffers::cut(scratch.real(Buffers::<T>::len(model.options)), model.options);
            for (frame, power) in frames.chunks_exact(frame_len).zip(power.chunks_exact_mut(bins)) {
                learned.row(frame, &mut buffers, power);
            }
        });
    });
}

/// The `k` strongest bins of every row's learned Welch power: `signal` `[rows, frame_len]` → `out_bins`, `out_power`
/// `[rows, k]`, strongest first.
pub fn learned_welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let bins = model.options.bins();
    let rows = out_bins.len() / k;
    debug_assert!((1..=bins).contains(&k));
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert_eq!(out_bins.len(), rows * k);
    debug_assert_eq!(out_power.len(), rows * k);
    if simd::network::takes(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(out_power) = T::as_f32_mut(out_power)
    {
        return simd::network::learned_welch_peaks(signal, frame_len, &model, k, out_bins, out_power);
    }
    let learned = Learned::new(model);
    let tasks = Tasks::independent(rows, learned.work() + top_k::work(bins, k));
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let (_, real, keys) = scratch.buffers(0, Buffers::<T>::len(model.options) + bins, bins);
            let (power, real) = real.split_at_mut(bins);
            let mut buffers = Buffers::cut(real, model.options);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (frame, (out_bins, out_power)) in frames.chunks_exact(frame_len).zip(outputs) {
                learned.row(frame, &mut buffers, power);
                top_k_row(power, keys, out_bins, out_power);
            }
        });
    });
}

/// What every row of a call shares.
pub(super) struct Learned<'a, T> {
    pub model: &'a LearnedWelch<'a, T>,
    pub schedule: Schedule<T>,
    /// The factor of the scaling.
    pub scale: T,
}

/// What a row is computed in.
struct Buffers<'a, T> {
    tapered: &'a mut [T],
    zeros: &'a mut [T],
    output: SplitMut<'a, T>,
    work: &'a mut [T],
}

impl<'a, T: Real> Buffers<'a, T> {
    fn len(options: &WelchOptions) -> usize {
        8 * options.n_fft
    }

    fn cut(mut buffer: &'a mut [T], options: &WelchOptions) -> Self {
        let n = options.n_fft;
        let tapered = take(&mut buffer, n);
        let zeros = take(&mut buffer, n);
        zeros.fill(T::zero());
        let output = SplitMut::of(take(&mut buffer, 2 * n));
        Self { tapered, zeros, output, work: buffer }
    }
}

impl<'a, T: Real> Learned<'a, T> {
    pub fn new(model: &'a LearnedWelch<'a, T>) -> Self {
        debug_assert_eq!(model.window.len(), model.options.n_fft);
        debug_assert_eq!(model.network.n, model.options.n_fft);
        debug_assert_eq!(model.weights.len(), model.options.segments);
        debug_assert_eq!(model.gain.len(), gain::GAIN_TAPS * model.options.bins());
        let scale = T::of(scaling::factor(model.window, model.options.scaling));
        Self { model, schedule: Schedule::new(&model.network), scale }
    }

    /// Work of a row if no segment is skipped, in the unit of [`Tasks`].
    pub fn work(&self) -> usize {
        self.model.options.segments * self.schedule.work()
    }

    /// The power of one frame, gain applied.
    fn row(&self, frame: &[T], buffers: &mut Buffers<'_, T>, power: &mut [T]) {
        let Buffers { tapered, zeros, output, work } = buffers;
        power.fill(T::zero());
        for (index, &weight) in self.model.weights.iter().enumerate() {
            if weight.is_zero() {
                continue;
            }
            self.taper(frame, index, tapered);
            self.schedule.forward(Split { re: tapered, im: zeros }, work, output.reborrow());
            add_power(output.read(), weight, power);
        }
        self.scale_bins(power);
        gain::apply(self.model.gain, power);
    }

    /// Tapers segment `index`, and gives what the detrending took off.
    pub fn taper(&self, frame: &[T], index: usize, tapered: &mut [T]) -> T {
        let samples = self.segment(frame, index);
        let offset = segment::offset(samples, self.model.options.detrend);
        segment::taper(samples, offset, self.model.window, tapered);
        offset
    }

    /// Segment `index` of a frame.
    pub fn segment<'f>(&self, frame: &'f [T], index: usize) -> &'f [T] {
        &frame[index * self.model.options.hop..][..self.model.options.n_fft]
    }

    /// Multiplies bin k by scale · c_k.
    pub fn scale_bins(&self, power: &mut [T]) {
        let last = power.len() - 1;
        let twice = T::of(2.0) * self.scale;
        power[1..last].iter_mut().for_each(|p| *p *= twice);
        power[0] *= self.scale;
        power[last] *= self.scale;
    }
}

/// `power[k] += weight · |output[k]|²` for the bins of `power`.
pub(super) fn add_power<T: Real>(output: Split<'_, T>, weight: T, power: &mut [T]) {
    for ((power, &re), &im) in power.iter_mut().zip(output.re).zip(output.im) {
        *power += weight * (re * re + im * im);
    }
}
