//! Inputs of the peaks suite: tones in noise, made from a seed.

use std::f64::consts::TAU;
use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::problem::PeaksProblem;
use crate::baselines::copy::CopyInputs;
use crate::harness::input_sets::count_of_sets;

const MOST_TONES: u32 = 6;

/// Input sets of a problem, each `[batch, frame]`, used in turn by a measurement.
pub struct FrameInputs {
    shape: [usize; 2],
    sets: Vec<Vec<f32>>,
    device: Device,
    tensors: OnceLock<Vec<Tensor<2>>>,
}

impl FrameInputs {
    /// At most `most` input sets for `problem`, the same for the same seed.
    pub fn generate(problem: &PeaksProblem, seed: u64, most: usize, device: &Device) -> Self {
        let shape = [problem.batch, problem.frame()];
        let sets = (0..set_count(problem, most)).map(|set| generate_set(shape, seed, set)).collect();
        Self { shape, sets, device: device.clone(), tensors: OnceLock::new() }
    }

    /// Bytes of the input sets of `problem`: once in host memory, once on the device.
    pub fn memory(problem: &PeaksProblem, most: usize) -> usize {
        2 * set_count(problem, most) * problem.input_bytes()
    }

    /// Whether these are inputs of `problem`.
    pub fn fit(&self, problem: &PeaksProblem) -> bool {
        self.shape == [problem.batch, problem.frame()]
    }

    /// Number of sets; at least 1.
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// The sets in host memory, each `[batch, frame]` in row-major order.
    pub fn host(&self) -> &[Vec<f32>] {
        &self.sets
    }

    /// The sets as tensors `[batch, frame]` on the device, transferred at the first call.
    pub fn tensors(&self) -> &[Tensor<2>] {
        self.tensors.get_or_init(|| (0..self.sets.len()).map(|set| self.to_device(set)).collect())
    }

    /// A new tensor `[batch, frame]` of a set, on the device.
    pub fn to_device(&self, set: usize) -> Tensor<2> {
        Tensor::from_data(TensorData::new(self.sets[set].clone(), self.shape), &self.device)
    }

    /// The same sets with the first `frame` samples of each row.
    pub fn cut(&self, frame: usize) -> Self {
        let [batch, long] = self.shape;
        let cut = |set: &Vec<f32>| set.chunks(long).flat_map(|row| &row[..frame]).copied().collect();
        let sets = self.sets.iter().map(cut).collect();
        Self { shape: [batch, frame], sets, device: self.device.clone(), tensors: OnceLock::new() }
    }

    /// Device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// One row of a set: `[frame]`.
    pub fn row(&self, set: usize, row: usize) -> &[f32] {
        let [_, frame] = self.shape;
        &self.sets[set][row * frame..][..frame]
    }
}

impl CopyInputs for FrameInputs {
    fn host_parts(&self) -> Vec<Vec<&[f32]>> {
        self.sets.iter().map(|set| vec![&set[..]]).collect()
    }

    fn device_parts(&self) -> Vec<&[Tensor<2>]> {
        self.tensors().chunks(1).collect()
    }

    fn device(&self) -> &Device {
        &self.device
    }
}

fn set_count(problem: &PeaksProblem, most: usize) -> usize {
    count_of_sets(problem.batch, problem.input_bytes(), most)
}

fn generate_set([batch, frame]: [usize; 2], seed: u64, set: usize) -> Vec<f32> {
    let mut samples = vec![0.0; batch * frame];
    samples.par_chunks_mut(frame).enumerate().for_each(|(row, samples)| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream((set as u64) << 32 | row as u64);
        fill_row(samples, &mut random);
    });
    samples
}

/// Fills a row with one to six tones of any frequency and phase and an amplitude from 0.05 to 5, in white noise
/// (uniform, standard deviation 1).
fn fill_row(samples: &mut [f32], random: &mut ChaCha8Rng) {
    for sample in samples.iter_mut() {
        *sample = 3f32.sqrt() * (2.0 * random.random::<f32>() - 1.0);
    }
    for _ in 0..random.random_range(1..=MOST_TONES) {
        let amplitude = 0.05 * 100f64.powf(random.random());
        let (step_im, step_re) = (0.5 * TAU * random.random::<f64>()).sin_cos();
        let (mut im, mut re) = (TAU * random.random::<f64>()).sin_cos();
        for sample in samples.iter_mut() {
            *sample += (amplitude * re) as f32;
            (re, im) = (re * step_re - im * step_im, re * step_im + im * step_re);
        }
    }
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    fn inputs(seed: u64) -> FrameInputs {
        FrameInputs::generate(&PeaksProblem::new(64, Tier::Fast, 3, 4), seed, 5, &Device::flex())
    }

    #[test]
    fn a_seed_gives_the_same_input_and_another_seed_another() {
        assert_eq!(inputs(1).host(), inputs(1).host());
        assert_ne!(inputs(1).host(), inputs(2).host());
    }

    #[test]
    fn rows_and_sets_differ_and_are_finite() {
        let inputs = inputs(1);
        assert_eq!(inputs.count(), 5);
        assert_ne!(inputs.row(0, 0), inputs.row(0, 1));
        assert_ne!(inputs.row(0, 0), inputs.row(1, 0));
        assert!(inputs.host().iter().flatten().all(|sample| sample.is_finite() && sample.abs() < 40.0));
    }

    #[test]
    fn cut_rows_are_the_beginnings_of_rows() {
        let (inputs, cut) = (inputs(1), inputs(1).cut(64));
        assert_eq!((cut.count(), cut.host()[0].len()), (inputs.count(), 3 * 64));
        assert_eq!(cut.row(1, 2), &inputs.row(1, 2)[..64]);
    }

    #[test]
    fn tensors_hold_the_host_samples() {
        let inputs = inputs(1);
        assert_eq!(inputs.tensors().len(), inputs.count());
        let data = inputs.tensors()[4].clone().into_data();
        assert_eq!(data.as_slice::<f32>().unwrap(), inputs.host()[4]);
    }
}
