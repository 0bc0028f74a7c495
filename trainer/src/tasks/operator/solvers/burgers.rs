//! Burgers' equation on a periodic interval: u_t + (u²/2)_x = ν u_xx on [0, 1].
//!
//! Fourier pseudo-spectral in float64: products at the points of a grid, for modes up to a third of its points, which
//! they alias into none of (initial fields have no others); fourth-order Runge–Kutta steps in which diffusion is exact
//! (integrating factor). Diffusion empties the highest modes; once those above half the grid's are below rounding, the
//! grid is halved, so that most steps are short.

use std::f64::consts::{SQRT_2, TAU};
use std::sync::Arc;

use firefly_ops::rustfft_plans::Planned;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, RealToComplex};

/// Magnitude below which a mode counts as empty.
const NEGLIGIBLE: f64 = 1e-15;
/// Largest magnitude of the highest kept modes, as a share of the largest mode, in a field that its grid resolves.
const RESOLVED: f64 = 1e-3;
/// Points of the coarsest grid.
const MIN_POINTS: usize = 64;

/// Variance of the initial fields' distribution, times (4π²k² + τ²)².
const SIGMA_SQUARED: f64 = 625.0;
/// Inverse length τ of their covariance, squared.
const TAU_SQUARED: f64 = 25.0;

/// Settings of a solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burgers {
    /// Viscosity ν.
    pub viscosity: f64,
    /// Time of the solution.
    pub time: f64,
    /// Steps up to it.
    pub steps: usize,
}

/// Random numbers that an initial field of `points` takes.
pub fn draws(points: usize) -> usize {
    points - 2
}

/// Initial field of `points` points (an even number) from normal random numbers: N(0, 625 (−Δ + 25 I)⁻²) with periodic
/// boundaries (Li et al. 2021), without its constant, as in the authors' data, and without modes above a third of the
/// points, whose products the grid would alias.
pub fn initial(points: usize, normal: &[f32]) -> Vec<f64> {
    let modes = points / 2 - 1;
    let mut coefficients = vec![Complex::ZERO; points / 2 + 1];
    for mode in 1..=points / 3 {
        let frequency = (TAU * mode as f64).powi(2);
        let deviation = SIGMA_SQUARED.sqrt() / (frequency + TAU_SQUARED);
        // Of √2 cos and √2 sin, as half of a conjugate pair.
        let amplitude = deviation * SQRT_2 / 2.0;
        let (cosine, sine) = (f64::from(normal[mode - 1]), f64::from(normal[modes + mode - 1]));
        coefficients[mode] = Complex::new(cosine, -sine) * amplitude;
    }
    Grid::new(points).values(&coefficients)
}

impl Burgers {
    /// The field at [`time`](Self::time) at the points of `initial`, which has no modes above a third of its points.
    /// None if the points are too few for it or the steps too long, or if `should_stop` says so.
    pub fn solve(&self, initial: &[f64], should_stop: impl Fn() -> bool) -> Option<Vec<f64>> {
        let points = initial.len();
        let mut grid = Grid::new(points);
        let mut modes = grid.coefficients(initial.to_vec());
        let step = self.time / self.steps as f64;
        let mut factors = decay(&grid, self.viscosity, step);
        for _ in 0..self.steps {
            if should_stop() {
                return None;
            }
            if grid.points / 2 >= MIN_POINTS && is_empty(&modes[grid.points / 6..]) {
                grid = Grid::new(grid.points / 2);
                modes.truncate(grid.points / 2 + 1);
                factors = decay(&grid, self.viscosity, step);
            }
            modes = grid.step(&modes, &factors, step);
        }
        if !is_resolved(&modes, grid.points) {
            return None;
        }
        modes.resize(points / 2 + 1, Complex::ZERO);
        Some(Grid::new(points).values(&modes))
    }
}

/// Whether modes are below rounding.
fn is_empty(high: &[Complex<f64>]) -> bool {
    high.iter().all(|mode| mode.norm() < NEGLIGIBLE)
}

