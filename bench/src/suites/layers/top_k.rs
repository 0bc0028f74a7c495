//! The largest values of rows.

use burn::tensor::{Device, FloatDType, Gradients, Tensor};
use firefly_ops::top_k;

use super::inputs::HostTensor;
use super::layer::Layer;
use crate::harness::any_tensor::RankedTensor;
use crate::harness::routine::RoutineError;

/// The largest values of every row `[batch, channels, n]`. Their positions are in the gradients.
#[derive(Debug, Clone, Copy)]
pub struct TopKLayer {
    /// Values per row.
    pub k: usize,
}

impl Layer for TopKLayer {
    type Inputs = Tensor<3>;

    fn inputs(&self, host: &[&HostTensor], device: &Device, dtype: FloatDType) -> Tensor<3> {
        host[0].tensor(device, dtype)
    }

    fn fused(&self, values: Tensor<3>) -> Result<RankedTensor, RoutineError> {
        Ok(top_k(values, self.k)?.power.into())
    }

    fn separate(&self, values: Tensor<3>) -> Result<RankedTensor, RoutineError> {
        let (largest, _positions) = values.topk_with_indices(self.k, 2);
        Ok(largest.into())
    }

    fn tracked(values: Tensor<3>) -> Tensor<3> {
        values.autodiff().require_grad()
    }

    fn gradients(values: &Tensor<3>, gradients: &Gradients) -> Option<Vec<RankedTensor>> {
        Some(vec![values.grad(gradients)?.into()])
    }
}
