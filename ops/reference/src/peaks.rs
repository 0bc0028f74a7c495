//! The K strongest bins of a row, by sorting all of them.

use std::cmp::Ordering;

/// Bin index that stands for "no peak".
pub const NO_BIN: i64 = -1;

/// Peaks of every row: `power` \[rows, bins\] → (bins \[rows, k\], power \[rows, k\]).
///
/// Strongest first; equal power: the lower bin first (0 and −0 are equal). Non-finite power is never
/// selected; a row with fewer than `k` finite bins ends in (−1, NaN).
///
/// # Panics
/// If `power` is not whole rows of `bins` values, or `k` is not from 1 to `bins`.
pub fn top_k(power: &[f64], bins: usize, k: usize) -> (Vec<i64>, Vec<f64>) {
    assert!((1..=bins).contains(&k), "top_k: k = {k} is not from 1 to {bins}");
    assert_eq!(power.len() % bins, 0, "top_k: not whole rows of {bins} bins");
    let mut peak_bins = Vec::with_capacity(power.len() / bins * k);
    let mut peak_power = Vec::with_capacity(power.len() / bins * k);
    for row in power.chunks_exact(bins) {
        let mut order: Vec<usize> = (0..bins).filter(|&bin| row[bin].is_finite()).collect();
        order.sort_by(|&a, &b| {
            let falling_power = row[b].partial_cmp(&row[a]).unwrap_or(Ordering::Equal);
            falling_power.then(a.cmp(&b))
        });
        for rank in 0..k {
            match order.get(rank) {
                Some(&bin) => {
                    peak_bins.push(bin as i64);
                    peak_power.push(row[bin]);
                }
                None => {
                    peak_bins.push(NO_BIN);
                    peak_power.push(f64::NAN);
                }
            }
        }
    }
    (peak_bins, peak_power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongest_first() {
        let (bins, power) = top_k(&[1.0, 5.0, 3.0, 4.0, 2.0], 5, 3);
        assert_eq!(bins, [1, 3, 2]);
        assert_eq!(power, [5.0, 4.0, 3.0]);
    }

    #[test]
    fn ties_go_to_the_lower_bin() {
        assert_eq!(top_k(&[2.0, 7.0, 2.0, 7.0, 2.0], 5, 4).0, [1, 3, 0, 2]);
        assert_eq!(top_k(&[-0.0, 0.0, -0.0], 3, 3).0, [0, 1, 2]);
    }

    #[test]
    fn non_finite_power_is_never_selected() {
        let (bins, power) = top_k(&[f64::NAN, 1.0, f64::INFINITY, 2.0, f64::NEG_INFINITY], 5, 4);
        assert_eq!(bins, [3, 1, NO_BIN, NO_BIN]);
        assert_eq!(power[..2], [2.0, 1.0]);
        assert!(power[2..].iter().all(|p| p.is_nan()));
    }

    #[test]
    fn a_spoilt_row_leaves_the_next_alone() {
        let (bins, power) = top_k(&[f64::NAN, f64::NAN, 3.0, 4.0], 2, 1);
        assert_eq!(bins, [NO_BIN, 1]);
        assert!(power[0].is_nan());
        assert_eq!(power[1], 4.0);
    }

    #[test]
    fn k_may_be_every_bin() {
        assert_eq!(top_k(&[0.0, 1.0, 2.0], 3, 3).0, [2, 1, 0]);
    }
}
