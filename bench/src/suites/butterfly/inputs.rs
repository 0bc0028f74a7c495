//! Inputs of the suite: complex noise made from a seed, in the layouts that strategies take.

use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use super::coefficients::CoefficientSets;
use super::problem::ButterflyProblem;
use crate::baselines::copy::CopyInputs;
use crate::harness::input_sets::count_of_sets;

/// Copies of every input set: parts on the host, parts on the device, interleaved.
const COPIES: usize = 3;
/// Outputs, each as large as an input set, that the strategies keep between runs: one each, and those that automatic
/// differentiation keeps.
const OUTPUTS: usize = 24;

/// Input sets of a problem, each `[batch, n]`, and the coefficients they go through.
pub struct ButterflyInputs {
    problem: ButterflyProblem,
    sets: Vec<[Vec<f32>; 2]>,
    coefficients: CoefficientSets,
    device: Device,
    tensors: OnceLock<Vec<[Tensor<2>; 2]>>,
    interleaved: OnceLock<Vec<Vec<Complex<f32>>>>,
}

impl ButterflyInputs {
    /// At most `most` input sets for `problem`, the same for the same seed.
    pub fn generate(problem: &ButterflyProblem, seed: u64, most: usize, device: &Device) -> Self {
        let sets = (0..set_count(problem, most)).map(|set| generate_set(problem, seed, set)).collect();
        let coefficients = CoefficientSets::new(problem.n, problem.open, seed);
        Self {
            problem: *problem,
            sets,
            coefficients,
            device: device.clone(),
            tensors: OnceLock::new(),
            interleaved: OnceLock::new(),
        }
    }

    /// Bytes that the input sets of `problem` and the outputs of strategies take.
    pub fn memory(problem: &ButterflyProblem, most: usize) -> usize {
        (COPIES * set_count(problem, most) + OUTPUTS) * problem.input_bytes()
    }

    /// Whether these are inputs of `problem`.
    pub fn fit(&self, problem: &ButterflyProblem) -> bool {
        self.problem == *problem
    }

    /// Number of sets; at least 1.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// Real and imaginary parts of every set, `[batch, n]` in row-major order.
    pub fn host(&self) -> &[[Vec<f32>; 2]] {
        &self.sets
    }

    /// Real and imaginary part of the values of one row of a set.
    pub fn row(&self, set: usize, row: usize) -> impl Iterator<Item = (f32, f32)> {
        let places = row * self.problem.n..(row + 1) * self.problem.n;
        let [re, im] = &self.sets[set];
        re[places.clone()].iter().copied().zip(im[places].iter().copied())
    }

    /// Real and imaginary parts of every set as tensors `[batch, n]` on the device, put there at the first call.
    pub fn tensors(&self) -> &[[Tensor<2>; 2]] {
        self.tensors.get_or_init(|| {
            let shape = [self.problem.batch, self.problem.n];
            let tensor = |part: &Vec<f32>| Tensor::from_data(TensorData::new(part.clone(), shape), &self.device);
            self.sets.iter().map(|parts| parts.each_ref().map(tensor)).collect()
        })
    }

    /// Every set with real and imaginary parts side by side, `[batch, n]`, made at the first call.
    pub fn interleaved(&self) -> &[Vec<Complex<f32>>] {
        let interleaved = |[re, im]: &[Vec<f32>; 2]| re.iter().zip(im).map(|(&re, &im)| Complex { re, im }).collect();
        self.interleaved.get_or_init(|| self.sets.iter().map(interleaved).collect())
    }

    /// Device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Twiddles and gates.
    pub fn coefficients(&self) -> &CoefficientSets {
        &self.coefficients
    }
}

impl CopyInputs for ButterflyInputs {
    fn host_parts(&self) -> Vec<Vec<&[f32]>> {
        self.sets.iter().map(|parts| parts.iter().map(Vec::as_slice).collect()).collect()
    }

    fn device_parts(&self) -> Vec<&[Tensor<2>]> {
        self.tensors().iter().map(|parts| &parts[..]).collect()
    }

    fn device(&self) -> &Device {
        &self.device
    }
}

fn set_count(problem: &ButterflyProblem, most: usize) -> usize {
    count_of_sets(problem.batch, problem.input_bytes(), most)
}

/// Uniform noise from −1 to 1.
fn generate_set(problem: &ButterflyProblem, seed: u64, set: usize) -> [Vec<f32>; 2] {
    [0, 1].map(|part| {
        let mut values = vec![0.0; problem.batch * problem.n];
        values.par_chunks_mut(problem.n).enumerate().for_each(|(row, values)| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream((2 * set as u64 + part) << 32 | row as u64);
            values.iter_mut().for_each(|value| *value = 2.0 * random.random::<f32>() - 1.0);
        });
        values
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_input_and_rows_differ() {
        let problem = ButterflyProblem { n: 16, batch: 3, open: 0.5 };
        let inputs = |seed| ButterflyInputs::generate(&problem, seed, 2, &Device::flex());
        assert_eq!(inputs(1).host(), inputs(1).host());
        assert_ne!(inputs(1).host(), inputs(2).host());
        let inputs = inputs(1);
        let row = |set, row| inputs.row(set, row).collect::<Vec<_>>();
        assert!(row(0, 0) != row(0, 1) && row(0, 0) != row(1, 0));
        assert_eq!(inputs.tensors()[1][1].clone().into_data().as_slice::<f32>().unwrap(), inputs.host()[1][1]);
    }
}
