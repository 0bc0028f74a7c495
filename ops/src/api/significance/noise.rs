//! Distribution of the power of noise over its floor, where both are estimates.

use std::f64::consts::PI;

use rustfft::num_complex::Complex;

/// Distributions of the power of a bin of white Gaussian noise, over its mean, and of the median of bins beside it.
///
/// Power is a sum of exponential variables, with the eigenvalues of the segments' covariance as scales. The probability
/// of less than the median of M bins has a Beta distribution of twice (M + 1) / 2; correlation of bins reduces M.
#[derive(Debug, Clone)]
pub(super) struct NoiseModel {
    step: f64,
    /// By the logarithm of power: logarithm of the probability of more, probability that a bin of more has a next one
    /// of less, and probability of the median. Then the mean of the median.
    table: Vec<[f64; 3]>,
    pub mean_median: f64,
}

impl NoiseModel {
    /// The model of power with these scales, whose sum is 1 and sum of squares `1 / shape`, for squared correlations of
    /// bins by their distance, and medians of so many bins.
    pub fn new(scales: &[f64], shape: f64, correlations: &[f64], floor_bins: usize) -> Self {
        // The logarithm of power has a standard deviation of about 1 / √shape.
        let step = 0.02 / shape.sqrt();
        let at = |place: i32| (f64::from(place) * step, survival((f64::from(place) * step).exp(), 1.0, scales));
        let low = (1..).map(|place| at(-place)).take_while(|(log, above)| *log > -5.5 && 1.0 - above > 1e-13);
        let mut points: Vec<(f64, f64)> = low.collect();
        points.reverse();
        points.extend((0..).map(at).take_while(|(_, above)| *above > 1e-300));

        let lags: Vec<(usize, f64)> = (1..floor_bins).zip(correlations[1..].iter().copied()).collect();
        let row = |place: usize| {
            let [low, above, high] =
                [place.max(1) - 1, place, place + 1].map(|at| points.get(at).map_or(0.0, |at| at.1));
            let (z, bins, base) = (points[place].0.exp(), floor_bins as f64, 4.0 * above * (1.0 - above));
            let single = survival(z, shape, &[1.0 / shape]);
            // Far out no two bins exceed a power together, and both probabilities are 0.
            let isolated = (1.0 - joint_survival(z, shape, correlations[1]) / single).min(1.0);
            if base.powf(0.1 * bins) < 1e-30 {
                return [above.ln(), isolated, 0.0];
            }
            let variance_inflation = lags.iter().take_while(|(_, squared)| *squared > 1e-6).map(|&(lag, squared)| {
                let covariance = joint_survival(z, shape, squared) - single * single;
                2.0 * (1.0 - lag as f64 / bins) * covariance / (single - single * single)
            });
            let order = 0.5 * (bins / (1.0 + variance_inflation.sum::<f64>()) - 1.0);
            [above.ln(), isolated, base.powf(order) * (order + 0.75).sqrt() * (low - high)]
        };
        let mut table: Vec<[f64; 3]> = (0..points.len()).map(row).collect();
        let total: f64 = table.iter().map(|row| row[2]).sum();
        table.iter_mut().for_each(|row| row[2] /= total);
        let mean_median = points.iter().zip(&table).map(|((log, _), row)| log.exp() * row[2]).sum();
        Self { step, table, mean_median }
    }

    /// Probabilities that a bin of noise has so many times the power of its floor, and that any of `searched` bins has,
    /// of which `shared` have about the same floor.
    pub fn probabilities(&self, ratio: f64, searched: usize, shared: usize) -> [f64; 2] {
        let (shift, bins) = ((ratio / self.mean_median).ln() / self.step, searched.min(shared) as f64);
        let (mut single, mut any) = (0.0, 0.0);
        for (place, [_, _, probability]) in self.table.iter().enumerate() {
            let place = (place as f64 + shift).clamp(0.0, 1e9);
            let [Some(low), Some(high)] = [0, 1].map(|next| self.table.get(place as usize + next)) else { break };
            let [log, isolated] = [0, 1].map(|column| low[column] + place.fract() * (high[column] - low[column]));
            let above = log.exp();
            single += probability * above;
            // A chain in which a bin depends on the one before.
            any -= probability * ((-above).ln_1p() + (bins - 1.0) * (-above * isolated).ln_1p()).exp_m1();
        }
        [single, -(searched as f64 / bins * (-any.min(1.0)).ln_1p()).exp_m1()]
    }
}

