//! The discrete cosine transforms of types II and III as their sums, unnormalised as in SciPy.

use std::f64::consts::PI;

/// Type II of `row` \[n\]: y\[k\] = 2 Σ_j x\[j\]·cos(πk(2j + 1)/2n), \[n\].
pub fn dct_2(row: &[f64]) -> Vec<f64> {
    let n = row.len();
    (0..n).map(|k| row.iter().enumerate().map(|(j, x)| 2.0 * x * cosine(k, j, n)).sum()).collect()
}

/// Type III of `row` \[n\]: x\[j\] = y\[0\] + 2 Σ_k y\[k\]·cos(πk(2j + 1)/2n), k from 1, \[n\].
pub fn dct_3(row: &[f64]) -> Vec<f64> {
    let n = row.len();
    let term = |(k, y): (usize, &f64), j| if k == 0 { *y } else { 2.0 * y * cosine(k, j, n) };
    (0..n).map(|j| row.iter().enumerate().map(|value| term(value, j)).sum()).collect()
}

/// cos(πk(2j + 1)/2n), with the angle reduced in integers.
fn cosine(k: usize, j: usize, n: usize) -> f64 {
    let quarters = k * (2 * j + 1) % (4 * n);
    (PI * quarters as f64 / (2 * n) as f64).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_have_the_values_computed_by_hand() {
        let root = 0.5f64.sqrt();
        let [sum, difference] = <[f64; 2]>::try_from(dct_2(&[3.0, 1.0])).unwrap_or_default();
        assert!((sum - 8.0).abs() < 1e-14 && (difference - 4.0 * root).abs() < 1e-14);
        let [first, second] = <[f64; 2]>::try_from(dct_3(&[3.0, 1.0])).unwrap_or_default();
        assert!((first - 3.0 - 2.0 * root).abs() < 1e-14 && (second - 3.0 + 2.0 * root).abs() < 1e-14);
    }

    #[test]
    fn type_3_undoes_type_2_but_for_a_factor() {
        for n in [1, 2, 3, 8, 9] {
            let row: Vec<f64> = (0..n).map(|j| (j * j % 7) as f64 - 2.0).collect();
            let again = dct_3(&dct_2(&row));
            assert!(row.iter().zip(again).all(|(a, b)| (a - b / (2 * n) as f64).abs() < 1e-12));
        }
    }
}
