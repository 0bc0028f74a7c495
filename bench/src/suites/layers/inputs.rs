//! Inputs of layers: noise made from a seed.

use std::sync::OnceLock;

use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::problem::LayerProblem;
use crate::baselines::copy::CopyInputs;

/// Input sets of a problem: its inputs are large.
const SETS: usize = 2;
/// Copies of the inputs in f32: on the host, on the device, and what strategies and gradients keep.
const COPIES: usize = 12;
/// Copies in f64 that the reference makes.
const WIDE_COPIES: usize = 24;

/// A tensor in host memory.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// Its values, row-major.
    pub values: Vec<f32>,
    /// Its shape.
    pub dims: Vec<usize>,
}

impl HostTensor {
    /// The tensor on a device.
    pub fn tensor<const D: usize>(&self, device: &Device, dtype: FloatDType) -> Tensor<D> {
        Tensor::from_data(TensorData::new(self.values.clone(), self.dims.clone()), (device, dtype.into()))
    }
}

/// Input sets of a problem: the first input of each, and the parameters, which are the same for all.
pub struct LayerInputs {
    problem: LayerProblem,
    firsts: Vec<HostTensor>,
    parameters: Vec<HostTensor>,
    device: Device,
    rows: OnceLock<Vec<Vec<Tensor<2>>>>,
}

impl LayerInputs {
    /// At most `most` input sets for `problem`, the same for the same seed.
    pub fn generate(problem: &LayerProblem, seed: u64, most: usize, device: &Device) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut noise = |dims: &Vec<usize>| {
            let values = (0..dims.iter().product()).map(|_| 2.0 * random.random::<f32>() - 1.0).collect();
            HostTensor { values, dims: dims.clone() }
        };
        let shapes = problem.shapes();
        let first = |_| match problem {
            LayerProblem::TopK(_, layer) => ranked(noise(&shapes[0]), layer.n),
            _ => noise(&shapes[0]),
        };
        let firsts = (0..SETS.min(most).max(1)).map(first).collect();
        let parameters = shapes[1..].iter().map(&mut noise).collect();
        Self { problem: problem.clone(), firsts, parameters, device: device.clone(), rows: OnceLock::new() }
    }

    /// Bytes that the input sets of `problem`, the outputs of strategies and the reference take.
    pub fn memory(problem: &LayerProblem, most: usize) -> usize {
        let values = problem.input_bytes() + problem.output_len() * size_of::<f32>();
        (COPIES * SETS.min(most).max(1) + 2 * WIDE_COPIES) * values
    }

    /// Whether these are inputs of `problem`.
    pub fn fit(&self, problem: &LayerProblem) -> bool {
        self.problem == *problem
    }

    /// Number of sets; at least 1.
    pub fn count(&self) -> usize {
        self.firsts.len()
    }

    /// All inputs of a set.
    pub fn set(&self, set: usize) -> Vec<&HostTensor> {
        [&self.firsts[set]].into_iter().chain(&self.parameters).collect()
    }

    /// Device of the tensors.
    pub fn device(&self) -> &Device {
        &self.device
    }
}

/// Ranks of the values of each row of `n`, spread from −1 to 1, in place of the values. No two are equal: to which of
/// equal values a gradient goes is not defined.
fn ranked(tensor: HostTensor, n: usize) -> HostTensor {
    let HostTensor { mut values, dims } = tensor;
    for row in values.chunks_mut(n) {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&left, &right| row[left].total_cmp(&row[right]));
        order.iter().enumerate().for_each(|(rank, &at)| row[at] = 2.0 * rank as f32 / n as f32 - 1.0);
    }
    HostTensor { values, dims }
}

impl CopyInputs for LayerInputs {
    fn host_parts(&self) -> Vec<Vec<&[f32]>> {
        self.firsts.iter().map(|first| vec![&first.values[..]]).collect()
    }

    fn device_parts(&self) -> Vec<&[Tensor<2>]> {
        let rows = |first: &HostTensor| {
            let last = first.dims.last().copied().unwrap_or(1);
            let data = TensorData::new(first.values.clone(), [first.values.len() / last, last]);
            vec![Tensor::from_data(data, &self.device)]
        };
        self.rows.get_or_init(|| self.firsts.iter().map(rows).collect()).iter().map(Vec::as_slice).collect()
    }

    fn device(&self) -> &Device {
        &self.device
    }
}
