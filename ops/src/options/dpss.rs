//! Discrete prolate spheroidal sequences: of all sequences of n samples those with the largest shares of their energy
//! in a band, each orthogonal to those before it.
//!
//! They are the eigenvectors of the largest eigenvalues, which lie apart, of a symmetric tridiagonal matrix (D.
//! Slepian, "Prolate spheroidal wave functions, Fourier analysis, and uncertainty V", Bell Syst. Tech. J. 57, 1978).

use std::f64::consts::{PI, TAU};

/// Halvings of the interval that holds an eigenvalue, after which it is as narrow as rounding allows.
const BISECTIONS: usize = 120;

/// The sequence of `n` samples of this order, from 0, whose band is `nw` bins wide on either side, with an energy of 1,
/// and the share of it in the band. Even orders are symmetric with a positive sum, odd ones begin with a positive lobe.
pub(crate) fn prolate_sequence(n: usize, nw: f64, order: usize) -> (Vec<f64>, f64) {
    let cos = (TAU * nw / n as f64).cos();
    // The diagonal of the matrix, and the elements beside it: both read the same from either end.
    let diagonal = |j: usize| (0.5 * (n as f64 - 1.0) - j as f64).powi(2) * cos;
    let beside = |j: usize| 0.5 * j as f64 * (n - j) as f64;
    // All eigenvalues are in Gershgorin's circles. What rounding leaves of the largest stands for a pivot of 0.
    let largest = (0..n).map(|j| diagonal(j).abs() + beside(j) + beside(j + 1)).fold(0.0, f64::max);
    let least = f64::EPSILON * f64::max(largest, 1.0);
    // Pivots of the matrix less a value, from the first row on.
    let pivots = |value: f64| {
        (0..n).scan(1.0, move |pivot, j| {
            *pivot = diagonal(j) - value - beside(j) * beside(j) / *pivot;
            if *pivot == 0.0 {
                *pivot = -least;
            }
            Some(*pivot)
        })
    };
    // As many eigenvalues are below a value as pivots are negative (Sturm's sequence).
    let (mut low, mut high) = (-largest, largest);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if pivots(middle).filter(|pivot| *pivot < 0.0).count() > n - 1 - order { high = middle } else { low = middle }
    }
    let value = 0.5 * (low + high);
    // The eigenvector by elimination from both ends to the row where they leave least (B. N. Parlett and I. S. Dhillon,
    // "Fernando's solution to Wilkinson's problem", Linear Algebra Appl. 267, 1997).
    let pivots: Vec<f64> = pivots(value).collect();
    let left = |j: usize| pivots[j] + pivots[n - 1 - j] - (diagonal(j) - value);
    let twist = (0..n).fold(0, |twist, j| if left(j).abs() < left(twist).abs() { j } else { twist });
    let mut rough = vec![1.0; n];
    (0..twist).rev().for_each(|j| rough[j] = -beside(j + 1) / pivots[j] * rough[j + 1]);
    (twist + 1..n).for_each(|j| rough[j] = -beside(j) / pivots[n - 1 - j] * rough[j - 1]);
    // A step of inverse iteration by the same elimination takes a digit of rounding away.
    (0..twist).for_each(|j| rough[j + 1] -= beside(j + 1) / pivots[j] * rough[j]);
    (twist + 1..n).rev().for_each(|j| rough[j - 1] -= beside(j) / pivots[n - 1 - j] * rough[j]);
    rough[twist] /= if left(twist) == 0.0 { least } else { left(twist) };
    (0..twist).rev().for_each(|j| rough[j] = (rough[j] - beside(j + 1) * rough[j + 1]) / pivots[j]);
    (twist + 1..n).for_each(|j| rough[j] = (rough[j] - beside(j) * rough[j - 1]) / pivots[n - 1 - j]);

    let mirrored = if order.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut vector: Vec<f64> = (0..n).map(|j| rough[j] + mirrored * rough[n - 1 - j]).collect();
    let norm = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    // The first lobe begins where the sequence leaves the range of rounding.
    let threshold = (1.0 / n as f64).max(1e-7);
    let lobe = vector.iter().find(|value| (*value / norm).powi(2) > threshold).unwrap_or(&1.0);
    let sign = if mirrored > 0.0 { vector.iter().sum::<f64>() } else { *lobe };
    vector.iter_mut().for_each(|value| *value /= norm * sign.signum());
    // It is an eigenvector of the matrix sin(2 pi (i − j) nw / n) / (pi (i − j)), too: by the row of its largest value.
    let peak = (0..n).fold(0, |peak, j| if vector[j].abs() > vector[peak].abs() { j } else { peak });
    let half_band = nw / n as f64;
    let terms = (0..n).filter(|j| *j != peak).map(|j| {
        let apart = j as f64 - peak as f64;
        vector[j] * (TAU * half_band * apart).sin() / (PI * apart)
    });
    let share = 2.0 * half_band + terms.sum::<f64>() / vector[peak];
    (vector, share.min(1.0))
}
