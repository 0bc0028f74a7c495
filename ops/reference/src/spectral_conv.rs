//! Spectral convolution: transform of all bins, product with weights at the kept modes, inverse transform.

use super::Complex;
use super::dft::twiddle;

/// Sizes of a spectral convolution.
#[derive(Debug, Clone)]
pub struct SpectralConvDefinition {
    /// Batch elements.
    pub batch: usize,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Points of each transformed dimension.
    pub points: Vec<usize>,
    /// Modes kept of each: of the last, the lowest bins; of any other, the lowest ⌈m/2⌉ bins, then the highest ⌊m/2⌋.
    pub modes: Vec<usize>,
}

impl SpectralConvDefinition {
    /// `input` \[batch, inputs, points…\], weights \[inputs, outputs, modes…\] → \[batch, outputs, points…\]: the real
    /// part of the inverse transform of the Hermitian spectrum whose half is Σ_i X\[b, i, k\]·weights\[i, o, k\] at
    /// the modes k.
    pub fn apply(&self, input: &[f64], weights: &[Complex]) -> Vec<f64> {
        let samples: usize = self.points.iter().product();
        let bins: Vec<Vec<usize>> = self.kept_bins();
        let channel = |index: usize| &input[index * samples..(index + 1) * samples];
        let mut result = Vec::with_capacity(self.batch * self.outputs * samples);
        for b in 0..self.batch {
            let spectra: Vec<Vec<Complex>> = (0..self.inputs)
                .map(|i| bins.iter().map(|bin| self.bin_of(channel(b * self.inputs + i), bin)).collect())
                .collect();
            for o in 0..self.outputs {
                let product: Vec<Complex> = (0..bins.len())
                    .map(|k| {
                        (0..self.inputs).fold(Complex::ZERO, |sum, i| {
                            sum + spectra[i][k] * weights[(i * self.outputs + o) * bins.len() + k]
                        })
                    })
                    .collect();
                result.extend((0..samples).map(|at| self.sample_of(&product, &bins, &self.position(at))));
            }
        }
        result
    }

    /// The bin of every mode, row-major.
    fn kept_bins(&self) -> Vec<Vec<usize>> {
        let last = self.points.len() - 1;
        let mut all = vec![Vec::new()];
        for (dim, (&n, &m)) in self.points.iter().zip(&self.modes).enumerate() {
            let bin = |mode: usize| if dim == last || mode < m.div_ceil(2) { mode } else { n - m + mode };
            all = all.iter().flat_map(|bins| (0..m).map(move |mode| [&bins[..], &[bin(mode)]].concat())).collect();
        }
        all
    }

    /// The indices of value `at`.
    fn position(&self, mut at: usize) -> Vec<usize> {
        let mut indices: Vec<usize> = self
            .points
            .iter()
            .rev()
            .map(|n| {
                let index = at % n;
                at /= n;
                index
            })
            .collect();
        indices.reverse();
        indices
    }

    /// exp(−2πi Σ_d index_d·bin_d/n_d).
    fn turn(&self, indices: &[usize], bin: &[usize]) -> Complex {
        let turns = self.points.iter().zip(indices.iter().zip(bin)).map(|(&n, (&j, &k))| twiddle(j * k, n));
        turns.fold(Complex::new(1.0, 0.0), |product, turn| product * turn)
    }

    fn bin_of(&self, channel: &[f64], bin: &[usize]) -> Complex {
        let terms = channel.iter().enumerate().map(|(at, &x)| x * self.turn(&self.position(at), bin));
        terms.fold(Complex::ZERO, |sum, term| sum + term)
    }

    /// 1/N Σ_k Re(Y\[k\]·exp(2πi jk/n)), twice for bins whose mirror image along the last dimension is another one.
    fn sample_of(&self, spectrum: &[Complex], bins: &[Vec<usize>], indices: &[usize]) -> f64 {
        let last = self.points.len() - 1;
        let sum: f64 = spectrum
            .iter()
            .zip(bins)
            .map(|(&value, bin)| {
                let turn = self.turn(indices, bin);
                let real = (value * turn.conj()).re;
                if bin[last] == 0 || 2 * bin[last] == self.points[last] { real } else { 2.0 * real }
            })
            .sum();
        sum / self.points.iter().product::<usize>() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modes_with_weights_of_one_are_the_input() {
        for points in [vec![5], vec![4, 6], vec![2, 3, 4]] {
            let mut modes = points.clone();
            *modes.last_mut().unwrap() = points.last().unwrap() / 2 + 1;
            let count: usize = points.iter().product();
            let weights = vec![Complex::new(1.0, 0.0); modes.iter().product()];
            let input: Vec<f64> = (0..count).map(|j| (j * j % 7) as f64 - 2.0).collect();
            let definition = SpectralConvDefinition { batch: 1, inputs: 1, outputs: 1, points, modes };
            let output = definition.apply(&input, &weights);
            assert!(input.iter().zip(output).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn channels_are_summed() {
        let definition = SpectralConvDefinition { batch: 1, inputs: 2, outputs: 1, points: vec![2], modes: vec![1] };
        let output = definition.apply(&[1.0, 3.0, 5.0, 5.0], &[Complex::new(1.0, 9.0), Complex::new(0.5, 0.0)]);
        // The means, 2 and 5; the imaginary weight of bin 0 does not count.
        assert_eq!(output, [4.5, 4.5]);
    }
}