/// Whether the highest modes of a field on a grid of `points` are small and all are finite.
fn is_resolved(modes: &[Complex<f64>], points: usize) -> bool {
    let largest = |modes: &[Complex<f64>]| modes.iter().map(|mode| mode.norm()).fold(0.0, f64::max);
    let are_finite = modes.iter().all(|mode| mode.norm().is_finite());
    are_finite && largest(&modes[points / 4..=points / 3]) <= RESOLVED * largest(modes)
}

/// Factors of diffusion over half a step and over a whole step, by mode.
fn decay(grid: &Grid, viscosity: f64, step: f64) -> [Vec<f64>; 2] {
    [step / 2.0, step].map(|time| {
        let of = |mode: usize| (-viscosity * (TAU * mode as f64).powi(2) * time).exp();
        (0..=grid.points / 2).map(of).collect()
    })
}

/// Grid of equally spaced points with its transforms. Modes are Fourier coefficients: the sum over the points divided
/// by their number.
struct Grid {
    points: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

impl Grid {
    fn new(points: usize) -> Self {
        Self { points, forward: f64::real_plan(points), inverse: f64::inverse_real_plan(points) }
    }

    fn coefficients(&self, mut values: Vec<f64>) -> Vec<Complex<f64>> {
        let mut modes = self.forward.make_output_vec();
        // The buffers have the plan's lengths.
        let _ = self.forward.process(&mut values, &mut modes);
        let scale = (self.points as f64).recip();
        modes.iter_mut().for_each(|mode| *mode *= scale);
        modes
    }

    fn values(&self, modes: &[Complex<f64>]) -> Vec<f64> {
        let mut modes = modes.to_vec();
        // A real field has real coefficients of the constant and of the highest mode.
        modes[0].im = 0.0;
        modes[self.points / 2].im = 0.0;
        let mut values = self.inverse.make_output_vec();
        let _ = self.inverse.process(&mut modes, &mut values);
        values
    }

    /// Coefficients of −(u²/2)_x.
    fn advection(&self, modes: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let mut values = self.values(modes);
        values.iter_mut().for_each(|value| *value *= *value);
        let mut squares = self.coefficients(values);
        for (mode, square) in squares.iter_mut().enumerate() {
            // Modes above a third of the points are those that products alias into.
            let factor = if mode > self.points / 3 { 0.0 } else { -0.5 * TAU * mode as f64 };
            *square *= Complex::new(0.0, factor);
        }
        squares
    }

