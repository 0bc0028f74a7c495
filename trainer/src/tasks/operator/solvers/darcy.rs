//! Darcy flow on the unit square: −∇·(a ∇u) = f with u = 0 on the boundary.
//!
//! Second-order finite differences with five points; the permeability between two points is the harmonic mean of
//! theirs, so that the flux is continuous where it jumps. The symmetric positive definite system is solved by conjugate
//! gradients with the inverse of the diagonal as preconditioner.

use std::f64::consts::PI;

/// Residual, relative to the right-hand side, at which iterations end.
const TOLERANCE: f64 = 1e-11;
/// Iterations per point along a side after which the solver gives up.
const ITERATIONS_PER_POINT: usize = 40;
/// Squared inverse length of the covariance of the random field.
const TAU_SQUARED: f64 = 9.0;
/// Largest number of cosines along a dimension of the random field: amplitudes fall with the square of the frequency.
const MOST_MODES: usize = 64;

/// Random numbers that a permeability on a grid of `intervals` takes.
pub fn draws(intervals: usize) -> usize {
    modes(intervals).pow(2)
}

fn modes(intervals: usize) -> usize {
    intervals.min(MOST_MODES)
}

/// Permeability at the (`intervals` + 1)² points from normal random numbers: the greater of `values` where a field of
/// N(0, (−Δ + 9 I)⁻²) with Neumann boundaries is not negative, else the lesser (Li et al. 2021).
pub fn permeability(intervals: usize, [low, high]: [f64; 2], normal: &[f32]) -> Vec<f64> {
    let (modes, side) = (modes(intervals), intervals + 1);
    let cosine = |mode: usize, point: usize| (PI * (mode * point) as f64 / intervals as f64).cos();
    let norm = |mode: usize| if mode == 0 { 1.0 } else { 2f64.sqrt() };
    let amplitude = |row: usize, column: usize| {
        let frequency = PI * PI * (row * row + column * column) as f64;
        f64::from(normal[row * modes + column]) * norm(row) * norm(column) / (frequency + TAU_SQUARED)
    };
    let cosines: Vec<f64> = (0..modes).flat_map(|mode| (0..side).map(move |point| cosine(mode, point))).collect();
    // Along columns for each mode of rows, then along rows.
    let mut along = vec![0.0; modes * side];
    for row in 0..modes {
        for column in 0..modes {
            let factor = amplitude(row, column);
            let line = &cosines[column * side..][..side];
            along[row * side..][..side].iter_mut().zip(line).for_each(|(sum, cosine)| *sum += factor * cosine);
        }
    }
    let mut field = vec![0.0; side * side];
    for (point, line) in field.chunks_exact_mut(side).enumerate() {
        for row in 0..modes {
            let factor = cosines[row * side + point];
            line.iter_mut().zip(&along[row * side..][..side]).for_each(|(sum, value)| *sum += factor * value);
        }
    }
    field.into_iter().map(|value| if value >= 0.0 { high } else { low }).collect()
}

/// Pressure at the (`intervals` + 1)² points for a permeability and a source at them; 0 on the boundary. None if
/// conjugate gradients do not converge, or `should_stop` says so.
pub fn solve(
    intervals: usize,
    permeability: &[f64],
    source: &[f64],
    should_stop: impl Fn() -> bool,
) -> Option<Vec<f64>> {
    let system = System::new(intervals, permeability);
    let side = intervals + 1;
    let mut right = vec![0.0; side * side];
    for row in 1..intervals {
        let inner = row * side + 1..row * side + intervals;
        let scale = (intervals as f64).powi(-2);
        right[inner.clone()].iter_mut().zip(&source[inner]).for_each(|(right, source)| *right = source * scale);
    }
    system.conjugate_gradients(&right, should_stop)
}

/// The five-point system, scaled by the square of the spacing.
struct System {
    intervals: usize,
    /// Permeability from each point to the next in its row, and to the next in its column.
    right: Vec<f64>,
    down: Vec<f64>,
    diagonal: Vec<f64>,
}

impl System {
    fn new(intervals: usize, permeability: &[f64]) -> Self {
        let side = intervals + 1;
        let between = |a: usize, b: usize| {
            let (a, b) = (permeability[a], permeability[b.min(permeability.len() - 1)]);
            2.0 * a * b / (a + b)
        };
        let right: Vec<f64> = (0..side * side).map(|place| between(place, place + 1)).collect();
        let down: Vec<f64> = (0..side * side).map(|place| between(place, place + side)).collect();
        let mut diagonal = vec![1.0; side * side];
        for row in 1..intervals {
            for place in row * side + 1..row * side + intervals {
                diagonal[place] = right[place] + right[place - 1] + down[place] + down[place - side];
            }
        }
        Self { intervals, right, down, diagonal }
    }

