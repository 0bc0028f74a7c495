//! Darcy flow on the unit square or cube: −∇·(a ∇u) = f with u = 0 on the boundary.
//!
//! Second-order finite differences with the neighbours along each dimension; the permeability between two points is the
//! harmonic mean of theirs, so that the flux is continuous where it jumps. The symmetric positive definite system is
//! solved by conjugate gradients with the inverse of the diagonal as preconditioner.

use std::f64::consts::PI;

use super::super::domain::{coordinates, places, strides};

/// Residual, relative to the right-hand side, at which iterations end.
const TOLERANCE: f64 = 1e-11;
/// Iterations per point along a side after which the solver gives up.
const ITERATIONS_PER_POINT: usize = 40;
/// Squared inverse length of the covariance of the random field.
const TAU_SQUARED: f64 = 9.0;
/// Largest number of cosines along a dimension of the random field: amplitudes fall with the square of the frequency.
const MAX_MODES: usize = 64;

/// Grid of `intervals` + 1 points along each of `dims` dimensions of the unit square or cube. Fields on it are
/// row-major.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub dims: usize,
    pub intervals: usize,
}

impl Grid {
    /// Points along a dimension.
    const fn side(self) -> usize {
        self.intervals + 1
    }

    /// Points of the grid.
    pub const fn points(self) -> usize {
        self.side().pow(self.dims as u32)
    }

    /// Cosines along a dimension of the random field.
    fn modes(self) -> usize {
        self.intervals.min(MAX_MODES)
    }

    /// Random numbers that a permeability takes.
    pub fn draws(self) -> usize {
        self.modes().pow(self.dims as u32)
    }

    /// Permeability at the points from normal random numbers: the greater of `values` where a field of
    /// N(0, (−Δ + 9 I)⁻²) with Neumann boundaries is not negative, else the lesser (Li et al. 2021).
    pub fn permeability(self, [low, high]: [f64; 2], normal: &[f32]) -> Vec<f64> {
        let norm = |mode: usize| if mode == 0 { 1.0 } else { 2f64.sqrt() };
        let shape = vec![self.modes(); self.dims];
        let amplitude = |(index, normal): (usize, &f32)| {
            let modes = || coordinates(index, &shape).map(|(_, mode)| mode);
            let frequency = PI * PI * modes().map(|mode| mode * mode).sum::<usize>() as f64;
            modes().fold(f64::from(*normal), |product, mode| product * norm(mode)) / (frequency + TAU_SQUARED)
        };
        let amplitudes: Vec<f64> = normal.iter().enumerate().map(amplitude).collect();
        // Cosines along one dimension after the other, the last one first.
        let field =
            (0..self.dims as u32).fold(amplitudes, |values, done| self.cosine_sums(&values, self.side().pow(done)));
        field.into_iter().map(|value| if value >= 0.0 { high } else { low }).collect()
    }

    /// Sums of cosines along a dimension with `inner` values behind it, `[…, modes, inner]` to `[…, side, inner]`.
    fn cosine_sums(self, amplitudes: &[f64], inner: usize) -> Vec<f64> {
        let (modes, side) = (self.modes(), self.side());
        let cosine = |mode: usize, point: usize| (PI * (mode * point) as f64 / self.intervals as f64).cos();
        let cosines: Vec<f64> = (0..modes).flat_map(|mode| (0..side).map(move |point| cosine(mode, point))).collect();
        let mut sums = vec![0.0; amplitudes.len() / modes * side];
        for (sums, amplitudes) in sums.chunks_exact_mut(side * inner).zip(amplitudes.chunks_exact(modes * inner)) {
            for (mode, amplitudes) in amplitudes.chunks_exact(inner).enumerate() {
                for (sums, cosine) in sums.chunks_exact_mut(inner).zip(&cosines[mode * side..]) {
                    sums.iter_mut().zip(amplitudes).for_each(|(sum, amplitude)| *sum += cosine * amplitude);
                }
            }
        }
        sums
    }

