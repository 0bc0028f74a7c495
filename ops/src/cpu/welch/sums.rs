//! Sums of neighbouring samples, which an estimate may be of.

use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;

/// Sums of 2^`halvings` neighbouring samples, as many as `sums` has room for: in pairs, and the pairs in pairs.
fn sums_of_samples<T: Real>(samples: &[T], halvings: usize, sums: &mut [T]) {
    match halvings {
        1 => {
            for (sum, &[a, b]) in sums.iter_mut().zip(samples.as_chunks::<2>().0) {
                *sum = a + b;
            }
        }
        2 => {
            for (sum, &[a, b, c, d]) in sums.iter_mut().zip(samples.as_chunks::<4>().0) {
                *sum = (a + b) + (c + d);
            }
        }
        _ => {
            for (sum, &[a, b, c, d, e, f, g, h]) in sums.iter_mut().zip(samples.as_chunks::<8>().0) {
                *sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
            }
        }
    }
}

/// The sums of every row of `frame_len` samples, and their number in a row: for engines that take samples as they are.
pub(in crate::cpu) fn sums_of_rows<T: Real>(signal: &[T], frame_len: usize, halvings: usize) -> (Vec<T>, usize) {
    let of_row = frame_len >> halvings;
    let rows = signal.len() / frame_len;
    let mut sums = vec![T::zero(); rows * of_row];
    let tasks = Tasks::independent(rows, frame_len);
    let pieces = sums.chunks_mut(tasks.rows * of_row).zip(signal.chunks(tasks.rows * frame_len));
    tasks.run(pieces, |(sums, signal)| {
        for (sums, samples) in sums.chunks_exact_mut(of_row).zip(signal.chunks_exact(frame_len)) {
            sums_of_samples(samples, halvings, sums);
        }
    });
    (sums, of_row)
}
