//! Transforms of one row in float64, by rustfft along each dimension.

use firefly_ops::Direction;
use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::problem::{FftProblem, FftValues};

/// The parts of a row, real and imaginary, the second only where values are complex.
pub type RowParts = Vec<Vec<f64>>;

/// The transform of a row.
pub fn transform(problem: &FftProblem, input: &RowParts) -> RowParts {
    let forward = problem.direction == Direction::Forward;
    match (problem.values, forward) {
        (FftValues::Complex, _) => split(&along_all(problem, joined(input), forward)),
        (FftValues::Real, true) => split(&lower_half(problem, &along_all(problem, joined(input), true))),
        (FftValues::Real, false) => vec![hermitian_sum(problem, &joined(input))],
    }
}

/// The gradient of Σ weights · transform in the input, which depends on the weights alone.
pub fn gradient(problem: &FftProblem, weights: &RowParts) -> RowParts {
    let forward = problem.direction == Direction::Forward;
    match (problem.values, forward) {
        // Σ Re(w* F x) = Σ Re((F* w)* x).
        (FftValues::Complex, _) => split(&along_all(problem, joined(weights), !forward)),
        // The bins that are not part of the output have weight 0.
        (FftValues::Real, true) => {
            let whole = widened(problem, &joined(weights));
            vec![along_all(problem, whole, false).iter().map(|value| value.re).collect()]
        }
        // An interior bin counts twice in the output: by itself, and as the conjugate of its mirror image.
        (FftValues::Real, false) => {
            let mut bins = lower_half(problem, &along_all(problem, joined(weights), true));
            let (n, width) = (problem.shape.last(), problem.bins());
            for (at, bin) in bins.iter_mut().enumerate() {
                *bin *= if is_interior(at % width, n) { 2.0 } else { 1.0 };
            }
            split(&bins)
        }
    }
}

/// Whether bin `k` along the last dimension stands for two of the whole spectrum of n points.
fn is_interior(k: usize, n: usize) -> bool {
    k > 0 && 2 * k != n
}

/// The real values of a half spectrum: transforms along the outer dimensions, then the sum over the last one, of which
/// the interior bins count with their conjugates and the others by their real parts.
fn hermitian_sum(problem: &FftProblem, half: &[Complex<f64>]) -> Vec<f64> {
    let (n, width) = (problem.shape.last(), problem.bins());
    let factor = |at: usize| if is_interior(at % width, n) { 2.0 } else { 1.0 };
    let weighted: Vec<_> = half.iter().enumerate().map(|(at, bin)| bin * factor(at)).collect();
    along_all(problem, widened(problem, &weighted), false).iter().map(|value| value.re).collect()
}

/// A half spectrum with zeros in place of the upper half.
fn widened(problem: &FftProblem, half: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let n = problem.shape.last();
    let row = |bins: &[Complex<f64>]| {
        bins.iter().copied().chain(std::iter::repeat_n(Complex::default(), n - bins.len())).collect::<Vec<_>>()
    };
    half.chunks(problem.bins()).flat_map(row).collect()
}

/// The lower half of a spectrum along the last dimension.
fn lower_half(problem: &FftProblem, whole: &[Complex<f64>]) -> Vec<Complex<f64>> {
    whole.chunks(problem.shape.last()).flat_map(|row| row[..problem.bins()].iter().copied()).collect()
}

/// The unnormalised complex transform along every dimension.
fn along_all(problem: &FftProblem, mut values: Vec<Complex<f64>>, forward: bool) -> Vec<Complex<f64>> {
    let mut planner = FftPlanner::new();
    let mut inner = 1;
    for &n in problem.shape.dims().iter().rev() {
        let plan = if forward { planner.plan_fft_forward(n) } else { planner.plan_fft_inverse(n) };
        let mut column = vec![Complex::default(); n];
        for block in values.chunks_mut(n * inner) {
            for first in 0..inner {
                let places = (first..n * inner).step_by(inner);
                column.iter_mut().zip(places.clone()).for_each(|(value, place)| *value = block[place]);
                plan.process(&mut column);
                column.iter().zip(places).for_each(|(value, place)| block[place] = *value);
            }
        }
        inner *= n;
    }
    values
}