    /// Pressure at the points for a permeability and a source at them; 0 on the boundary. None if conjugate gradients
    /// do not converge, or `should_stop` says so.
    pub fn solve(self, permeability: &[f64], source: &[f64], should_stop: impl Fn() -> bool) -> Option<Vec<f64>> {
        let system = System::new(self, permeability);
        let mut right = vec![0.0; self.points()];
        let scale = (self.intervals as f64).powi(-2);
        for place in system.inner() {
            right[place] = source[place] * scale;
        }
        system.conjugate_gradients(&right, should_stop)
    }

    /// The field without its points at 1, so that those left are k/n as those of a periodic field.
    pub fn opened(self, field: &[f64]) -> Vec<f64> {
        let strides = strides(&vec![self.side(); self.dims]);
        places(&vec![self.intervals; self.dims], &strides).map(|place| field[place]).collect()
    }
}

/// The system of a point and its neighbours, scaled by the square of the spacing.
struct System {
    grid: Grid,
    /// First points of the lines along the last dimension within the boundary.
    lines: Vec<usize>,
    /// Distance in memory of neighbours along each dimension, the last one first; and the permeability from each point
    /// to the next.
    neighbours: Vec<(usize, Vec<f64>)>,
    diagonal: Vec<f64>,
}

impl System {
    fn new(grid: Grid, permeability: &[f64]) -> Self {
        let strides = strides(&vec![grid.side(); grid.dims]);
        let between = |a: usize, b: usize| {
            let (a, b) = (permeability[a], permeability[b.min(permeability.len() - 1)]);
            2.0 * a * b / (a + b)
        };
        let along = |stride: &usize| {
            (*stride, (0..grid.points()).map(|place| between(place, place + stride)).collect::<Vec<_>>())
        };
        let neighbours: Vec<_> = strides.iter().rev().map(along).collect();
        let across = &strides[..grid.dims - 1];
        let first = 1 + across.iter().sum::<usize>();
        let lines = places(&vec![grid.intervals - 1; across.len()], across).map(|place| first + place).collect();
        let mut system = Self { grid, lines, neighbours, diagonal: vec![1.0; grid.points()] };
        for place in system.inner().collect::<Vec<_>>() {
            let next = system.neighbours.iter().flat_map(|(stride, next)| [next[place], next[place - stride]]);
            system.diagonal[place] = next.sum();
        }
        system
    }

    /// Points within the boundary.
    fn inner(&self) -> impl Iterator<Item = usize> {
        self.lines.iter().flat_map(|first| *first..*first + self.grid.intervals - 1)
    }

