//! Calls of a layer on the device.

use burn::tensor::FloatDType;

use super::inputs::LayerInputs;
use super::layer::Layer;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::calls::Calls;
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::routine::{RoutineError, RoutineOutput};

/// Formulation of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerFormulation {
    /// One operation.
    Fused,
    /// Separate operations.
    Separate,
}

/// Computation that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// The result.
    Forward,
    /// The result, and the gradients of a weighted sum of it in all inputs.
    Backward,
}

/// The result of a layer, or the gradients in its inputs.
///
/// # Errors
/// If an operation refuses an argument, or a gradient is missing.
pub fn compute<L: Layer>(
    layer: &L,
    formulation: LayerFormulation,
    inputs: L::Inputs,
    weights: Option<&RankedTensor>,
) -> Result<Vec<RankedTensor>, RoutineError> {
    let forward = |inputs| match formulation {
        LayerFormulation::Fused => layer.fused(inputs),
        LayerFormulation::Separate => layer.separate(inputs),
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

/// Calls of a layer; gradients of Σ weights · result where there are `weights`.
///
/// # Errors
/// If the layer can't be computed.
pub fn routine<'a, L: Layer>(
    layer: L,
    formulation: LayerFormulation,
    inputs: &'a LayerInputs,
    weights: Option<&[f32]>,
    calls: Calls,
) -> Result<impl RoutineOutput<Vec<Vec<f32>>> + use<'a, L>, RoutineError> {
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
    let call = move |inputs| compute(&layer, formulation, inputs, weights.as_ref());
    Ok(DeviceRoutine::new(sets, device, call).with_calls(calls))
}
