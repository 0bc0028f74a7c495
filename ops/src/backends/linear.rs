//! Reverse-mode differentiation of linear operations: the backward pass is the adjoint, and nothing is saved for it.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, TensorMetadata};
use burn::tensor::Slice;
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

use crate::descriptor::{OpDescriptor, OperationOutputs, take};
use crate::ops::SpectralOps;

/// Backward pass of a linear operation.
#[derive(Debug)]
struct LinearBackward;

/// State of a backward pass.
#[derive(Debug, Clone)]
struct LinearState {
    adjoint: OpDescriptor,
    /// Values along the last dimension of the operation's inputs.
    width: usize,
    /// Whether the output is two parts, stacked.
    stacked: bool,
}

impl<B: SpectralOps, const N: usize> Backward<B, N> for LinearBackward {
    type State = LinearState;

    fn backward(self, ops: Ops<LinearState, N>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let LinearState { adjoint, width, stacked } = ops.state;
        let grad = grads.consume::<B>(&ops.node);
        let parts = if stacked { unstack::<B>(grad).into() } else { vec![grad] };
        for (parent, gradient) in ops.parents.into_iter().zip(adjoint.run::<B>(parts).into_floats()) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, resized::<B>(gradient, width));
            }
        }
    }
}

/// The two halves of a tensor along its first dimension.
pub(super) fn unstack<B: Backend>(stacked: FloatTensor<B>) -> [FloatTensor<B>; 2] {
    let shape = stacked.shape();
    let half = shape[0] / 2;
    [0..half, half..2 * half].map(|part| {
        let others = (1..shape.num_dims()).map(|dim| Slice::from(0..shape[dim]));
        let slices: Vec<_> = std::iter::once(Slice::from(part)).chain(others).collect();
        B::float_slice(stacked.clone(), &slices)
    })
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
    let mut outputs = operation.run::<B>(inputs).into_floats();
    // One output is what the tape takes per operation: two parts are stacked along the first dimension.
    let stacked = outputs.len() == 2;
    let output = if stacked { B::float_cat(outputs.collect(), 0) } else { take(&mut outputs) };
    let output = match LinearBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prep) => prep.finish(LinearState { adjoint, width, stacked }, output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    };
    OperationOutputs::Floats(if stacked { unstack::<Autodiff<B, C>>(output).into() } else { vec![output] })
}
