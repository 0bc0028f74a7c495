//! The four windows, from their cosine sums.

use std::f64::consts::TAU;

/// A window's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowShape {
    /// 0.5 − 0.5·cos θ.
    Hann,
    /// 0.54 − 0.46·cos θ.
    Hamming,
    /// 0.42 − 0.5·cos θ + 0.08·cos 2θ.
    Blackman,
    /// 1.
    Rectangular,
}

/// Period of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// θ = 2πj/n: the sample after the last equals the first, for spectral analysis.
    Periodic,
    /// θ = 2πj/(n−1): the last sample equals the first, for filter design.
    Symmetric,
}

/// The `n` values of a window: \[n\].
///
/// # Panics
/// If `n` is below 2.
pub fn window(shape: WindowShape, symmetry: Symmetry, n: usize) -> Vec<f64> {
    assert!(n >= 2, "window: n = {n}, it must be at least 2");
    let period = match symmetry {
        Symmetry::Periodic => n,
        Symmetry::Symmetric => n - 1,
    };
    (0..n)
        .map(|j| {
            let theta = TAU * j as f64 / period as f64;
            match shape {
                WindowShape::Hann => 0.5 - 0.5 * theta.cos(),
                WindowShape::Hamming => 0.54 - 0.46 * theta.cos(),
                WindowShape::Blackman => 0.42 - 0.5 * theta.cos() + 0.08 * (2.0 * theta).cos(),
                WindowShape::Rectangular => 1.0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: &[f64], expected: &[f64]) {
        assert_eq!(actual.len(), expected.len());
        for (j, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!((a - e).abs() <= 1e-15, "sample {j}: {a} is not {e}");
        }
    }

    #[test]
    fn periodic_windows_of_four() {
        // θ = 0, π/2, π, 3π/2.
        let periodic = |shape| window(shape, Symmetry::Periodic, 4);
        assert_close(&periodic(WindowShape::Hann), &[0.0, 0.5, 1.0, 0.5]);
        assert_close(&periodic(WindowShape::Hamming), &[0.08, 0.54, 1.0, 0.54]);
        assert_close(&periodic(WindowShape::Blackman), &[0.0, 0.34, 1.0, 0.34]);
        assert_close(&periodic(WindowShape::Rectangular), &[1.0; 4]);
    }

    #[test]
    fn symmetric_windows_of_five_close_the_period() {
        let symmetric = |shape| window(shape, Symmetry::Symmetric, 5);
        assert_close(&symmetric(WindowShape::Hann), &[0.0, 0.5, 1.0, 0.5, 0.0]);
        assert_close(&symmetric(WindowShape::Hamming), &[0.08, 0.54, 1.0, 0.54, 0.08]);
        assert_close(&symmetric(WindowShape::Blackman), &[0.0, 0.34, 1.0, 0.34, 0.0]);
        assert_close(&symmetric(WindowShape::Rectangular), &[1.0; 5]);
    }
}
