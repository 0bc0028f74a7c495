//! Unnormalised transforms of shapes of several dimensions, complex and real, and their gradients.

use super::Complex;
use super::fast_dft::{fast_dft, fast_inverse_dft};

/// The parts of values: real, and imaginary where they are complex.
pub type Parts = Vec<Vec<f64>>;

/// A transform along every dimension of a shape.
#[derive(Debug, Clone)]
pub struct FftnDefinition {
    /// Points along each dimension, at least one of them.
    pub dims: Vec<usize>,
    /// Whether the samples are real, so that the spectrum is the lower half along the last dimension.
    pub real: bool,
    /// From samples to the spectrum, or else back, without a factor.
    pub forward: bool,
}

impl FftnDefinition {
    /// The transform of `input`, row-major.
    pub fn output(&self, input: &Parts) -> Parts {
        match (self.real, self.forward) {
            (false, forward) => split(&self.along_all(joined(input), forward)),
            (true, true) => split(&self.lower_half(&self.along_all(joined(input), true))),
            (true, false) => vec![self.hermitian_sum(&joined(input))],
        }
    }

    /// The gradient of Σ weights · output in the input, which depends on the weights alone.
    pub fn gradient(&self, weights: &Parts) -> Parts {
        match (self.real, self.forward) {
            // Σ Re(w* F x) = Σ Re((F* w)* x).
            (false, forward) => split(&self.along_all(joined(weights), !forward)),
            // The bins that are not part of the output have weight 0.
            (true, true) => {
                let whole = self.widened(&joined(weights));
                vec![self.along_all(whole, false).iter().map(|value| value.re).collect()]
            }
            // An interior bin counts twice in the output: by itself, and as the conjugate of its mirror image.
            (true, false) => split(&self.with_mirror_images(&self.lower_half(&self.along_all(joined(weights), true)))),
        }
    }

    /// Points along the last dimension.
    fn last(&self) -> usize {
        self.dims[self.dims.len() - 1]
    }

    /// Bins of a half spectrum along the last dimension.
    fn bins(&self) -> usize {
        self.last() / 2 + 1
    }

    /// A half spectrum, the bins that stand for two of the whole one times 2.
    fn with_mirror_images(&self, half: &[Complex]) -> Vec<Complex> {
        let factor = |k: usize| if k > 0 && 2 * k != self.last() { 2.0 } else { 1.0 };
        half.iter().enumerate().map(|(at, &bin)| factor(at % self.bins()) * bin).collect()
    }

    /// The real values of a half spectrum: transforms along the outer dimensions, then the sum over the last one, of
    /// which the interior bins count with their conjugates and the others by their real parts.
    fn hermitian_sum(&self, half: &[Complex]) -> Vec<f64> {
        let whole = self.widened(&self.with_mirror_images(half));
        self.along_all(whole, false).iter().map(|value| value.re).collect()
    }

    /// A half spectrum with zeros instead of the upper half.
    fn widened(&self, half: &[Complex]) -> Vec<Complex> {
        let zeros = vec![Complex::ZERO; self.last() - self.bins()];
        half.chunks(self.bins()).flat_map(|bins| [bins, &zeros].concat()).collect()
    }

    /// The lower half of a spectrum along the last dimension.
    fn lower_half(&self, whole: &[Complex]) -> Vec<Complex> {
        whole.chunks(self.last()).flat_map(|row| row[..self.bins()].iter().copied()).collect()
    }

    /// The complex transform along every dimension.
    fn along_all(&self, mut values: Vec<Complex>, forward: bool) -> Vec<Complex> {
        let mut inner = 1;
        for &n in self.dims.iter().rev() {
            for block in values.chunks_mut(n * inner) {
                for first in 0..inner {
                    let column: Vec<Complex> = block[first..].iter().step_by(inner).copied().collect();
                    let column = if forward { fast_dft(&column) } else { fast_inverse_dft(&column) };
                    block[first..].iter_mut().step_by(inner).zip(column).for_each(|(place, value)| *place = value);
                }
            }
            inner *= n;
        }
        values
    }
}

