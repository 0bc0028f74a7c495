//! Gradients of the learned Welch power.

use super::gain;
use super::learned::{Learned, LearnedWelch, add_power};
use super::learned_sums::{Lengths, Sums};
use super::network::ScheduleSums;
use super::parallel::{Tasks, optional_chunks};
use super::real::Real;
use super::reduction::{sum_blocks, sum_by};
use super::scratch::take;
use super::segment::TaperGradients;
use super::simd;
use super::split::{Split, SplitMut};

/// A row's stages are kept for all its segments up to this many values, and computed twice beyond.
const KEPT_VALUES: usize = 1 << 18;

/// The gradients [`learned_welch_psd_backward`] overwrites, each if given.
#[derive(Debug, Default)]
pub struct LearnedGradients<'a, T> {
    /// Of the signal, `[rows, frame_len]`; 0 past the last segment.
    pub signal: Option<&'a mut [T]>,
    /// Of the window, `[n_fft]`, with the part through the scaling.
    pub window: Option<&'a mut [T]>,
    /// Of the twiddles, `[log2 n, n / 2, 2]`.
    pub twiddles: Option<&'a mut [T]>,
    /// Of the gates, `[log2 n, n / 2]`; only for a network that has gates.
    pub gates: Option<&'a mut [T]>,
    /// Of the segments' weights, `[segments]`, a skipped segment's included.
    pub weights: Option<&'a mut [T]>,
    /// Of the gain, `[bins, 3]`.
    pub gain: Option<&'a mut [T]>,
}

impl<'a, T: Real> LearnedGradients<'a, T> {
    /// The same gradients, which are of f32; none of them if not.
    fn into_f32(self) -> LearnedGradients<'a, f32> {
        let f32 = |gradient: Option<&'a mut [T]>| gradient.and_then(T::as_f32_mut);
        LearnedGradients {
            signal: f32(self.signal),
            window: f32(self.window),
            twiddles: f32(self.twiddles),
            gates: f32(self.gates),
            weights: f32(self.weights),
            gain: f32(self.gain),
        }
    }
}

/// Gradients of [`learned_welch_psd`](super::learned_welch_psd) for `grad_power` [rows, bins].
///
/// The stages of a row are computed anew. A row whose `grad_power` is 0 throughout gives 0, also if its samples are not
/// finite.
pub fn learned_welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    grad_power: &[T],
    gradients: LearnedGradients<'_, T>,
) {
    let bins = model.options.bins();
    let rows = grad_power.len() / bins;
    debug_assert_eq!(grad_power.len(), rows * bins);
    debug_assert_eq!(signal.len(), rows * frame_len);
    debug_assert!(gradients.gates.is_none() || model.network.gates.is_some());
    if simd::network::takes(model.options.n_fft)
        && let (Some(signal), Some(model)) = (T::as_f32(signal), model.as_f32())
        && let Some(grad_power) = T::as_f32(grad_power)
    {
        let gradients = gradients.into_f32();
        return simd::network::learned_welch_psd_backward(signal, frame_len, &model, grad_power, gradients);
    }
    let backward = Backward::new(model, &gradients);
    let partial = backward.lengths.total();
    let tasks = Tasks::reduction(rows, 4 * backward.learned.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let pieces = (signal.chunks(tasks.rows * frame_len))
        .zip(grad_power.chunks(tasks.rows * bins))
        .zip(optional_chunks(gradients.signal, tasks.rows * frame_len))
        .zip(optional_chunks((partial > 0).then_some(&mut partials[..]), partial.max(1)));
    tasks.run(pieces, |(((frames, grad_power), grad_frames), sums)| {
        let mut sums = backward.lengths.cut(sums.unwrap_or_default());
        let rows = frames.chunks_exact(frame_len).zip(grad_power.chunks_exact(bins));
        T::with_scratch(|scratch| {
            let mut buffers = backward.cut(scratch.real(backward.buffer_len()));
            for ((frame, grad_power), grad_frame) in rows.zip(optional_chunks(grad_frames, frame_len)) {
                backward.row(frame, grad_power, &mut buffers, grad_frame.unwrap_or_default(), &mut sums);
            }
        });
    });
    let total = backward.lengths.cut(sum_blocks(&mut partials, partial));
    if gradients.twiddles.is_some() || gradients.gates.is_some() {
        backward.learned.schedule.write_gradients(total.network, gradients.twiddles, gradients.gates);
    }
    total.write(model, gradients.window, gradients.weights, gradients.gain);
}

/// What a row is computed in.
struct Buffers<'a, T> {
    zeros: &'a mut [T],
    work: &'a mut [T],
    grad: &'a mut [T],
    power: &'a mut [T],
    grad_power: &'a mut [T],
    /// For every kept segment: what the detrending took off, the tapered samples, the outputs of the stages.
    kept: &'a mut [T],
}

struct Backward<'a, T> {
    learned: Learned<'a, T>,
    lengths: Lengths,
    /// Whether a row's gradient goes on through its segments, or ends at the weights and the gain.
    through_segments: bool,
    /// Whether the stages of all segments are kept, or of one at a time.
    keep_all: bool,
}

impl<'a, T: Real> Backward<'a, T> {
    fn new(model: &'a LearnedWelch<'a, T>, gradients: &LearnedGradients<'_, T>) -> Self {
        let learned = Learned::new(model);
        let lengths = Lengths::of(model, gradients, learned.schedule.sums_len());
        let through_segments = gradients.signal.is_some() || gradients.window.is_some() || lengths.network > 0;
        let keep_all = model.options.segments * learned.schedule.levels_len() <= KEPT_VALUES;
        Self { learned, lengths, through_segments, keep_all }
    }

