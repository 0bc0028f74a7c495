//! Results and gradients in float64: the layer from separate operations on the CPU.

use std::sync::OnceLock;

use burn::tensor::{Device, FloatDType};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::inputs::LayerInputs;
use super::layer::Layer;
use super::problem::LayerProblem;
use super::routine::{LayerFormulation, Pass, compute};
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// A result, or the gradients in all inputs.
pub type LayerValues = Vec<Vec<f64>>;

/// Expected results, computed on first use.
pub struct ExpectedOutputs {
    weights: Vec<f32>,
    results: [OnceLock<LayerValues>; 2],
    gradients: OnceLock<LayerValues>,
}

impl ExpectedOutputs {
    /// Nothing computed yet, and the weights of the loss.
    pub fn new(problem: &LayerProblem, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(!seed);
        let weights = (0..problem.output_len()).map(|_| 2.0 * random.random::<f32>() - 1.0).collect();
        Self { weights, results: [const { OnceLock::new() }; 2], gradients: OnceLock::new() }
    }

    /// Weights of the result in the loss.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The expected values of a pass for a set; gradients of the first set only.
    ///
    /// # Errors
    /// If an operation refuses an argument.
    pub fn values<L: Layer>(
        &self,
        layer: &L,
        pass: Pass,
        inputs: &LayerInputs,
        set: usize,
    ) -> Result<&LayerValues, RoutineError> {
        let cell = match pass {
            Pass::Forward => &self.results[set],
            Pass::Backward => &self.gradients,
        };
        if let Some(values) = cell.get() {
            return Ok(values);
        }
        let device = Device::flex();
        let of_set = layer.inputs(&inputs.set(set), &device, FloatDType::F64);
        let weights = match pass {
            Pass::Forward => None,
            Pass::Backward => {
                let result = compute(layer, LayerFormulation::Separate, of_set.clone(), None)?;
                result.first().map(|result| result.with_values(&self.weights))
            }
        };
        let tensors = compute(layer, LayerFormulation::Separate, of_set, weights.as_ref())?;
        let read = |tensor: &RankedTensor| tensor.data()?.try_to_vec::<f64>().map_err(RoutineError::burn);
        let values = tensors.iter().map(read).collect::<Result<_, _>>()?;
        Ok(cell.get_or_init(|| values))
    }
}
