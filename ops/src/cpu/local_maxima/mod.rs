//! Local maxima of rows, as `scipy.signal.find_peaks` defines them.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

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

/// Buffers of a search, reused from row to row.
pub(super) struct RowSearch<'a, T: Real> {
    options: &'a LocalMaximaOptions,
    /// Bins of the maxima of a row, ascending; the contents past their number are unspecified.
    bins: Vec<u32>,
    /// Keys of the maxima that are left.
    keys: Vec<T::Key>,
    /// For each bin, whether a maximum that was kept is too close to it.
    covered: Vec<bool>,
    bases: Bases,
}

impl<'a, T: Real> RowSearch<'a, T> {
    /// Buffers for rows of `length` values.
    pub fn new(length: usize, options: &'a LocalMaximaOptions) -> Self {
        let if_used = |used: bool| if used { length } else { 0 };
        Self {
            options,
            bins: vec![0; length],
            keys: Vec::with_capacity(length / 2),
            covered: vec![false; if_used(options.separates())],
            bases: Bases::new(if_used(options.prominence.is_some())),
        }
    }

    /// Writes the strongest maxima of `row`, as many as the outputs are long, and their bases.
    pub fn search(&mut self, row: &[T], out_maxima: &mut [i64], out_bases: &mut [i64]) {
        let k = out_maxima.len();
        let count = self.find(row);
        self.keys.clear();
        self.keys.extend(self.bins[..count].iter().map(|&bin| row[bin as usize].key(bin as usize)));
        if self.options.separates() {
            self.separate();
        }
        if let Some(least) = self.options.prominence {
            self.bases.measure(row);
            // In double precision, as SciPy compares them.
            let prominence = |bin: usize| row[bin].into() - row[self.bases.of(row, bin)].into();
            self.keys.retain(|&key| prominence(bin_of::<T>(key)) >= least);
        }
        if k < self.keys.len() {
            self.keys.select_nth_unstable_by_key(k - 1, |&key| Reverse(key));
            self.keys.truncate(k);
        }
        self.keys.sort_unstable_by_key(|&key| Reverse(key));

        let found = self.keys.len();
        for ((&key, out_maximum), out_base) in self.keys.iter().zip(&mut *out_maxima).zip(&mut *out_bases) {
            let bin = bin_of::<T>(key);
            let base = if self.options.prominence.is_some() { self.bases.of(row, bin) } else { base(row, bin) };
            (*out_maximum, *out_base) = (bin as i64, base as i64);
        }
        out_maxima[found..].fill(-1);
        out_bases[found..].fill(-1);
    }

    /// Finds the finite maxima of a row that are high enough, ascending, and returns their number.
    fn find(&mut self, row: &[T]) -> usize {
        let height = self.options.height.unwrap_or(f64::NEG_INFINITY);
        let accepted = |value: T| value.is_finite() & (value.into() >= height);
        let mut count = 0;
        for (below, triple) in row.windows(3).enumerate() {
            let &[a, b, c] = triple else { unreachable!("windows of three") };
            if (a < b) & (b == c) {
                // A plateau: its last bin is the one before the first other value, which must be lower.
                let (start, others) = (below + 1, &row[below + 2..]);
                let end = start + others.iter().take_while(|&&value| value == b).count();
                if row.get(end + 1).is_some_and(|&next| next < b) && accepted(b) {
                    self.bins[count] = ((start + end) / 2) as u32;
                    count += 1;
                }
                continue;
            }
            // Without a branch, which noise would make unpredictable.
            self.bins[count] = below as u32 + 1;
            count += usize::from((a < b) & (c < b) & accepted(b));
        }
        count
    }

    /// Keeps the maxima that are far enough from every stronger one that is kept, strongest first.
    fn separate(&mut self) {
        let reach = self.options.distance - 1;
        self.keys.sort_unstable_by_key(|&key| Reverse(key));
        self.covered.fill(false);
        let covered = &mut self.covered;
        self.keys.retain(|&key| {
            let bin = bin_of::<T>(key);
            if covered[bin] {
                return false;
            }
            let end = bin.saturating_add(reach).min(covered.len() - 1);
            covered[bin.saturating_sub(reach)..=end].fill(true);
            true
        });
    }
}

/// The bin in the key of a maximum.
fn bin_of<T: Real>(key: T::Key) -> usize {
    T::key_bin(key).expect("a maximum is finite")
}

/// The base of one bin, by a search to both sides; of equal bins the nearest, of equal sides the lower.
pub(super) fn base<T: Real>(row: &[T], bin: usize) -> usize {
    let lowest = |bins: &mut dyn Iterator<Item = usize>| {
        bins.take_while(|&other| row[other] <= row[bin])
            .fold(bin, |lowest, other| if row[other] < row[lowest] { other } else { lowest })
    };
    higher(row, lowest(&mut (0..bin).rev()), lowest(&mut (bin + 1..row.len())))
}

/// The bases of every bin of a row, in time that is linear in its length.
pub(super) struct Bases {
    /// The lowest bin on each side, up to the nearest greater one.
    sides: [Vec<u32>; 2],
    /// Bins whose nearest greater bin has not been met, with the lowest bin before each.
    open: Vec<(u32, u32)>,
}

impl Bases {
    /// Buffers for rows of `length` values.
    pub fn new(length: usize) -> Self {
        Self { sides: [vec![0; length], vec![0; length]], open: Vec::with_capacity(length) }
    }

    /// Measures a row.
    pub fn measure<T: Real>(&mut self, row: &[T]) {
        let [left, right] = &mut self.sides;
        lowest_before(row, 0..row.len(), left, &mut self.open);
        lowest_before(row, (0..row.len()).rev(), right, &mut self.open);
    }

    /// The base of a bin of the row that was measured.
    pub fn of<T: Real>(&self, row: &[T], bin: usize) -> usize {
        let [left, right] = &self.sides;
        higher(row, left[bin] as usize, right[bin] as usize)
    }
}

fn higher<T: Real>(row: &[T], left: usize, right: usize) -> usize {
    if row[left] >= row[right] { left } else { right }
}

/// For each of `bins`, in order, the lowest bin between it and the nearest greater one before it.
fn lowest_before<T: Real>(
    row: &[T],
    bins: impl Iterator<Item = usize>,
    lowest: &mut [u32],
    open: &mut Vec<(u32, u32)>,
) {
    open.clear();
    for bin in bins {
        let mut base = bin as u32;
        // Bins on the stack that are not greater than this one can't be the nearest greater bin of any later bin.
        while let Some(&(before, lowest_before)) = open.last()
            && row[before as usize] <= row[bin]
        {
            if row[lowest_before as usize] < row[base as usize] {
                base = lowest_before;
            }
            open.pop();
        }
        lowest[bin] = base;
        open.push((bin as u32, base));
    }
}
