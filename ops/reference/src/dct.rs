//! The discrete cosine and sine transforms of types I to IV as their sums, unnormalised as in SciPy.

use std::f64::consts::PI;

/// Cosine transform of type `kind`, 1 to 4, of `row` \[n\]: y\[k\] = Σ_j weight·x\[j\]·cos(π·angle), \[n\].
pub fn dct(kind: usize, row: &[f64]) -> Vec<f64> {
    let n = row.len();
    sums(row, f64::cos, |k, j| match kind {
        1 => (if j == 0 || j == n - 1 { 1.0 } else { 2.0 }, j * k, n - 1),
        2 => (2.0, k * (2 * j + 1), 2 * n),
        3 => (if j == 0 { 1.0 } else { 2.0 }, j * (2 * k + 1), 2 * n),
        _ => (2.0, (2 * j + 1) * (2 * k + 1), 4 * n),
    })
}

/// Sine transform of type `kind`, 1 to 4, of `row` \[n\]: y\[k\] = Σ_j weight·x\[j\]·sin(π·angle), \[n\].
pub fn dst(kind: usize, row: &[f64]) -> Vec<f64> {
    let n = row.len();
    sums(row, f64::sin, |k, j| match kind {
        1 => (2.0, (j + 1) * (k + 1), n + 1),
        2 => (2.0, (k + 1) * (2 * j + 1), 2 * n),
        3 => (if j == n - 1 { 1.0 } else { 2.0 }, (j + 1) * (2 * k + 1), 2 * n),
        _ => (2.0, (2 * j + 1) * (2 * k + 1), 4 * n),
    })
}

/// The sums, of which `entry` is weight, numerator and denominator of the angle, which is reduced in integers.
fn sums(row: &[f64], wave: fn(f64) -> f64, entry: impl Fn(usize, usize) -> (f64, usize, usize)) -> Vec<f64> {
    let term = |k, j, x: f64| {
        let (weight, numerator, denominator) = entry(k, j);
        weight * x * wave(PI * (numerator % (2 * denominator)) as f64 / denominator as f64)
    };
    (0..row.len()).map(|k| row.iter().enumerate().map(|(j, &x)| term(k, j, x)).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_have_the_values_computed_by_hand() {
        let root = 0.5f64.sqrt();
        let [sum, difference] = <[f64; 2]>::try_from(dct(2, &[3.0, 1.0])).unwrap_or_default();
        assert!((sum - 8.0).abs() < 1e-14 && (difference - 4.0 * root).abs() < 1e-14);
        let [first, second] = <[f64; 2]>::try_from(dct(3, &[3.0, 1.0])).unwrap_or_default();
        assert!((first - 3.0 - 2.0 * root).abs() < 1e-14 && (second - 3.0 + 2.0 * root).abs() < 1e-14);
    }

    #[test]
    fn inverse_types_undo_each_other_but_for_a_factor() {
        for (n, row) in [(2, vec![3.0, -1.0]), (5, vec![1.0, 4.0, -2.0, 0.5, 3.0])] {
            for (kind, inverse) in [(1, 1), (2, 3), (3, 2), (4, 4)] {
                let (cosines, sines) = if kind == 1 { (2 * n - 2, 2 * n + 2) } else { (2 * n, 2 * n) };
                let [again, other] = [dct(inverse, &dct(kind, &row)), dst(inverse, &dst(kind, &row))];
                assert!(row.iter().zip(again).all(|(a, b)| (a - b / cosines as f64).abs() < 1e-12), "{kind}");
                assert!(row.iter().zip(other).all(|(a, b)| (a - b / sines as f64).abs() < 1e-12), "{kind}");
            }
        }
    }

    #[test]
    fn type_3_undoes_type_2_but_for_a_factor() {
        for n in [1, 2, 3, 8, 9] {
            let row: Vec<f64> = (0..n).map(|j| (j * j % 7) as f64 - 2.0).collect();
            let again = dct(3, &dct(2, &row));
            assert!(row.iter().zip(again).all(|(a, b)| (a - b / (2 * n) as f64).abs() < 1e-12));
        }
    }
}