    /// The product with a field that is 0 on the boundary; 0 there.
    fn apply(&self, field: &[f64], product: &mut [f64]) {
        let side = self.intervals + 1;
        for row in 1..self.intervals {
            for place in row * side + 1..row * side + self.intervals {
                product[place] = self.diagonal[place] * field[place]
                    - self.right[place] * field[place + 1]
                    - self.right[place - 1] * field[place - 1]
                    - self.down[place] * field[place + side]
                    - self.down[place - side] * field[place - side];
            }
        }
    }

    fn conjugate_gradients(&self, right: &[f64], should_stop: impl Fn() -> bool) -> Option<Vec<f64>> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let preconditioned =
            |residual: &[f64]| residual.iter().zip(&self.diagonal).map(|(r, d)| r / d).collect::<Vec<_>>();
        let limit = TOLERANCE * dot(right, right).sqrt();
        let mut solution = vec![0.0; right.len()];
        let mut residual = right.to_vec();
        let mut direction = preconditioned(&residual);
        let mut product = vec![0.0; right.len()];
        let mut energy = dot(&residual, &direction);
        for _ in 0..ITERATIONS_PER_POINT * self.intervals {
            if dot(&residual, &residual).sqrt() <= limit {
                return Some(solution);
            }
            if should_stop() {
                return None;
            }
            self.apply(&direction, &mut product);
            let length = energy / dot(&direction, &product);
            solution.iter_mut().zip(&direction).for_each(|(x, d)| *x += length * d);
            residual.iter_mut().zip(&product).for_each(|(r, p)| *r -= length * p);
            let scaled = preconditioned(&residual);
            let next = dot(&residual, &scaled);
            direction.iter_mut().zip(&scaled).for_each(|(d, s)| *d = s + next / energy * *d);
            energy = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::normal;

    fn points(intervals: usize, of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |index: usize| index as f64 / intervals as f64;
        let side = intervals + 1;
        (0..side * side).map(|place| of(at(place / side), at(place % side))).collect()
    }

    /// Largest error for u = sin πx sin 2πy with a = 1 + x + y².
    fn error_of_a_manufactured_solution(intervals: usize) -> f64 {
        let exact = points(intervals, |x, y| (PI * x).sin() * (2.0 * PI * y).sin());
        let permeability = points(intervals, |x, y| 1.0 + x + y * y);
        // −(a_x u_x + a_y u_y + a Δu).
        let source = points(intervals, |x, y| {
            let (sx, cx, sy, cy) = ((PI * x).sin(), (PI * x).cos(), (2.0 * PI * y).sin(), (2.0 * PI * y).cos());
            let a = 1.0 + x + y * y;
            -(PI * cx * sy + 2.0 * y * 2.0 * PI * sx * cy - a * 5.0 * PI * PI * sx * sy)
        });
        let found = solve(intervals, &permeability, &source, || false).unwrap();
        found.iter().zip(exact).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_error_falls_with_the_square_of_the_spacing() {
        let (coarse, fine) = (error_of_a_manufactured_solution(32), error_of_a_manufactured_solution(64));
        assert!(fine < 2e-3 && (3.6..4.4).contains(&(coarse / fine)), "{coarse:e} and {fine:e}");
    }

    #[test]
    fn pressure_of_a_jumping_permeability_balances_the_source_at_every_point() {
        let intervals = 48;
        let normal: Vec<f32> = normal(3, draws(intervals)).into_iter().map(|value| value as f32).collect();
        let permeability = permeability(intervals, [3.0, 12.0], &normal);
        let high = permeability.iter().filter(|value| **value == 12.0).count();
        assert!(high > 100 && high < permeability.len() - 100, "{high} points of the greater permeability");
        let pressure = solve(intervals, &permeability, &vec![1.0; permeability.len()], || false).unwrap();
        assert_eq!(solve(intervals, &permeability, &vec![1.0; permeability.len()], || true), None);
        let (side, spacing) = (intervals + 1, 1.0 / intervals as f64);
        let mean = |a: f64, b: f64| 2.0 / (a.recip() + b.recip());
        for row in 1..intervals {
            for column in 1..intervals {
                let place = row * side + column;
                let outflow: f64 = [place - 1, place + 1, place - side, place + side]
                    .map(|other| mean(permeability[place], permeability[other]) * (pressure[place] - pressure[other]))
                    .iter()
                    .sum();
                assert!((outflow / spacing.powi(2) - 1.0).abs() < 1e-6, "{row}, {column}: {outflow}");
            }
        }
        assert!(pressure.iter().all(|value| *value >= 0.0), "a source makes no negative pressure");
    }

    #[test]
    fn the_random_field_does_not_depend_on_the_grid() {
        let normal: Vec<f32> = normal(5, MOST_MODES * MOST_MODES).into_iter().map(|value| value as f32).collect();
        let (coarse, fine) = (permeability(64, [0.0, 1.0], &normal), permeability(128, [0.0, 1.0], &normal));
        let same = |place: usize| coarse[place] == fine[(place / 65) * 2 * 129 + (place % 65) * 2];
        let equal = (0..coarse.len()).filter(|place| same(*place)).count();
        assert_eq!(equal, coarse.len());
    }
}