/// Complex values of their parts.
pub fn joined(parts: &[Vec<f64>]) -> Vec<Complex> {
    match parts {
        [re, im] => re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect(),
        real => real.iter().flatten().map(|&re| re.into()).collect(),
    }
}

/// Real and imaginary parts.
pub fn split(values: &[Complex]) -> Parts {
    vec![values.iter().map(|value| value.re).collect(), values.iter().map(|value| value.im).collect()]
}

#[cfg(test)]
mod tests {
    use super::super::dft::twiddle;
    use super::*;

    fn noise(len: usize, parts: usize) -> Parts {
        let value = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
        (0..parts).map(|part| (0..len).map(|i| value(i + part * len)).collect()).collect()
    }

    /// e^(∓2πi Σ j·k/n) of the points with positions `j` and `k` in a shape.
    fn phase(dims: &[usize], j: usize, k: usize, forward: bool) -> Complex {
        let (mut j, mut k, mut product) = (j, k, Complex::new(1.0, 0.0));
        for &n in dims.iter().rev() {
            product = product * twiddle((j % n) * (k % n), n);
            (j, k) = (j / n, k / n);
        }
        if forward { product } else { Complex::new(product.re, -product.im) }
    }

    /// The transform by its definition: the sum over all points.
    fn sum(definition: &FftnDefinition, input: &Parts) -> Parts {
        let FftnDefinition { dims, real, forward } = definition;
        let (points, n, width) = (dims.iter().product(), definition.last(), definition.bins());
        let values = joined(input);
        let place = |bin: usize| bin / width * n + bin % width;
        let all = |k: usize| (0..points).fold(Complex::ZERO, |sum, j| sum + values[j] * phase(dims, j, k, *forward));
        match (real, forward) {
            (false, _) => split(&(0..points).map(all).collect::<Vec<_>>()),
            (true, true) => split(&(0..values.len() / n * width).map(|bin| all(place(bin))).collect::<Vec<_>>()),
            (true, false) => {
                let term = |j: usize, bin: usize| {
                    let k = bin % width;
                    let factor = if k > 0 && 2 * k != n { 2.0 } else { 1.0 };
                    factor * (values[bin] * phase(dims, place(bin), j, false)).re
                };
                vec![(0..points).map(|j| (0..values.len()).map(|bin| term(j, bin)).sum()).collect()]
            }
        }
    }

    #[test]
    fn transforms_are_the_sums_of_their_definitions() {
        let shapes = [vec![1], vec![2], vec![7], vec![12], vec![3, 4], vec![4, 5], vec![2, 3, 6]];
        for (dims, real, forward) in shapes.iter().flat_map(|dims| {
            [(false, true), (false, false), (true, true), (true, false)].map(|(real, forward)| (dims, real, forward))
        }) {
            let definition = FftnDefinition { dims: dims.clone(), real, forward };
            let points: usize = dims.iter().product();
            let spectrum = if real { points / definition.last() * definition.bins() } else { points };
            let (input, output) = if forward { (points, spectrum) } else { (spectrum, points) };
            let parts = |is_samples: bool| if real && is_samples { 1 } else { 2 };
            let given = noise(input, parts(forward));
            for (got, expected) in definition.output(&given).iter().zip(sum(&definition, &given)) {
                assert_eq!(got.len(), output);
                assert!(got.iter().zip(&expected).all(|(got, sum)| (got - sum).abs() < 1e-12), "{definition:?}");
            }
            // The gradient of Σ w·F(x) is what F(x + d) − F(x) = F(d) says, for any direction d.
            let weights = noise(output, parts(!forward));
            let dot =
                |a: &Parts, b: &Parts| a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a * b).sum::<f64>();
            let along = dot(&definition.gradient(&weights), &given);
            assert!((along - dot(&weights, &definition.output(&given))).abs() < 1e-11, "{definition:?}");
        }
    }
}
