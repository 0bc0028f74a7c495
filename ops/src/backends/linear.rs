//! Reverse-mode differentiation of linear operations: the backward pass is the adjoint, and nothing is saved for it.

use burn::backend::tensor::FloatTensor;
use burn::backend::{AutodiffBackend, Backend, TensorMetadata};
use burn::tensor::Slice;
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use super::parts::PartGradients;
use crate::descriptor::{OpDescriptor, OperationOutputs, take};
use crate::ops::SpectralOps;

/// Backward pass of a linear operation.
#[derive(Debug)]
struct LinearBackward;

/// State of a backward pass.
#[derive(Debug, Clone)]
struct LinearState<B: Backend> {
    adjoint: OpDescriptor,
    /// Values along the last dimension of the operation's inputs.
    width: usize,
    /// Gradients of the outputs, of an operation that has two.
    parts: Option<PartGradients<B>>,
}

impl<B: SpectralOps, const N: usize> Backward<B, N> for LinearBackward {
    type State = LinearState<B>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let LinearState { adjoint, width, parts } = ops.state;
        let gradients = match parts {
            Some(parts) => parts.take().into(),
            None => vec![grads.consume::<B>(&ops.node)],
        };
        for (parent, gradient) in ops.parents.into_iter().zip(adjoint.run::<B>(gradients).into_floats()) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, resized::<B>(gradient, width));
            }
        }
    }
}

/// A tensor cut or padded with zeros to `width` values along its last dimension.
fn resized<B: Backend>(tensor: FloatTensor<B>, width: usize) -> FloatTensor<B> {
    let mut shape = tensor.shape();
    let last = shape.num_dims() - 1;
    let length = shape[last];
    let within: Vec<_> =
        (0..=last).map(|dim| Slice::from(0..if dim == last { width.min(length) } else { shape[dim] })).collect();
    if width <= length {
        return if width == length { tensor } else { B::float_slice(tensor, &within) };
    }
    shape[last] = width;
    let zeros = B::float_zeros(shape, &tensor.device(), tensor.dtype().into());
    B::float_slice_assign(zeros, &within, tensor)
}

/// Runs a linear operation on the inner backend, and puts its adjoint on the tape.
pub(super) fn apply<B: SpectralOps, C: CheckpointStrategy>(
    operation: OpDescriptor,
    adjoint: OpDescriptor,
    inputs: Vec<FloatTensor<Autodiff<B, C>>>,
) -> OperationOutputs<Autodiff<B, C>> {
    // The tape counts an operation's inputs at compile time.
    match inputs.len() {
        1 => apply_to::<B, C, 1>(operation, adjoint, inputs),
        _ => apply_to::<B, C, 2>(operation, adjoint, inputs),
    }
}

fn apply_to<B: SpectralOps, C: CheckpointStrategy, const N: usize>(
    operation: OpDescriptor,
    adjoint: OpDescriptor,
    inputs: Vec<FloatTensor<Autodiff<B, C>>>,
) -> OperationOutputs<Autodiff<B, C>> {
    let nodes: [_; N] = std::array::from_fn(|input| inputs[input].node());
    let width = inputs[0].shape().last().copied().unwrap_or(0);
    let inputs = inputs.into_iter().map(|input| input.into_primitive()).collect();
    let outputs: Vec<_> = operation.run::<B>(inputs).into_floats().collect();
    let step = LinearBackward.prepare::<C>(nodes).compute_bound().stateful();
    OperationOutputs::Floats(match step {
        OpsKind::Tracked(prep) => match <[_; 2]>::try_from(outputs) {
            Ok(outputs) => {
                let parts = PartGradients::<B>::default();
                let state = LinearState { adjoint, width, parts: Some(parts.clone()) };
                parts.outputs::<C>(&prep.finish(state, outputs[0].clone()), outputs)
            }
            Err(outputs) => {
                vec![prep.finish(LinearState { adjoint, width, parts: None }, take(&mut outputs.into_iter()))]
            }
        },
        OpsKind::UnTracked(_) => outputs.into_iter().map(Autodiff::<B, C>::from_inner).collect(),
    })
}
