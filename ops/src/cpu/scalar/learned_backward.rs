//! Gradients of the learned Welch power in plain loops.

use crate::cpu::learned::arguments::{LearnedGradients, LearnedWelch};
use crate::cpu::learned::gain;
use crate::cpu::learned::sums::{LearnedSums, Lengths};
use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::{sum_blocks, sum_by};
use crate::cpu::runtime::scratch::take;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};
use crate::cpu::scalar::butterfly::ScheduleSums;
use crate::cpu::scalar::learned::LearnedRows;
use crate::cpu::scalar::split::{Split, SplitMut};
use crate::cpu::welch::segment::WindowedGradients;

/// Limit, in values, up to which the stages of all segments of a row are stored; beyond it they are computed twice.
const MAX_STORED_VALUES: usize = 1 << 18;

/// As [`learned_welch_psd_backward`](crate::cpu::learned_welch_psd_backward()).
pub(in crate::cpu) fn learned_welch_psd_backward<T: Real>(
    signal: &[T],
    frame_len: usize,
    model: &LearnedWelch<'_, T>,
    grad_power: &[T],
    gradients: LearnedGradients<'_, T>,
) {
    let bins = model.options.bins();
    let rows = grad_power.len() / bins;
    let backward = LearnedBackwardRows::new(model, &gradients);
    // One partial sum of each parameter's gradient per block of rows, so that the order of sums follows from shapes.
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
    // Add the blocks in order.
    let total = backward.lengths.cut(sum_blocks(&mut partials, partial));
    if gradients.twiddles.is_some() || gradients.gates.is_some() {
        backward.learned.schedule.write_gradients(total.transform, gradients.twiddles, gradients.gates);
    }
    total.write(model, gradients.window, gradients.weights, gradients.gain);
}

/// Buffers of one row.
struct LearnedBackwardBuffers<'a, T> {
    zeros: &'a mut [T],
    work: &'a mut [T],
    grad: &'a mut [T],
    /// The sums that the gain takes, and their gradients.
    sums: &'a mut [T],
    grad_sums: &'a mut [T],
    /// For every stored segment: the subtracted mean, the windowed samples, the outputs of the stages.
    stored: &'a mut [T],
}

/// Values shared by every row of a call.
struct LearnedBackwardRows<'a, T> {
    learned: LearnedRows<'a, T>,
    lengths: Lengths,
    /// Whether any gradient needs the backward pass through the segments, and not only through weights and gain.
    through_segments: bool,
    /// Whether the stages of all segments are stored, or of one at a time.
    store_all: bool,
}

impl<'a, T: Real> LearnedBackwardRows<'a, T> {
    fn new(model: &'a LearnedWelch<'a, T>, gradients: &LearnedGradients<'_, T>) -> Self {
        let learned = LearnedRows::new(model);
        let lengths = Lengths::of(model, gradients, learned.schedule.sums_len());
        let through_segments = gradients.signal.is_some() || gradients.window.is_some() || lengths.transform > 0;
        let store_all = model.options.segments * learned.schedule.levels_len() <= MAX_STORED_VALUES;
        Self { learned, lengths, through_segments, store_all }
    }

    fn stored_len(&self) -> usize {
        1 + self.learned.schedule.n + self.learned.schedule.levels_len()
    }

    fn buffer_len(&self) -> usize {
        let options = self.learned.model.options;
        let stored = if self.store_all { options.segments } else { 1 };
        5 * options.n_fft + 2 * self.learned.sums_len() + stored * self.stored_len()
    }

