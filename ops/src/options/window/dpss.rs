//! Discrete prolate spheroidal sequence of order 0: of all sequences of n samples the one with the largest share of its
//! energy in a band.
//!
//! D. Slepian, "Prolate spheroidal wave functions, Fourier analysis, and uncertainty V", Bell Syst. Tech. J. 57 (1978):
//! it is the eigenvector of the largest eigenvalue of a symmetric tridiagonal matrix.

use std::f64::consts::TAU;

/// Halvings of the interval that holds the eigenvalue, after which it is as narrow as rounding allows.
const BISECTIONS: usize = 120;
/// Steps of inverse iteration; the eigenvalues of this matrix lie apart, so that one or two are enough.
const ITERATIONS: usize = 4;

/// The sequence of `n` samples whose band is `nw` bins wide on either side, scaled as SciPy's `dpss(n, nw)`: its
/// maximum is 1, or, with an even length, what the maximum between the two samples in the middle would make of them.
pub(super) fn dpss(n: usize, nw: f64) -> Vec<f64> {
    let matrix = Tridiagonal::of(n, nw);
    let mut vector = matrix.eigenvector(matrix.largest_eigenvalue());
    let peak = vector.iter().fold(0.0, |peak: f64, value| if value.abs() > peak.abs() { *value } else { peak });
    let squared = (n * n) as f64;
    let between = if n.is_multiple_of(2) { squared / (squared + nw) } else { 1.0 };
    vector.iter_mut().for_each(|value| *value *= between / peak);
    // The exact sequence is symmetric.
    for j in 0..n / 2 {
        let mean = 0.5 * (vector[j] + vector[n - 1 - j]);
        (vector[j], vector[n - 1 - j]) = (mean, mean);
    }
    vector
}

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Elements beside the diagonal.
    beside: Vec<f64>,
}

impl Tridiagonal {
    /// The matrix that commutes with the one of the energy in the band.
    fn of(n: usize, nw: f64) -> Self {
        let cos = (TAU * nw / n as f64).cos();
        let diagonal = (0..n).map(|j| (0.5 * (n as f64 - 1.0) - j as f64).powi(2) * cos).collect();
        let beside = (1..n).map(|j| 0.5 * j as f64 * (n - j) as f64).collect();
        Self { diagonal, beside }
    }

    /// The largest eigenvalue, by bisection of the interval that Gershgorin's circles give.
    fn largest_eigenvalue(&self) -> f64 {
        let n = self.diagonal.len();
        let beside = |j: usize| self.beside.get(j).copied().unwrap_or(0.0);
        let bound = |j: usize| beside(j) + if j > 0 { beside(j - 1) } else { 0.0 };
        let mut low = (0..n).fold(f64::INFINITY, |low, j| low.min(self.diagonal[j] - bound(j)));
        let mut high = (0..n).fold(f64::NEG_INFINITY, |high, j| high.max(self.diagonal[j] + bound(j)));
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if self.eigenvalues_below(middle) == n {
                high = middle;
            } else {
                low = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Number of eigenvalues below `value`: of negative pivots of the matrix less `value` (Sturm's sequence).
    fn eigenvalues_below(&self, value: f64) -> usize {
        let mut pivot = 1.0;
        let mut count = 0;
        for (j, diagonal) in self.diagonal.iter().enumerate() {
            let beside = if j > 0 { self.beside[j - 1] } else { 0.0 };
            pivot = diagonal - value - beside * beside / pivot;
            if pivot == 0.0 {
                pivot = -f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
        }
        count
    }

    /// The eigenvector of `eigenvalue`, by inverse iteration from ones, to which this symmetric vector is not
    /// orthogonal.
    fn eigenvector(&self, eigenvalue: f64) -> Vec<f64> {
        let n = self.diagonal.len();
        // Just above the largest eigenvalue the matrix is definite, and elimination needs no pivoting.
        let shift = eigenvalue + 1e-13 * eigenvalue.abs().max(1.0);
        let mut pivots = Vec::with_capacity(n);
        for (j, diagonal) in self.diagonal.iter().enumerate() {
            let eliminated = if j > 0 { self.beside[j - 1].powi(2) / pivots[j - 1] } else { 0.0 };
            pivots.push(diagonal - shift - eliminated);
        }
        let mut vector = vec![1.0; n];
        for _ in 0..ITERATIONS {
            for j in 1..n {
                vector[j] -= self.beside[j - 1] / pivots[j - 1] * vector[j - 1];
            }
            vector[n - 1] /= pivots[n - 1];
            for j in (0..n - 1).rev() {
                vector[j] = (vector[j] - self.beside[j] * vector[j + 1]) / pivots[j];
            }
            let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|value| *value /= norm);
        }
        vector
    }
}
