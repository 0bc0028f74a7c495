//! The strongest bins of spectra that are in host memory.

/// The `k` strongest bins of each row of `power`, `bins` bins a row, by the contract of `welch_peaks`: strongest first,
/// the lower of equal bins first, and (−1, NaN) where a row has too few finite bins.
pub fn host_peaks(power: &[f32], bins: usize, k: usize) -> (Vec<i64>, Vec<f32>) {
    let rows = power.len() / bins;
    let (mut places, mut values) = (vec![-1; rows * k], vec![f32::NAN; rows * k]);
    let mut order: Vec<usize> = Vec::with_capacity(bins);
    let outputs = places.chunks_exact_mut(k).zip(values.chunks_exact_mut(k));
    for (row, (places, values)) in power.chunks_exact(bins).zip(outputs) {
        let stronger = |a: &usize, b: &usize| row[*b].total_cmp(&row[*a]).then(a.cmp(b));
        order.clear();
        order.extend((0..bins).filter(|bin| row[*bin].is_finite()));
        let found = k.min(order.len());
        if found < order.len() {
            order.select_nth_unstable_by(found, stronger);
        }
        order[..found].sort_unstable_by(stronger);
        for (rank, &bin) in order[..found].iter().enumerate() {
            places[rank] = bin as i64;
            values[rank] = row[bin];
        }
    }
    (places, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_rows_that_are_short_of_finite_bins_follow_the_contract() {
        let power = [1.0, 3.0, 3.0, f32::INFINITY, 2.0, f32::NAN, f32::NAN, 5.0, f32::NAN, f32::NAN];
        let (bins, values) = host_peaks(&power, 5, 3);
        assert_eq!(bins, [1, 2, 4, 2, -1, -1]);
        assert_eq!(values[..4], [3.0, 3.0, 2.0, 5.0]);
        assert!(values[4..].iter().all(|value| value.is_nan()));
        assert_eq!(host_peaks(&[2.0, 1.0], 2, 2), (vec![0, 1], vec![2.0, 1.0]));
    }
}
