//! Learned Welch power and peaks in plain loops.

use crate::cpu::learned::arguments::LearnedWelch;
use crate::cpu::learned::gain;
use crate::cpu::real::Real;
use crate::cpu::runtime::scratch::take;
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::scalar::butterfly::Schedule;
use crate::cpu::scalar::split::{Split, SplitMut};
use crate::cpu::top_k::{self, top_k_of_bins};
use crate::cpu::welch::{scaling, segment};
use crate::options::WelchOptions;

/// As [`learned_welch_psd`](crate::cpu::learned_welch_psd()).
pub(in crate::cpu) fn learned_welch_psd<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    power: &mut [T],
) {
    let bins = model.options.bins();
    let learned = LearnedRows::new(model);
    let tasks = Tasks::independent(power.len() / bins, learned.work());
    let pieces = signal.chunks(tasks.rows * frame_len).zip(power.chunks_mut(tasks.rows * bins));
    tasks.run(pieces, |(frames, power)| {
        T::with_scratch(|scratch| {
            let mut buffers = LearnedBuffers::cut(scratch.real(LearnedBuffers::<T>::len(model.options)), model.options);
            for (frame, power) in frames.chunks_exact(frame_len).zip(power.chunks_exact_mut(bins)) {
                learned.row(frame, &mut buffers, power);
            }
        });
    });
}

/// As [`learned_welch_peaks`](crate::cpu::learned_welch_peaks()).
pub(in crate::cpu) fn learned_welch_peaks<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    k: usize,
    out_bins: &mut [i64],
    out_power: &mut [T],
) {
    let (bins, searched) = (model.options.bins(), model.options.searched());
    let learned = LearnedRows::new(model);
    let tasks = Tasks::independent(out_bins.len() / k, learned.work() + top_k::work(searched.len(), k));
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let (_, real, keys) = scratch.buffers(0, LearnedBuffers::<T>::len(model.options) + bins, searched.len());
            let (power, real) = real.split_at_mut(bins);
            let mut buffers = LearnedBuffers::cut(real, model.options);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (frame, (out_bins, out_power)) in frames.chunks_exact(frame_len).zip(outputs) {
                learned.row(frame, &mut buffers, power);
                top_k_of_bins(power, searched.clone(), keys, out_bins, out_power);
            }
        });
    });
}

/// Values shared by every row of a call.
pub(in crate::cpu) struct LearnedRows<'a, T> {
    pub model: &'a LearnedWelch<'a, T>,
    pub schedule: Schedule<T>,
    /// The factor of the scaling.
    pub scale: T,
}

/// Buffers of one row.
struct LearnedBuffers<'a, T> {
    windowed: &'a mut [T],
    zeros: &'a mut [T],
    output: SplitMut<'a, T>,
    work: &'a mut [T],
}

impl<'a, T: Real> LearnedBuffers<'a, T> {
    fn len(options: &WelchOptions) -> usize {
        8 * options.n_fft
    }

    fn cut(mut buffer: &'a mut [T], options: &WelchOptions) -> Self {
        let n = options.n_fft;
        let windowed = take(&mut buffer, n);
        let zeros = take(&mut buffer, n);
        zeros.fill(T::zero());
        let output = SplitMut::of(take(&mut buffer, 2 * n));
        Self { windowed, zeros, output, work: buffer }
    }
}

impl<'a, T: Real> LearnedRows<'a, T> {
    pub fn new(model: &'a LearnedWelch<'a, T>) -> Self {
        let scale = T::of(scaling::factor(model.window, model.options.scaling));
        Self { model, schedule: Schedule::new(&model.transform), scale }
    }

    /// Work of a row if no segment is skipped, in the unit of [`Tasks`].
    pub fn work(&self) -> usize {
        self.model.options.segments * self.schedule.work()
    }

    /// The power of one frame, gain applied.
    fn row(&self, frame: &[T], buffers: &mut LearnedBuffers<'_, T>, power: &mut [T]) {
        let LearnedBuffers { windowed, zeros, output, work } = buffers;
        power.fill(T::zero());
        for (index, &weight) in self.model.weights.iter().enumerate() {
            if weight.is_zero() {
                continue;
            }
            self.apply_window(frame, index, windowed);
            self.schedule.forward(Split { re: windowed, im: zeros }, work, output.reborrow());
            add_power(output.read(), weight, power);
        }
        self.scale_bins(power);
        if let Some(gain) = self.model.gain {
            gain::apply(gain, power);
        }
    }

    /// Windows segment `index`, and returns the mean that detrending subtracted.
    pub fn apply_window(&self, frame: &[T], index: usize, windowed: &mut [T]) -> T {
        let samples = self.segment(frame, index);
        let offset = segment::offset(samples, self.model.options.detrend);
        segment::apply_window(samples, offset, self.model.window, windowed);
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
pub(in crate::cpu) fn add_power<T: Real>(output: Split<'_, T>, weight: T, power: &mut [T]) {
    for ((power, &re), &im) in power.iter_mut().zip(output.re).zip(output.im) {
        *power += weight * (re * re + im * im);
    }
}
