//! Bases of maxima: the higher of the lowest bins between a maximum and the nearest higher bin, or the end of the row,
//! on either side. The prominence of a maximum is its height above its base.

use crate::cpu::real::Real;

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
