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
            let mut buffers = learned.cut(scratch.real(learned.buffer_len()));
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
    let open = model.open_blocks(k);
    let learned = LearnedRows::new(model);
    let tasks = Tasks::independent(out_bins.len() / k, learned.work() + top_k::work(searched.len(), k));
    let pieces = signal
        .chunks(tasks.rows * frame_len)
        .zip(out_bins.chunks_mut(tasks.rows * k))
        .zip(out_power.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((frames, out_bins), out_power)| {
        T::with_scratch(|scratch| {
            let (_, real, keys) = scratch.buffers(0, learned.buffer_len() + bins, searched.len());
            let (power, real) = real.split_at_mut(bins);
            let mut buffers = learned.cut(real);
            let outputs = out_bins.chunks_exact_mut(k).zip(out_power.chunks_exact_mut(k));
            for (frame, (out_bins, out_power)) in frames.chunks_exact(frame_len).zip(outputs) {
                learned.row(frame, &mut buffers, power);
                top_k_of_bins(power, searched.clone(), open, keys, out_bins, out_power);
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
    /// The sums that the gain takes.
    sums: &'a mut [T],
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

    /// Number of the sums of a row that the gain takes.
    pub fn sums_len(&self) -> usize {
        gain::sums_len(self.model.gain, self.model.options.bins())
    }

    fn buffer_len(&self) -> usize {
        8 * self.model.options.n_fft + self.sums_len()
    }

    fn cut<'b>(&self, mut buffer: &'b mut [T]) -> LearnedBuffers<'b, T> {
        let n = self.model.options.n_fft;
        let windowed = take(&mut buffer, n);
        let zeros = take(&mut buffer, n);
        zeros.fill(T::zero());
        let output = SplitMut::of(take(&mut buffer, 2 * n));
        let sums = take(&mut buffer, self.sums_len());
        LearnedBuffers { windowed, zeros, output, work: buffer, sums }
    }

    /// The power of one frame, gain applied.
    fn row(&self, frame: &[T], buffers: &mut LearnedBuffers<'_, T>, power: &mut [T]) {
        let LearnedBuffers { windowed, zeros, output, work, sums } = buffers;
        sums.fill(T::zero());
        for (index, &weight) in self.model.weights.iter().enumerate() {
            if weight.is_zero() {
                continue;
            }
            self.apply_window(frame, index, windowed);
            self.schedule.forward(Split { re: windowed, im: zeros }, work, output.reborrow());
            self.add_sums(output.read(), weight, sums);
        }
        self.scale_sums(sums);
        match self.model.gain {
            Some(gain) => gain::apply(gain, sums, power),
            None => power.copy_from_slice(sums),
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

    /// Adds a segment's squares, times its weight, and its products of neighbours if the gain takes them.
    pub fn add_sums(&self, output: Split<'_, T>, weight: T, sums: &mut [T]) {
        let (power, products) = sums.split_at_mut(self.model.options.bins());
        for ((power, &re), &im) in power.iter_mut().zip(output.re).zip(output.im) {
            *power += weight * (re * re + im * im);
        }
        for ((product, re), im) in products.iter_mut().zip(output.re.windows(2)).zip(output.im.windows(2)) {
            *product += weight * (re[0] * re[1] + im[0] * im[1]);
        }
    }

    /// Multiplies the power of bin k by scale · c_k, and products by twice the scale.
    pub fn scale_sums(&self, sums: &mut [T]) {
        let last = self.model.options.bins() - 1;
        let twice = T::of(2.0) * self.scale;
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum *= if k == 0 || k == last { self.scale } else { twice };
        }
    }
}