/// Probability that two gamma variables of this shape, mean 1 and a squared correlation are both above `z`, by the
/// series of W. F. Kibble, "A two-variate gamma type distribution", Sankhyā 5 (1941).
fn joint_survival(z: f64, shape: f64, correlation: f64) -> f64 {
    let z = shape * z / (1.0 - correlation);
    // From one shape to the next: Q(a + 1, z) = Q(a, z) + z^a e^-z / Γ(a + 1).
    let mut above = survival(z, shape, &[1.0]);
    let mut rise = survival(z, shape + 1.0, &[1.0]) - above;
    let (mut weight, mut sum) = ((1.0 - correlation).powf(shape), 0.0);
    for term in (0..20_000).map(f64::from) {
        sum += weight * above * above;
        if term * (1.0 - correlation) > shape * correlation && weight <= 1e-14 * sum {
            break;
        }
        above = (above + rise).min(1.0);
        rise *= z / (shape + term + 1.0);
        weight *= correlation * (shape + term) / (term + 1.0);
    }
    sum
}

/// Probability that a sum of gamma variables of this shape, 1 for several, and these scales is above `z` > 0.
///
/// By integration of the moment-generating function along a parabola through its saddle point, with a relative error
/// near that of f64 however small the probability: S. O. Rice, "Distribution of quadratic forms in normal random
/// variables: evaluation by numerical integration", SIAM J. Sci. Stat. Comput. 1 (1980).
fn survival(z: f64, shape: f64, scales: &[f64]) -> f64 {
    let sum = |of: &dyn Fn(f64) -> f64| shape * scales.iter().map(|scale| of(*scale)).sum::<f64>();
    // The saddle point of e^-zt / (t Π (1 − t λ)^shape) between both poles.
    let pole = 1.0 / scales.iter().copied().fold(0.0, f64::max);
    let (mut saddle, mut high) = (0.0, pole);
    for _ in 0..80 {
        let t = 0.5 * (saddle + high);
        if sum(&|scale| scale / (1.0 - t * scale)) < z + 1.0 / t { saddle = t } else { high = t }
    }
    let width = pole - saddle;
    let curvature = sum(&|scale| (scale / (1.0 - saddle * scale)).powi(2)) + saddle.powi(-2);
    let step = (0.075 / (width * curvature.sqrt())).min(0.05);
    let mut total = 0.0;
    for u in (0..50_000).map(|place| step * f64::from(place)) {
        let t = Complex::new(saddle + width * u * u, 2.0 * width * u);
        let product: Complex<f64> = scales.iter().map(|&scale| (1.0 - saddle * scale) / (1.0 - t * scale)).product();
        let product = if shape == 1.0 { product } else { product.powf(shape) };
        let term = ((saddle - t) * z).exp() * product * Complex::new(2.0 * width, -2.0 * width * u) / t;
        total += if u == 0.0 { 0.5 * term.re } else { term.re };
        if u > 20.0 * step && term.norm() < 1e-17 * total.abs() {
            break;
        }
    }
    (-z * saddle - sum(&|scale| (1.0 - saddle * scale).ln())).exp() * total * step / PI
}