    /// The product with a field that is 0 on the boundary; 0 there.
    fn apply(&self, field: &[f64], product: &mut [f64]) {
        for first in &self.lines {
            let line = *first..*first + self.grid.intervals - 1;
            for place in line.clone() {
                product[place] = self.diagonal[place] * field[place];
            }
            for (stride, next) in &self.neighbours {
                for place in line.clone() {
                    let (before, after) = (place - stride, place + stride);
                    product[place] = product[place] - next[place] * field[after] - next[before] * field[before];
                }
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
        for _ in 0..ITERATIONS_PER_POINT * self.grid.intervals {
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

    fn drawn(count: usize) -> Vec<f32> {
        normal(3, count).into_iter().map(|value| value as f32).collect()
    }

    /// Values of a function of the coordinates.
    fn values(grid: Grid, of: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let shape = vec![grid.side(); grid.dims];
        let at = |index| {
            let mut point = vec![0.0; grid.dims];
            coordinates(index, &shape).for_each(|(dim, place)| point[dim] = place as f64 / grid.intervals as f64);
            of(&point)
        };
        (0..grid.points()).map(at).collect()
    }

    /// Largest error for u = Π sin (d+1)πx_d with a = 1 + Σ x_d^(d+1), d from 0.
    fn error_of_a_manufactured_solution(grid: Grid) -> f64 {
        let wave = |dim: usize| PI * (dim + 1) as f64;
        let solution = |x: &[f64]| x.iter().enumerate().map(|(dim, x)| (wave(dim) * x).sin()).product::<f64>();
        let a = |x: &[f64]| 1.0 + x.iter().enumerate().map(|(dim, x)| x.powi(dim as i32 + 1)).sum::<f64>();
        // −Σ (a_d u_d + a u_dd).
        let source = values(grid, |x| {
            let along = |dim: usize| {
                let slope = (dim + 1) as f64 * x[dim].powi(dim as i32);
                let others = (0..grid.dims).filter(|other| *other != dim).map(|other| (wave(other) * x[other]).sin());
                let derivative = wave(dim) * (wave(dim) * x[dim]).cos() * others.product::<f64>();
                a(x) * wave(dim).powi(2) * solution(x) - slope * derivative
            };
            (0..grid.dims).map(along).sum()
        });
        let found = grid.solve(&values(grid, a), &source, || false).unwrap();
        found.iter().zip(values(grid, solution)).map(|(found, exact)| (found - exact).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_error_falls_with_the_square_of_the_spacing() {
        for (dims, intervals, most) in [(2, 32, 2e-3), (3, 16, 2e-2)] {
            let error = |intervals| error_of_a_manufactured_solution(Grid { dims, intervals });
            let (coarse, fine) = (error(intervals), error(2 * intervals));
            assert!(fine < most && (3.6..4.4).contains(&(coarse / fine)), "{dims}: {coarse:e} and {fine:e}");
        }
    }

    #[test]
    fn pressure_of_a_jumping_permeability_balances_the_source_at_every_point() {
        for (dims, intervals) in [(2, 48), (3, 16)] {
            let grid = Grid { dims, intervals };
            let permeability = grid.permeability([3.0, 12.0], &drawn(grid.draws()));
            let high = permeability.iter().filter(|value| **value == 12.0).count();
            assert!(high > 100 && high < permeability.len() - 100, "{high} points of the greater permeability");
            let source = vec![1.0; permeability.len()];
            let pressure = grid.solve(&permeability, &source, || false).unwrap();
            assert_eq!(grid.solve(&permeability, &source, || true), None);
            let mean = |a: f64, b: f64| 2.0 / (a.recip() + b.recip());
            let (strides, spacing) = (strides(&vec![grid.side(); dims]), 1.0 / intervals as f64);
            for place in System::new(grid, &permeability).inner() {
                let neighbours = strides.iter().flat_map(|stride| [place - stride, place + stride]);
                let flux = |other| mean(permeability[place], permeability[other]) * (pressure[place] - pressure[other]);
                let outflow = neighbours.map(flux).sum::<f64>() / spacing.powi(2);
                assert!((outflow - 1.0).abs() < 1e-6, "{place}: {outflow}");
            }
            let boundary = pressure.iter().filter(|value| **value == 0.0).count();
            assert_eq!(boundary, grid.points() - (intervals - 1).pow(dims as u32));
            assert!(pressure.iter().all(|value| *value >= 0.0), "a source makes no negative pressure");
        }
    }

    #[test]
    fn the_random_field_does_not_depend_on_the_grid() {
        let normal = drawn(MAX_MODES * MAX_MODES);
        let [coarse, fine] = [64, 128].map(|intervals| Grid { dims: 2, intervals }.permeability([0.0, 1.0], &normal));
        let same = |place: usize| coarse[place] == fine[(place / 65) * 2 * 129 + (place % 65) * 2];
        let equal = (0..coarse.len()).filter(|place| same(*place)).count();
        assert_eq!(equal, coarse.len());
    }

    #[test]
    fn an_opened_field_has_no_points_at_the_end() {
        let field: Vec<f64> = (0..27).map(f64::from).collect();
        let grid = Grid { dims: 3, intervals: 2 };
        assert_eq!(grid.opened(&field), [0.0, 1.0, 3.0, 4.0, 9.0, 10.0, 12.0, 13.0]);
    }
}
