//! Gradients of the gated butterfly transform in plain loops.

use crate::cpu::butterfly::arguments::{ButterflyGradients, ButterflyTransform};
use crate::cpu::real::Real;
use crate::cpu::runtime::reduction::sum_blocks;
use crate::cpu::runtime::scratch::take;
use crate::cpu::runtime::tasks::{Tasks, optional_chunks};
use crate::cpu::scalar::butterfly::{Schedule, ScheduleSums};
use crate::cpu::scalar::split::{Split, SplitMut};

/// As [`butterfly_backward`](crate::cpu::butterfly_backward()).
pub(in crate::cpu) fn butterfly_backward<T: Real>(
    re: &[T],
    im: &[T],
    transform: &ButterflyTransform<'_, T>,
    grad_re: &[T],
    grad_im: &[T],
    gradients: ButterflyGradients<'_, T>,
) {
    let n = transform.n;
    let rows = re.len() / n;
    let schedule = Schedule::new(transform);
    // One partial sum of the weights' gradients per block of rows, so that the order of sums follows from shapes.
    let with_weights = gradients.twiddles.is_some() || gradients.gates.is_some();
    let partial = if with_weights { schedule.sums_len() } else { 0 };
    let tasks = Tasks::reduction(rows, 4 * schedule.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len)))
        .zip(grad_re.chunks(len).zip(grad_im.chunks(len)))
        .zip(optional_chunks(gradients.re, len).zip(optional_chunks(gradients.im, len)))
        .zip(optional_chunks(with_weights.then_some(&mut partials[..]), partial.max(1)));
    tasks.run(pieces, |(((input, grad), (into_re, into_im)), sums)| {
        let mut sums = sums.map(|sums| ScheduleSums::of(&schedule, sums));
        let rows = (input.0.chunks_exact(n).zip(input.1.chunks_exact(n)))
            .zip(grad.0.chunks_exact(n).zip(grad.1.chunks_exact(n)))
            .zip(optional_chunks(into_re, n).zip(optional_chunks(into_im, n)));
        T::with_scratch(|scratch| {
            let levels_len = if with_weights { schedule.levels_len() } else { 0 };
            let mut buffer = scratch.real(levels_len + 4 * n);
            let levels = take(&mut buffer, levels_len);
            let work = take(&mut buffer, 2 * n);
            let mut grad = SplitMut::of(buffer);
            for (((re, im), (grad_re, grad_im)), (into_re, into_im)) in rows {
                // The gradient goes through the stages in place; a row of zeros stays as it is.
                grad.re.copy_from_slice(grad_re);
                grad.im.copy_from_slice(grad_im);
                if !grad_re.iter().chain(grad_im).all(T::is_zero) {
                    let input = Split { re, im };
                    // Gradients of weights need the inputs of every stage.
                    if with_weights {
                        schedule.forward_levels(input, levels, work);
                    }
                    schedule.backward(input, levels, grad.reborrow(), work, sums.as_mut());
                }
                for (into, grad) in [(into_re, &*grad.re), (into_im, &*grad.im)] {
                    if let Some(into) = into {
                        into.copy_from_slice(grad);
                    }
                }
            }
        });
    });
    if with_weights {
        schedule.write_gradients(sum_blocks(&mut partials, partial), gradients.twiddles, gradients.gates);
    }
}