/// Eigenvalues of a symmetric matrix, by Jacobi's rotations.
pub(super) fn eigenvalues(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let n = matrix.len();
    for (p, q) in (0..12).flat_map(|_| (0..n).flat_map(move |p| (p + 1..n).map(move |q| (p, q)))) {
        // The least number makes 0 of 0 / 0.
        let tangent = 2.0 * matrix[p][q] / (matrix[q][q] - matrix[p][p] + f64::MIN_POSITIVE);
        let (sin, cos) = (0.5 * tangent.atan()).sin_cos();
        for row in &mut matrix {
            (row[p], row[q]) = (cos * row[p] - sin * row[q], sin * row[p] + cos * row[q]);
        }
        let (before, after) = matrix.split_at_mut(q);
        for (a, b) in before[p].iter_mut().zip(&mut after[0]) {
            (*a, *b) = (cos * *a - sin * *b, sin * *a + cos * *b);
        }
    }
    (0..n).map(|place| matrix[place][place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
        let error = (found / expected - 1.0).abs();
        assert!(error < tolerance, "{what}: {found:e} is not {expected:e}, relative error {error:.1e}");
    }

    #[test]
    fn tails_are_those_of_scipy() {
        // scipy.stats.chi2.sf(2 s z, 2 s), and gamma.sf(z, a).
        for (segments, z, expected) in [
            (1, 0.01, 0.990049833749168),
            (1, 3.0, 0.04978706836786395),
            (1, 40.0, 4.248354255291595e-18),
            (2, 1.0, 0.40600584970983794),
            (8, 2.5, 0.000778590082507362),
            (8, 0.3, 0.9966613830507716),
            (64, 1.5, 0.00021679882127867466),
            (128, 3.0, 1.3664937387755053e-52),
        ] {
            close(survival(z, 1.0, &vec![1.0 / segments as f64; segments]), expected, 1e-10, "chi-square");
        }
        for (shape, z, expected) in
            [(1.6, 0.5, 0.8289491536789568), (5.565, 12.0, 0.013567686735688674), (7.889, 60.0, 4.348540744799649e-18)]
        {
            close(survival(z, shape, &[1.0]), expected, 1e-10, "gamma");
        }
        // Two scales: Σ λ e^(−z/λ) over differences.
        for z in [0.1_f64, 1.0, 9.0] {
            let expected = (0.75 * (-z / 0.75).exp() - 0.25 * (-z / 0.25).exp()) / 0.5;
            close(survival(z, 1.0, &[0.25, 0.75]), expected, 1e-10, "two scales");
        }
    }

    #[test]
    fn joint_tails_are_integrals_of_the_noncentral_chi_square_distribution() {
        // scipy.integrate.quad of gamma.pdf(x, a) · ncx2.sf(2 a z / (1 − r), 2 a, 2 x r / (1 − r)) from a z on.
        for (z, shape, squared, expected) in [
            (0.7, 1.0, 4.0 / 9.0, 0.31210784766131006),
            (6.0, 1.0, 4.0 / 9.0, 0.0003087967414454724),
            (3.0, 7.889, 0.57, 3.405784500700633e-06),
            (1.0, 1.9459, 1.0 / 36.0, 0.1678764860899046),
            (20.0, 1.0, 0.57, 3.777179454844035e-11),
        ] {
            close(joint_survival(z, shape, squared), expected, 1e-8, "joint");
        }
        close(joint_survival(2.0, 1.0, 0.0), (-4.0_f64).exp(), 1e-10, "independent");
    }

    #[test]
    fn eigenvalues_of_half_overlapping_segments_are_cosines() {
        for n in [1, 2, 8, 128] {
            let entry = |row: usize, column: usize| [1.0, 0.5, 0.0][row.abs_diff(column).min(2)];
            let mut found = eigenvalues((0..n).map(|row| (0..n).map(|column| entry(row, column)).collect()).collect());
            found.sort_by(f64::total_cmp);
            for (place, found) in found.into_iter().rev().enumerate() {
                let expected = 1.0 + (PI * (place + 1) as f64 / (n + 1) as f64).cos();
                assert!((found - expected).abs() < 1e-12, "{n}: {found} is not {expected}");
            }
        }
        assert_eq!(eigenvalues(vec![vec![0.5, 0.0], vec![0.0, 0.5]]), [0.5, 0.5]);
    }

    #[test]
    fn probabilities_of_one_segment_are_those_of_order_statistics() {
        // The median of M exponential variables is a sum of independent ones with means 1 / M to 1 / ((M + 1) / 2), whose
        // moment-generating function is the probability of an exponential variable to be above.
        for bins in [15, 61, 127] {
            let model = NoiseModel::new(&[1.0], 1.0, &vec![0.0; 200], bins);
            let terms = || (0..bins.div_ceil(2)).map(|place| 1.0 / (bins - place) as f64);
            let mean: f64 = terms().sum();
            close(model.mean_median, mean, 1e-4, "mean");
            for ratio in [0.5, 2.0, 6.0, 12.0, 25.0] {
                let expected: f64 = terms().map(|term| 1.0 / (1.0 + ratio / mean * term)).product();
                let [p, any] = model.probabilities(ratio, 1, bins);
                close(p, expected, 3e-3, "probability");
                close(any, p, 1e-9, "one bin searched");
                let [_, any] = model.probabilities(ratio, 100, 1);
                close(any, 1.0 - (1.0 - p).powi(100), 1e-6, "bins without a common floor");
            }
        }
    }
}
