//! Inputs of the transforms: noise made from a seed, in the layouts that strategies take.

use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::Direction;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use super::problem::{FftProblem, FftValues};
use crate::baselines::copy::CopyInputs;
use crate::harness::input_sets::count_of_sets;

/// Copies of every input set: parts on the host, parts on the device, interleaved.
const COPIES: usize = 3;
/// Outputs that the strategies keep between runs: one each, and those of calls in flight and of automatic
/// differentiation.
const OUTPUTS: usize = 24;

/// Parts of an input set, `[batch, values]` each: one of real values, two of complex ones.
pub type HostParts = Vec<Vec<f32>>;

/// Input sets of a problem.
pub struct FftInputs {
    problem: FftProblem,
    sets: Vec<HostParts>,
    device: Device,
    tensors: OnceLock<Vec<Vec<Tensor<2>>>>,
    interleaved: OnceLock<Vec<Vec<Complex<f32>>>>,
}

impl FftInputs {
    /// At most `most` input sets for `problem`, the same for the same seed.
    pub fn generate(problem: &FftProblem, seed: u64, most: usize, device: &Device) -> Self {
        let sets = (0..set_count(problem, most)).map(|set| generate_set(problem, seed, set)).collect();
        let (tensors, interleaved) = (OnceLock::new(), OnceLock::new());
        Self { problem: problem.clone(), sets, device: device.clone(), tensors, interleaved }
    }

    /// Bytes that the input sets of `problem` and the outputs of strategies take.
    pub fn memory(problem: &FftProblem, most: usize) -> usize {
        let input = COPIES * set_count(problem, most) * problem.input().bytes();
        (input + OUTPUTS * problem.output().bytes().max(problem.input().bytes())) * problem.batch
    }

    /// Whether these are inputs of `problem`.
    pub fn fit(&self, problem: &FftProblem) -> bool {
        self.problem == *problem
    }

    /// Number of sets; at least 1.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// Parts of every set.
    pub fn host(&self) -> &[HostParts] {
        &self.sets
    }

    /// Parts of one row of a set, in float64.
    pub fn row(&self, set: usize, row: usize) -> Vec<Vec<f64>> {
        let len = self.problem.input().len;
        let of_part = |part: &Vec<f32>| part[row * len..(row + 1) * len].iter().map(|&value| value.into()).collect();
        self.sets[set].iter().map(of_part).collect()
    }

    /// Parts of every set as tensors `[batch, values]` on the device, put there at the first call.
    pub fn tensors(&self) -> &[Vec<Tensor<2>>] {
        self.tensors.get_or_init(|| {
            let shape = [self.problem.batch, self.problem.input().len];
            let tensor = |part: &Vec<f32>| Tensor::from_data(TensorData::new(part.clone(), shape), &self.device);
            self.sets.iter().map(|parts| parts.iter().map(tensor).collect()).collect()
        })
    }

    /// Every set of complex values with real and imaginary parts side by side, made at the first call; empty for real
    /// values.
    pub fn interleaved(&self) -> &[Vec<Complex<f32>>] {
        let interleaved = |parts: &HostParts| match &parts[..] {
            [re, im] => re.iter().zip(im).map(|(&re, &im)| Complex { re, im }).collect(),
            _ => Vec::new(),
        };
        self.interleaved.get_or_init(|| self.sets.iter().map(interleaved).collect())
    }

    /// Device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

impl CopyInputs for FftInputs {
    fn host_parts(&self) -> Vec<Vec<&[f32]>> {
        self.sets.iter().map(|parts| parts.iter().map(Vec::as_slice).collect()).collect()
    }

    fn device_parts(&self) -> Vec<&[Tensor<2>]> {
        self.tensors().iter().map(Vec::as_slice).collect()
    }

    fn device(&self) -> &Device {
        &self.device
    }
}

fn set_count(problem: &FftProblem, most: usize) -> usize {
    count_of_sets(problem.batch, problem.batch * problem.input().bytes(), most)
}

/// Uniform noise from −1 to 1. Along the last dimension of half spectra, bins that a real spectrum has no imaginary
/// part at have none.
fn generate_set(problem: &FftProblem, seed: u64, set: usize) -> HostParts {
    let input = problem.input();
    let is_half = problem.values == FftValues::Real && problem.direction == Direction::Inverse;
    let (n, bins) = (problem.shape.last(), problem.bins());
    let part = |part: usize| {
        let mut values = vec![0.0; problem.batch * input.len];
        values.par_chunks_mut(input.len).enumerate().for_each(|(row, values)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((2 * set + part) as u64 + ((row as u64) << 32));
            for (at, value) in values.iter_mut().enumerate() {
                let noise = 2.0 * random.random::<f32>() - 1.0;
                let is_real = is_half && (at % bins == 0 || 2 * (at % bins) == n);
                *value = if part == 1 && is_real { 0.0 } else { noise };
            }
        });
        values
    };
    (0..input.parts).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::fft::problem::{Extent, grid};
    use crate::suites::fft::shape::Shapes;

    fn problem(values: FftValues, direction: Direction, shape: &str) -> FftProblem {
        let shapes = Shapes::of(&[shape.parse().unwrap()]);
        grid(&[values], &[direction], &shapes, &Extent::Batches(vec![3])).remove(0)
    }

    #[test]
    fn a_seed_gives_the_same_input_and_rows_differ() {
        let problem = problem(FftValues::Complex, Direction::Forward, "16");
        let inputs = |seed| FftInputs::generate(&problem, seed, 2, &Device::flex());
        assert_eq!(inputs(1).host(), inputs(1).host());
        assert_ne!(inputs(1).host(), inputs(2).host());
        let inputs = inputs(1);
        assert!(inputs.row(0, 0) != inputs.row(0, 1) && inputs.row(0, 0) != inputs.row(1, 0));
        assert_eq!(inputs.tensors()[1][1].clone().into_data().as_slice::<f32>().unwrap(), inputs.host()[1][1]);
        assert_eq!(inputs.interleaved()[1][17].im, inputs.host()[1][1][17]);
    }

    #[test]
    fn half_spectra_are_those_of_real_rows() {
        let problem = problem(FftValues::Real, Direction::Inverse, "2x4");
        let row = &FftInputs::generate(&problem, 1, 1, &Device::flex()).row(0, 2)[1];
        assert_eq!(row.len(), 6);
        assert!([0, 2, 3, 5].iter().all(|&at| row[at] == 0.0) && row[1] != 0.0 && row[4] != 0.0, "{row:?}");
    }
}
