//! Local maxima of a row, their conditions and their prominence, as `scipy.signal.find_peaks` defines them.

use crate::peaks::NO_BIN;

/// Conditions that maxima must meet, applied in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Least value.
    pub height: Option<f64>,
    /// Least distance between two maxima, in bins: the strongest are kept first.
    pub distance: usize,
    /// Least prominence.
    pub prominence: Option<f64>,
}

/// The `k` strongest maxima of every row, and the bases of their prominence: `values` \[rows, length\] → (bins \[rows,
/// k\], bins \[rows, k\]), strongest first, of equal maxima the lower bin first, −1 where there are fewer.
///
/// # Panics
/// If `values` is not whole rows of `length` values.
pub fn local_maxima(values: &[f64], length: usize, conditions: &Conditions, k: usize) -> (Vec<i64>, Vec<i64>) {
    assert_eq!(values.len() % length, 0, "local_maxima: not whole rows of {length} values");
    let (mut maxima, mut bases) = (Vec::new(), Vec::new());
    for row in values.chunks_exact(length) {
        let found = maxima_of_row(row, conditions);
        for rank in 0..k {
            maxima.push(found.get(rank).map_or(NO_BIN, |&bin| bin as i64));
            bases.push(found.get(rank).map_or(NO_BIN, |&bin| base(row, bin) as i64));
        }
    }
    (maxima, bases)
}

/// The maxima of a row that meet the conditions, strongest first.
fn maxima_of_row(row: &[f64], conditions: &Conditions) -> Vec<usize> {
    let mut maxima: Vec<usize> = (0..row.len()).filter(|&bin| row[bin].is_finite() && is_maximum(row, bin)).collect();
    if let Some(height) = conditions.height {
        maxima.retain(|&bin| row[bin] >= height);
    }
    maxima.sort_by(|&a, &b| row[b].partial_cmp(&row[a]).expect("finite").then(a.cmp(&b)));
    let mut kept: Vec<usize> = Vec::new();
    for bin in maxima {
        if kept.iter().all(|other| other.abs_diff(bin) >= conditions.distance) {
            kept.push(bin);
        }
    }
    if let Some(prominence) = conditions.prominence {
        kept.retain(|&bin| row[bin] - row[base(row, bin)] >= prominence);
    }
    kept
}

/// Whether a bin is the middle, rounded down, of equal bins with a lower one on both sides.
fn is_maximum(row: &[f64], bin: usize) -> bool {
    let start = (0..bin).rev().take_while(|&other| row[other] == row[bin]).last().unwrap_or(bin);
    let end = (bin + 1..row.len()).take_while(|&other| row[other] == row[bin]).last().unwrap_or(bin);
    let lower = |other: Option<usize>| other.and_then(|other| row.get(other)).is_some_and(|other| *other < row[bin]);
    bin == (start + end) / 2 && lower(start.checked_sub(1)) && lower(Some(end + 1))
}

/// The higher of the lowest bins on either side of a maximum, up to the nearest higher bin or the end of the row; of
/// equal bins the nearest, of equal sides the lower.
pub fn base(row: &[f64], bin: usize) -> usize {
    let lowest = |bins: Vec<usize>| {
        let near = bins.into_iter().take_while(|&other| row[other] <= row[bin]);
        near.fold(bin, |lowest, other| if row[other] < row[lowest] { other } else { lowest })
    };
    let (left, right) = (lowest((0..bin).rev().collect()), lowest((bin + 1..row.len()).collect()));
    if row[left] >= row[right] { left } else { right }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Conditions = Conditions { height: None, distance: 1, prominence: None };

    fn maxima(row: &[f64], conditions: &Conditions) -> Vec<usize> {
        maxima_of_row(row, conditions)
    }

    #[test]
    fn a_plateau_counts_once_at_its_middle_rounded_down() {
        assert_eq!(maxima(&[0.0, 2.0, 2.0, 2.0, 1.0, 3.0, 3.0, 0.0], &ANY), [5, 2]);
    }

    #[test]
    fn the_ends_are_no_maxima() {
        assert_eq!(maxima(&[3.0, 1.0, 2.0], &ANY), []);
        assert_eq!(maxima(&[1.0, 2.0, 2.0], &ANY), []);
        assert_eq!(maxima(&[2.0, 2.0, 1.0], &ANY), []);
    }

    #[test]
    fn conditions_apply_in_order() {
        let row = [0.0, 5.0, 1.0, 4.0, 3.9, 4.5, 0.0];
        assert_eq!(maxima(&row, &ANY), [1, 5, 3]);
        assert_eq!(maxima(&row, &Conditions { height: Some(4.5), ..ANY }), [1, 5]);
        // Bin 5 goes before bin 3, which is two bins away from it and from bin 1.
        assert_eq!(maxima(&row, &Conditions { distance: 3, ..ANY }), [1, 5]);
        assert_eq!(maxima(&row, &Conditions { prominence: Some(0.2), ..ANY }), [1, 5]);
    }

    #[test]
    fn a_base_is_the_higher_of_the_two_sides() {
        let row = [0.0, 5.0, 1.0, 4.0, 3.0, 6.0, 2.0];
        assert_eq!((base(&row, 1), base(&row, 3), base(&row, 5)), (2, 4, 6));
    }

    #[test]
    fn bins_that_are_not_finite_are_no_maxima_and_end_the_search_for_a_base() {
        let row = [0.0, f64::INFINITY, 1.0, 2.0, 1.5, f64::NAN, 0.0, 1.0, 0.0];
        assert_eq!(maxima(&row, &ANY), [3, 7]);
        assert_eq!((base(&row, 3), base(&row, 7)), (4, 6));
    }
}