    fn kept_len(&self) -> usize {
        1 + self.learned.schedule.n + self.learned.schedule.levels_len()
    }

    fn buffer_len(&self) -> usize {
        let options = self.learned.model.options;
        let kept = if self.keep_all { options.segments } else { 1 };
        5 * options.n_fft + 2 * options.bins() + kept * self.kept_len()
    }

    fn cut<'b>(&self, mut buffer: &'b mut [T]) -> Buffers<'b, T> {
        let options = self.learned.model.options;
        let zeros = take(&mut buffer, options.n_fft);
        zeros.fill(T::zero());
        Buffers {
            zeros,
            work: take(&mut buffer, 2 * options.n_fft),
            grad: take(&mut buffer, 2 * options.n_fft),
            power: take(&mut buffer, options.bins()),
            grad_power: take(&mut buffer, options.bins()),
            kept: buffer,
        }
    }

    /// Whether segment `index` has to go through the network: one of weight 0 only for the gradient of its weight.
    fn needs(&self, index: usize) -> bool {
        self.lengths.weights > 0 || !self.learned.model.weights[index].is_zero()
    }

    /// Where segment `index` is kept.
    fn place<'k>(&self, index: usize, kept: &'k mut [T]) -> &'k mut [T] {
        let start = if self.keep_all { index * self.kept_len() } else { 0 };
        &mut kept[start..start + self.kept_len()]
    }

    fn forward_segment(&self, frame: &[T], index: usize, zeros: &[T], work: &mut [T], place: &mut [T]) {
        let (offset, rest) = place.split_at_mut(1);
        let (tapered, levels) = rest.split_at_mut(self.learned.schedule.n);
        offset[0] = self.learned.taper(frame, index, tapered);
        self.learned.schedule.forward_levels(Split { re: tapered, im: zeros }, levels, work);
    }

    /// The network's output in a kept segment.
    fn output<'k>(&self, place: &'k [T]) -> Split<'k, T> {
        Split::of(&place[place.len() - 2 * self.learned.schedule.n..])
    }

    /// Overwrites `grad_frame`, which may be empty, and adds to `sums`.
    fn row(
        &self,
        frame: &[T],
        grad_gained: &[T],
        buffers: &mut Buffers<'_, T>,
        grad_frame: &mut [T],
        sums: &mut Sums<'_, T>,
    ) {
        grad_frame.fill(T::zero());
        if grad_gained.iter().all(T::is_zero) {
            return;
        }
        let model = self.learned.model;
        let Buffers { zeros, work, power, grad_power, kept, .. } = buffers;
        power.fill(T::zero());
        for (index, &weight) in model.weights.iter().enumerate().filter(|&(index, _)| self.needs(index)) {
            let place = self.place(index, kept);
            self.forward_segment(frame, index, zeros, work, place);
            if !weight.is_zero() {
                add_power(self.output(place), weight, power);
            }
        }
        self.learned.scale_bins(power);
        grad_power.copy_from_slice(grad_gained);
        gain::backward(model.gain, power, grad_power, sums.gain);
        if !self.through_segments && sums.weights.is_empty() {
            return;
        }
        // From here on the gradient of Σ_s weights[s] |Y_s[k]|².
        self.learned.scale_bins(grad_power);
        for index in (0..model.weights.len()).filter(|&index| self.needs(index)) {
            if !self.keep_all {
                let Buffers { zeros, work, kept, .. } = buffers;
                self.forward_segment(frame, index, zeros, work, self.place(index, kept));
            }
            self.segment(frame, index, buffers, grad_frame, sums);
        }
    }

    /// Adds what segment `index` gives to the gradients.
    fn segment(
        &self,
        frame: &[T],
        index: usize,
        buffers: &mut Buffers<'_, T>,
        grad_frame: &mut [T],
        sums: &mut Sums<'_, T>,
    ) {
        let Learned { model, schedule, .. } = &self.learned;
        let Buffers { zeros, work, grad, grad_power, kept, .. } = buffers;
        let place = &*self.place(index, kept);
        let output = self.output(place);
        if let Some(sum) = sums.weights.get_mut(index) {
            let squared = |k: usize| (output.re[k] * output.re[k] + output.im[k] * output.im[k]).into();
            *sum += T::of(sum_by(grad_power, |k, g| g.into() * squared(k)));
        }
        let weight = model.weights[index];
        if weight.is_zero() || !self.through_segments {
            return;
        }
        let twice = T::of(2.0) * weight;
        let mut grad = SplitMut::of(grad);
        for (grad, output) in [(&mut *grad.re, output.re), (&mut *grad.im, output.im)] {
            let (lower, upper) = grad.split_at_mut(grad_power.len());
            for ((grad, &g), &y) in lower.iter_mut().zip(&**grad_power).zip(output) {
                *grad = twice * g * y;
            }
            upper.fill(T::zero());
        }
        let (offset, rest) = place.split_at(1);
        let (tapered, levels) = rest.split_at(schedule.n);
        let mut network_sums = (!sums.network.is_empty()).then(|| ScheduleSums::of(schedule, sums.network));
        schedule.backward(Split { re: tapered, im: zeros }, levels, grad.reborrow(), work, network_sums.as_mut());
        let start = index * model.options.hop;
        let grad_segment = grad_frame.get_mut(start..start + schedule.n).unwrap_or_default();
        let mut into = TaperGradients { segment: grad_segment, window: sums.window };
        into.add(self.learned.segment(frame, index), offset[0], model.window, model.options.detrend, grad.re);
    }
}
