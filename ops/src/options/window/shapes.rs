//! Windows that are not a short cosine sum, by their formulas over symmetric lengths.

use std::f64::consts::PI;

/// Kaiser window: I₀(β √(1 − r²)) / I₀(β), r from −1 to 1. J. F. Kaiser and R. W. Schafer, "On the use of the I₀-sinh
/// window for spectrum analysis", IEEE Trans. Acoust. Speech Signal Process. 28 (1980).
pub(super) fn kaiser(n: usize, beta: f64) -> Vec<f64> {
    let middle = 0.5 * (n - 1) as f64;
    let at = |j: usize| bessel_i0(beta * (1.0 - ((j as f64 - middle) / middle).powi(2)).max(0.0).sqrt());
    (0..n).map(|j| at(j) / bessel_i0(beta)).collect()
}

/// The modified Bessel function of the first kind and order 0, by its power series Σ (x/2)^2k / k!².
fn bessel_i0(x: f64) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > sum * 1e-17 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

/// Gaussian window of standard deviation `std`, in samples.
pub(super) fn gaussian(n: usize, std: f64) -> Vec<f64> {
    let middle = 0.5 * (n - 1) as f64;
    (0..n).map(|j| (-0.5 * ((j as f64 - middle) / std).powi(2)).exp()).collect()
}

/// Tukey window: ones between two halves of a Hann window, which take the share `alpha` of the length. J. W. Tukey, "An
/// introduction to the calculations of numerical spectrum analysis" (1967).
pub(super) fn tukey(n: usize, alpha: f64) -> Vec<f64> {
    let taper = 0.5 * alpha * (n - 1) as f64;
    let at = |j: usize| {
        let from_end = j.min(n - 1 - j) as f64;
        if from_end < taper { 0.5 - 0.5 * (PI * from_end / taper).cos() } else { 1.0 }
    };
    (0..n).map(at).collect()
}