fn joined(parts: &RowParts) -> Vec<Complex<f64>> {
    match &parts[..] {
        [re, im] => re.iter().zip(im).map(|(&re, &im)| Complex { re, im }).collect(),
        real => real.iter().flatten().map(|&re| Complex { re, im: 0.0 }).collect(),
    }
}

fn split(values: &[Complex<f64>]) -> RowParts {
    vec![values.iter().map(|value| value.re).collect(), values.iter().map(|value| value.im).collect()]
}

#[cfg(test)]
mod tests {
    use firefly_reference::dft::twiddle;

    use super::*;
    use crate::suites::fft::problem::{DIRECTIONS, Extent, grid};
    use crate::suites::fft::shape::Shapes;

    fn noise(len: usize, parts: usize) -> RowParts {
        let value = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
        (0..parts).map(|part| (0..len).map(|i| value(i + part * len)).collect()).collect()
    }

    /// e^(∓2πi Σ j·k/n) of the points with positions `j` and `k` in a shape.
    fn phase(dims: &[usize], j: usize, k: usize, forward: bool) -> Complex<f64> {
        let (mut j, mut k, mut product) = (j, k, Complex { re: 1.0, im: 0.0 });
        for &n in dims.iter().rev() {
            let turn = twiddle((j % n) * (k % n), n);
            product *= Complex { re: turn.re, im: turn.im };
            (j, k) = (j / n, k / n);
        }
        if forward { product } else { product.conj() }
    }

    /// The transform by its definition: the sum over all points.
    fn sum(problem: &FftProblem, input: &RowParts) -> RowParts {
        let dims = problem.shape.dims();
        let (points, n, width) = (problem.shape.points(), problem.shape.last(), problem.bins());
        let forward = problem.direction == Direction::Forward;
        let values = joined(input);
        let place = |bin: usize| bin / width * n + bin % width;
        let all = |k: usize| (0..points).map(|j| values[j] * phase(dims, j, k, forward)).sum::<Complex<f64>>();
        match (problem.values, forward) {
            (FftValues::Complex, _) => split(&(0..points).map(all).collect::<Vec<_>>()),
            (FftValues::Real, true) => {
                split(&(0..values.len() / n * width).map(|bin| all(place(bin))).collect::<Vec<_>>())
            }
            (FftValues::Real, false) => {
                let term = |j: usize, bin: usize| {
                    let factor = if is_interior(bin % width, n) { 2.0 } else { 1.0 };
                    factor * (values[bin] * phase(dims, place(bin), j, false)).re
                };
                vec![(0..points).map(|j| (0..values.len()).map(|bin| term(j, bin)).sum()).collect()]
            }
        }
    }

    #[test]
    fn transforms_are_the_sums_of_their_definitions() {
        let shapes: Vec<Shapes> = ["1", "2", "7", "12", "3x4", "4x5", "2x3x6"].map(|text| text.parse().unwrap()).into();
        let values = FftValues::NAMED.map(|(_, values)| values);
        let directions = DIRECTIONS.map(|(_, direction)| direction);
        for problem in grid(&values, &directions, &Shapes::of(&shapes), &Extent::Batches(vec![1])) {
            let (input, output) = (problem.input(), problem.output());
            let given = noise(input.len, input.parts);
            for (got, expected) in transform(&problem, &given).iter().zip(sum(&problem, &given)) {
                assert_eq!(got.len(), output.len);
                assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-12), "{problem:?}");
            }
            // The gradient of Σ w·F(x) is what F(x + d) − F(x) = F(d) says, for any direction d.
            let weights = noise(output.len, output.parts);
            let dot = |a: &RowParts, b: &RowParts| {
                a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum::<f64>()
            };
            let along = dot(&gradient(&problem, &weights), &given);
            assert!((along - dot(&weights, &transform(&problem, &given))).abs() < 1e-11, "{problem:?}");
        }
    }
}
