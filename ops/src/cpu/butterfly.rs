//! The gated butterfly transform of rows.

use super::network::{Network, Schedule};
use super::parallel::Tasks;
use super::real::Real;
use super::simd;
use super::split::{Split, SplitMut};
use crate::options::Direction;

/// Every row through the network, in natural order on both sides: `re`, `im` `[rows, n]` → `out_re`, `out_im`
/// `[rows, n]`.
pub fn butterfly<T: Real>(re: &[T], im: &[T], network: &Network<'_, T>, out_re: &mut [T], out_im: &mut [T]) {
    let n = network.n;
    let rows = re.len() / n;
    debug_assert_eq!(re.len(), rows * n);
    debug_assert!([im.len(), out_re.len(), out_im.len()] == [re.len(); 3]);
    if simd::network::takes(n)
        && let (Some(re), Some(im), Some(network)) = (T::as_f32(re), T::as_f32(im), network.as_f32())
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
    {
        if simd::takes(n)
            && let Some(direction) = simd::direction(&network)
        {
            // The inverse transform of z is the forward one of z with its parts exchanged, its parts exchanged.
            return match direction {
                Direction::Forward => simd::fourier(re, im, n, out_re, out_im),
                Direction::Inverse => simd::fourier(im, re, n, out_im, out_re),
            };
        }
        return simd::network::butterfly(re, im, &network, out_re, out_im);
    }
    let schedule = Schedule::new(network);
    let tasks = Tasks::independent(rows, schedule.work());
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
    tasks.run(pieces, |((re, im), (out_re, out_im))| {
        T::with_scratch(|scratch| {
            let work = scratch.real(4 * n);
            let inputs = re.chunks_exact(n).zip(im.chunks_exact(n));
            let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
            for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
                schedule.forward(Split { re, im }, work, SplitMut { re: out_re, im: out_im });
            }
        });
    });
}
