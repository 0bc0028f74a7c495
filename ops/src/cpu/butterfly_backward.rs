//! Gradients of the gated butterfly transform.

use super::network::{Network, Schedule, ScheduleSums};
use super::parallel::{Tasks, optional_chunks};
use super::real::Real;
use super::reduction::sum_blocks;
use super::scratch::take;
use super::simd;
use super::split::{Split, SplitMut};

/// The gradients [`butterfly_backward`] overwrites, each if given.
#[derive(Debug, Default)]
pub struct ButterflyGradients<'a, T> {
    /// Of the input's real parts, `[rows, n]`.
    pub re: Option<&'a mut [T]>,
    /// Of the input's imaginary parts, `[rows, n]`.
    pub im: Option<&'a mut [T]>,
    /// Of the twiddles, `[log2 n, n / 2, 2]`.
    pub twiddles: Option<&'a mut [T]>,
    /// Of the gates, `[log2 n, n / 2]`; only for a network that has gates.
    pub gates: Option<&'a mut [T]>,
}

impl<'a, T: Real> ButterflyGradients<'a, T> {
    /// The same gradients, which are of f32; none of them if not.
    fn into_f32(self) -> ButterflyGradients<'a, f32> {
        let f32 = |gradient: Option<&'a mut [T]>| gradient.and_then(T::as_f32_mut);
        ButterflyGradients { re: f32(self.re), im: f32(self.im), twiddles: f32(self.twiddles), gates: f32(self.gates) }
    }
}

/// Gradients of [`butterfly`](super::butterfly()) for `grad_re`, `grad_im` `[rows, n]`, the gradients of its outputs.
///
/// The stages of a row are computed anew. A row whose gradients are 0 throughout gives 0, also if its values are
/// not finite.
pub fn butterfly_backward<T: Real>(
    re: &[T],
    im: &[T],
    network: &Network<'_, T>,
    grad_re: &[T],
    grad_im: &[T],
    gradients: ButterflyGradients<'_, T>,
) {
    let n = network.n;
    let rows = re.len() / n;
    debug_assert_eq!(re.len(), rows * n);
    debug_assert!([im.len(), grad_re.len(), grad_im.len()] == [re.len(); 3]);
    debug_assert!(gradients.gates.is_none() || network.gates.is_some());
    if simd::network::takes(n)
        && let (Some(re), Some(im), Some(network)) = (T::as_f32(re), T::as_f32(im), network.as_f32())
        && let (Some(grad_re), Some(grad_im)) = (T::as_f32(grad_re), T::as_f32(grad_im))
    {
        return simd::network::butterfly_backward(re, im, &network, grad_re, grad_im, gradients.into_f32());
    }
    let schedule = Schedule::new(network);
    let weights_wanted = gradients.twiddles.is_some() || gradients.gates.is_some();
    let partial = if weights_wanted { schedule.sums_len() } else { 0 };
    let tasks = Tasks::reduction(rows, 4 * schedule.work(), partial);
    let mut partials = vec![T::zero(); partial * tasks.count.max(1)];
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len)))
        .zip(grad_re.chunks(len).zip(grad_im.chunks(len)))
        .zip(optional_chunks(gradients.re, len).zip(optional_chunks(gradients.im, len)))
        .zip(optional_chunks(weights_wanted.then_some(&mut partials[..]), partial.max(1)));
    tasks.run(pieces, |(((input, grad), (into_re, into_im)), sums)| {
        let mut sums = sums.map(|sums| ScheduleSums::of(&schedule, sums));
        let rows = (input.0.chunks_exact(n).zip(input.1.chunks_exact(n)))
            .zip(grad.0.chunks_exact(n).zip(grad.1.chunks_exact(n)))
            .zip(optional_chunks(into_re, n).zip(optional_chunks(into_im, n)));
        T::with_scratch(|scratch| {
            let levels_len = if weights_wanted { schedule.levels_len() } else { 0 };
            let mut buffer = scratch.real(levels_len + 4 * n);
            let levels = take(&mut buffer, levels_len);
            let work = take(&mut buffer, 2 * n);
            let mut grad = SplitMut::of(buffer);
            for (((re, im), (grad_re, grad_im)), (into_re, into_im)) in rows {
                grad.re.copy_from_slice(grad_re);
                grad.im.copy_from_slice(grad_im);
                if !grad_re.iter().chain(grad_im).all(T::is_zero) {
                    let input = Split { re, im };
                    if weights_wanted {
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
    if weights_wanted {
        schedule.write_gradients(sum_blocks(&mut partials, partial), gradients.twiddles, gradients.gates);
    }
}