    /// One step of the fourth-order Runge–Kutta method for the modes multiplied by the inverse of their diffusion.
    fn step(&self, modes: &[Complex<f64>], [half, whole]: &[Vec<f64>; 2], step: f64) -> Vec<Complex<f64>> {
        let combined = |of: &dyn Fn(usize) -> Complex<f64>| (0..modes.len()).map(of).collect::<Vec<_>>();
        let a = self.advection(modes);
        let b = self.advection(&combined(&|k| (modes[k] + a[k] * (step / 2.0)) * half[k]));
        let c = self.advection(&combined(&|k| modes[k] * half[k] + b[k] * (step / 2.0)));
        let d = self.advection(&combined(&|k| modes[k] * whole[k] + c[k] * (step * half[k])));
        combined(&|k| modes[k] * whole[k] + (a[k] * whole[k] + (b[k] + c[k]) * (2.0 * half[k]) + d[k]) * (step / 6.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::normal;

    /// The solution by the transformation of Cole and Hopf, u = −2ν φ_x / φ with φ_t = ν φ_xx, of a field of mean 0.
    fn cole_hopf(initial: &[f64], viscosity: f64, time: f64) -> Vec<f64> {
        let grid = Grid::new(initial.len());
        let derivative_factor = |mode: usize| Complex::new(0.0, TAU * mode as f64);
        let mut integral = grid.coefficients(initial.to_vec());
        integral[0] = Complex::ZERO;
        for (mode, value) in integral.iter_mut().enumerate().skip(1) {
            *value /= derivative_factor(mode);
        }
        let potential = grid.values(&integral).into_iter().map(|value| (-value / (2.0 * viscosity)).exp()).collect();
        let mut heat = grid.coefficients(potential);
        for (mode, value) in heat.iter_mut().enumerate() {
            *value *= (-viscosity * (TAU * mode as f64).powi(2) * time).exp();
        }
        let slope: Vec<_> = heat.iter().enumerate().map(|(mode, value)| *value * derivative_factor(mode)).collect();
        let (potential, slope) = (grid.values(&heat), grid.values(&slope));
        potential.iter().zip(slope).map(|(value, slope)| -2.0 * viscosity * slope / value).collect()
    }

    fn solve(burgers: Burgers, field: &[f64]) -> Vec<f64> {
        burgers.solve(field, || false).unwrap()
    }

    fn random_field(points: usize, seed: u64) -> Vec<f64> {
        let normal: Vec<f32> = normal(seed, draws(points)).into_iter().map(|value| value as f32).collect();
        initial(points, &normal)
    }

    fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
        norm(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
    }

    #[test]
    fn solutions_are_those_of_cole_and_hopf() {
        for (seed, points) in [(1, 1024), (2, 1024), (3, 8192)] {
            let field = random_field(points, seed);
            for viscosity in [0.1, 0.02] {
                let burgers = Burgers { viscosity, time: 1.0, steps: 1000 };
                let error = relative_error(&solve(burgers, &field), &cole_hopf(&field, viscosity, 1.0));
                assert!(error < 1e-8, "seed {seed}, {points} points, viscosity {viscosity}: {error:e}");
            }
        }
    }

    #[test]
    fn the_error_falls_with_the_fourth_power_of_the_step() {
        let field: Vec<f64> = (0..128).map(|point| (TAU * point as f64 / 128.0).sin()).collect();
        let exact = cole_hopf(&field, 0.05, 0.5);
        let error = |steps| relative_error(&solve(Burgers { viscosity: 0.05, time: 0.5, steps }, &field), &exact);
        let (coarse, fine) = (error(20), error(40));
        assert!((12.0..22.0).contains(&(coarse / fine)), "{coarse:e} and {fine:e}");
    }

    #[test]
    fn initial_fields_have_no_modes_that_products_alias() {
        let grid = Grid::new(1024);
        let modes = grid.coefficients(random_field(1024, 4));
        assert!(modes[1..=341].iter().all(|mode| mode.norm() > 1e-12));
        assert!(is_empty(&modes[342..]), "{modes:?}");
    }

    #[test]
    fn a_solution_that_is_stopped_or_not_resolved_is_none() {
        let burgers = Burgers { viscosity: 0.1, time: 1.0, steps: 1_000_000 };
        assert_eq!(burgers.solve(&random_field(64, 1), || true), None);
        // Shocks of a width of a thousandth, at 256 points.
        let burgers = Burgers { viscosity: 1e-4, time: 1.0, steps: 2000 };
        assert_eq!(burgers.solve(&random_field(256, 1), || false), None);
    }

    #[test]
    fn initial_fields_have_the_variance_of_their_distribution() {
        let expected: f64 = (1..100).map(|k| 2.0 * 625.0 / ((TAU * f64::from(k)).powi(2) + 25.0).powi(2)).sum();
        let fields: Vec<Vec<f64>> = (0..2000).map(|seed| random_field(64, seed)).collect();
        let values = fields.iter().flatten();
        let variance = values.clone().map(|value| value * value).sum::<f64>() / (64.0 * 2000.0);
        assert!((variance / expected - 1.0).abs() < 0.06, "{variance} for {expected}");
        let constant = fields.iter().map(|field| field.iter().sum::<f64>().abs()).fold(0.0, f64::max);
        assert!(constant < 1e-10, "{constant:e}");
    }
}