    fn cut<'b>(&self, mut buffer: &'b mut [T]) -> LearnedBackwardBuffers<'b, T> {
        let options = self.learned.model.options;
        let zeros = take(&mut buffer, options.n_fft);
        zeros.fill(T::zero());
        LearnedBackwardBuffers {
            zeros,
            work: take(&mut buffer, 2 * options.n_fft),
            grad: take(&mut buffer, 2 * options.n_fft),
            sums: take(&mut buffer, self.learned.sums_len()),
            grad_sums: take(&mut buffer, self.learned.sums_len()),
            stored: buffer,
        }
    }

    /// Whether segment `index` has to go through the transform: one of weight 0 only for the gradient of its weight.
    fn needs(&self, index: usize) -> bool {
        self.lengths.weights > 0 || !self.learned.model.weights[index].is_zero()
    }

    /// Storage of segment `index`.
    fn storage<'s>(&self, index: usize, stored: &'s mut [T]) -> &'s mut [T] {
        let start = if self.store_all { index * self.stored_len() } else { 0 };
        &mut stored[start..start + self.stored_len()]
    }

    /// Windows segment `index` and runs it through the transform, storing every stage.
    fn forward_segment(&self, frame: &[T], index: usize, zeros: &[T], work: &mut [T], storage: &mut [T]) {
        let (offset, rest) = storage.split_at_mut(1);
        let (windowed, levels) = rest.split_at_mut(self.learned.schedule.n);
        offset[0] = self.learned.apply_window(frame, index, windowed);
        self.learned.schedule.forward_levels(Split { re: windowed, im: zeros }, levels, work);
    }

    /// The transform's output in a stored segment.
    fn output<'s>(&self, storage: &'s [T]) -> Split<'s, T> {
        Split::of(&storage[storage.len() - 2 * self.learned.schedule.n..])
    }

    /// Overwrites `grad_frame`, which may be empty, and adds to `sums`.
    fn row(
        &self,
        frame: &[T],
        grad_gained: &[T],
        buffers: &mut LearnedBackwardBuffers<'_, T>,
        grad_frame: &mut [T],
        sums: &mut LearnedSums<'_, T>,
    ) {
        grad_frame.fill(T::zero());
        if grad_gained.iter().all(T::is_zero) {
            return;
        }
        // Forward: the sums of the row before the gain.
        let model = self.learned.model;
        let LearnedBackwardBuffers { zeros, work, sums: row_sums, grad_sums, stored, .. } = buffers;
        row_sums.fill(T::zero());
        for (index, &weight) in model.weights.iter().enumerate().filter(|&(index, _)| self.needs(index)) {
            let storage = self.storage(index, stored);
            self.forward_segment(frame, index, zeros, work, storage);
            if !weight.is_zero() {
                self.learned.add_sums(self.output(storage), weight, row_sums);
            }
        }
        self.learned.scale_sums(row_sums);
        // Backward through the gain.
        if let Some(gain) = model.gain {
            gain::add_gradient(row_sums, grad_gained, sums.gain);
            gain::adjoint(gain, grad_gained, grad_sums);
        } else {
            grad_sums.copy_from_slice(grad_gained);
        }
        if !self.through_segments && sums.weights.is_empty() {
            return;
        }
        // From here on `grad_sums` is the gradient of Σ_s weights[s] |Y_s[k]|² and Σ_s weights[s] Re Y_s[k] Y_s*[k+1].
        self.learned.scale_sums(grad_sums);
        for index in (0..model.weights.len()).filter(|&index| self.needs(index)) {
            if !self.store_all {
                let LearnedBackwardBuffers { zeros, work, stored, .. } = buffers;
                self.forward_segment(frame, index, zeros, work, self.storage(index, stored));
            }
            self.segment(frame, index, buffers, grad_frame, sums);
        }
    }

    /// Adds the contribution of segment `index` to the gradients.
    fn segment(
        &self,
        frame: &[T],
        index: usize,
        buffers: &mut LearnedBackwardBuffers<'_, T>,
        grad_frame: &mut [T],
        sums: &mut LearnedSums<'_, T>,
    ) {
        let LearnedRows { model, schedule, .. } = &self.learned;
        let LearnedBackwardBuffers { zeros, work, grad, grad_sums, stored, .. } = buffers;
        let (of_power, of_products) = grad_sums.split_at(model.options.bins());
        let storage = &*self.storage(index, stored);
        let output = self.output(storage);
        // Gradient of the segment's weight.
        if let Some(sum) = sums.weights.get_mut(index) {
            let product = |k: usize, l: usize| (output.re[k] * output.re[l] + output.im[k] * output.im[l]).into();
            let of_squares = sum_by(of_power, |k, g| g.into() * product(k, k));
            *sum += T::of(of_squares + sum_by(of_products, |k, g| g.into() * product(k, k + 1)));
        }
        let weight = model.weights[index];
        if weight.is_zero() || !self.through_segments {
            return;
        }
        // Gradient of the transform's output, zero past the bins.
        let twice = T::of(2.0) * weight;
        let mut grad = SplitMut::of(grad);
        for (grad, output) in [(&mut *grad.re, output.re), (&mut *grad.im, output.im)] {
            let (lower, upper) = grad.split_at_mut(of_power.len());
            for ((grad, &g), &y) in lower.iter_mut().zip(of_power).zip(output) {
                *grad = twice * g * y;
            }
            for (k, &g) in of_products.iter().enumerate() {
                lower[k] += weight * g * output[k + 1];
                lower[k + 1] += weight * g * output[k];
            }
            upper.fill(T::zero());
        }
        // Backward through the transform, then through window and detrending.
        let (offset, rest) = storage.split_at(1);
        let (windowed, levels) = rest.split_at(schedule.n);
        let mut transform_sums = (!sums.transform.is_empty()).then(|| ScheduleSums::of(schedule, sums.transform));
        schedule.backward(Split { re: windowed, im: zeros }, levels, grad.reborrow(), work, transform_sums.as_mut());
        let start = index * model.options.hop;
        let grad_segment = grad_frame.get_mut(start..start + schedule.n).unwrap_or_default();
        let mut into = WindowedGradients { segment: grad_segment, window: sums.window };
        into.add(self.learned.segment(frame, index), offset[0], model.window, model.options.detrend, grad.re);
    }
}
