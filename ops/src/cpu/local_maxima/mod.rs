//! Local maxima of rows, as `scipy.signal.find_peaks` defines them.

mod prominence;
mod row;
#[cfg(test)]
mod tests;

use self::row::RowSearch;
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::LocalMaximaOptions;

/// The `k` strongest local maxima of each row of `length` values that meet the options: `values` `[rows, length]` →
/// their bins, strongest first, and the bins of the bases that their prominence is measured from, `[rows, k]` both.
/// Where there are fewer, the rest is −1.
pub fn local_maxima<T: Real>(
    values: &[T],
    length: usize,
    options: &LocalMaximaOptions,
    k: usize,
    out_maxima: &mut [i64],
    out_bases: &mut [i64],
) {
    let rows = values.len() / length;
    debug_assert_eq!((out_maxima.len(), out_bases.len()), (rows * k, rows * k));
    let tasks = Tasks::independent(rows, work(length, options));
    let pieces = values
        .chunks(tasks.rows * length)
        .zip(out_maxima.chunks_mut(tasks.rows * k))
        .zip(out_bases.chunks_mut(tasks.rows * k));
    tasks.run(pieces, |((values, out_maxima), out_bases)| {
        let mut search = RowSearch::new(length, options);
        let outputs = out_maxima.chunks_exact_mut(k).zip(out_bases.chunks_exact_mut(k));
        for (row, (out_maxima, out_bases)) in values.chunks_exact(length).zip(outputs) {
            search.search(row, out_maxima, out_bases);
        }
    });
}

/// Work of a row, in the unit of [`Tasks`].
fn work(length: usize, options: &LocalMaximaOptions) -> usize {
    let (separation, prominence) = (usize::from(options.separates()), usize::from(options.prominence.is_some()));
    length * (2 + 4 * separation + 8 * prominence)
}
