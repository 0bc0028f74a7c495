//! Calls of a layer on the device; the results stay there.

use burn::tensor::{Device, FloatDType};

use super::inputs::LayerInputs;
use super::layer::{AnyTensor, Layer};
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};

/// How a layer is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulation {
    /// By one operation.
    Fused,
    /// By separate operations.
    Separate,
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The result.
    Forward,
    /// The result, a weighted sum of it as loss, and the gradients in all inputs.
    Backward,
}

/// The result of a layer, or the gradients in its inputs.
///
/// # Errors
/// If an operation refuses an argument, or a gradient is missing.
pub fn compute<L: Layer>(
    layer: &L,
    formulation: Formulation,
    inputs: L::Inputs,
    weights: Option<&AnyTensor>,
) -> Result<Vec<AnyTensor>, RoutineError> {
    let forward = |inputs| match formulation {
        Formulation::Fused => layer.fused(inputs),
        Formulation::Separate => layer.separate(inputs),
    };
    match weights {
        None => Ok(vec![forward(inputs)?]),
        Some(weights) => {
            let inputs = L::tracked(inputs);
            let gradients = forward(inputs.clone())?.backward(weights)?;
            L::gradients(&inputs, &gradients).ok_or(RoutineError::MissingGradient)
        }
    }
}

/// Calls of a layer, one synchronisation after them.
pub struct LayerRoutine<'a, L: Layer> {
    layer: L,
    formulation: Formulation,
    sets: Vec<L::Inputs>,
    weights: Option<AnyTensor>,
    device: &'a Device,
    calls: usize,
    output: Vec<AnyTensor>,
}

impl<'a, L: Layer> LayerRoutine<'a, L> {
    /// `calls` calls per run; gradients of Σ weights · result where there are `weights`.
    ///
    /// # Errors
    /// If the layer can't be computed.
    pub fn new(
        layer: L,
        formulation: Formulation,
        inputs: &'a LayerInputs,
        weights: Option<&[f32]>,
        calls: usize,
    ) -> Result<Self, RoutineError> {
        let device = inputs.device();
        let set = |set| layer.inputs(&inputs.set(set), device, FloatDType::F32);
        let sets: Vec<L::Inputs> = (0..inputs.count()).map(set).collect();
        let weights = match weights {
            None => None,
            Some(values) => {
                let result = compute(&layer, formulation, sets[0].clone(), None)?;
                result.first().map(|result| result.with_values(values))
            }
        };
        Ok(Self { sets, layer, formulation, weights, device, calls, output: Vec::new() })
    }
}

impl<L: Layer> Routine for LayerRoutine<'_, L> {
    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        for _ in 0..self.calls {
            let inputs = self.sets[set].clone();
            self.output = compute(&self.layer, self.formulation, inputs, self.weights.as_ref())?;
        }
        self.device.sync().map_err(RoutineError::burn)
    }

    fn calls(&self) -> usize {
        self.calls
    }

    fn checksum(&self) -> u64 {
        let parts = self.output().unwrap_or_default();
        parts.iter().fold(0, |sum, part| sum.wrapping_mul(3) ^ checksum(bytemuck::cast_slice(part)))
    }

    fn release(&mut self) {
        self.output.clear();
    }
}

impl<L: Layer> RoutineOutput<Vec<Vec<f32>>> for LayerRoutine<'_, L> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        if self.output.is_empty() {
            return Err(RoutineError::NotRun);
        }
        self.output.iter().map(|tensor| tensor.data()?.try_to_vec::<f32>().map_err(RoutineError::burn)).collect()
    }
}
