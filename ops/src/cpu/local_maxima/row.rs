//! Search of one row: maxima, conditions, selection of the strongest.

use std::cmp::Reverse;

use crate::cpu::local_maxima::prominence::{Bases, base};
use crate::cpu::real::Real;
use crate::options::LocalMaximaOptions;

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
