//! Interface that the layers have in common.

use burn::tensor::{Device, FloatDType, Gradients};

use super::inputs::HostTensor;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// A layer, computed by one operation or by several.
pub trait Layer: Clone + Send + Sync + 'static {
    /// The tensors that the layer is applied to, and its parameters.
    type Inputs: Clone + Send;

    /// The inputs on a device, in the order of [`LayerInputs`](super::LayerInputs).
    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Self::Inputs;

    /// The result of one operation.
    ///
    /// # Errors
    /// If the operation refuses an argument.
    fn fused(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError>;

    /// The result of separate operations.
    ///
    /// # Errors
    /// If one of them refuses an argument.
    fn separate(&self, inputs: Self::Inputs) -> Result<RankedTensor, RoutineError>;

    /// The inputs, tracked.
    fn tracked(inputs: Self::Inputs) -> Self::Inputs;

    /// Gradients of tracked inputs, in their order.
    fn gradients(inputs: &Self::Inputs, gradients: &Gradients) -> Option<Vec<RankedTensor>>;
}
