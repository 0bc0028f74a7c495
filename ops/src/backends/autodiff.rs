//! Reverse-mode differentiation: each operation runs on the inner backend and leaves its backward pass on the tape.

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{AutodiffBackend, Backend, TensorMetadata, get_device_settings};
use burn::tensor::{IndexingUpdateOp, IntDType};
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_autodiff::{Autodiff, NodeId};

use super::linear;
use super::parts::PartGradients;
use super::recorded::operations_as_data;
use crate::descriptor::{OpDescriptor, OperationOutputs, take};
use crate::ops::{
    AdamTensors, ButterflyTensors, LearnedTensors, LongConvTensors, PeakLossTensors, SpectralConvTensors, SpectralOps,
    WelchTensors,
};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

/// Backward pass of an operation.
#[derive(Debug)]
struct SpectralBackward;

/// State of a backward pass.
#[derive(Debug, Clone)]
struct BackwardState<B: Backend> {
    operation: OpDescriptor,
    /// Inputs that the gradients depend on, saved or recomputed as the checkpointing strategy decides.
    inputs: Vec<NodeId>,
    /// Selected bins, and the number of bins that they were selected from.
    selected: Option<(IntTensor<B>, usize)>,
    /// Gradients of the outputs, of an operation that has two.
    parts: Option<PartGradients<B>>,
}

impl<B: SpectralOps, const N: usize> Backward<B, N> for SpectralBackward {
    type State = BackwardState<B>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let BackwardState { operation, inputs, selected, parts } = ops.state;
        let mut inputs: Vec<FloatTensor<B>> =
            inputs.into_iter().map(|node| checkpointer.retrieve_node_output(node)).collect();
        if let Some(parts) = parts {
            inputs.extend(parts.take());
        } else {
            let grad = grads.consume::<B>(&ops.node);
            inputs.push(match selected {
                Some((bins, length)) => scatter::<B>(grad, bins, length),
                None => grad,
            });
        }
        let gradients = match operation {
            OpDescriptor::WelchPsd { options } | OpDescriptor::WelchPeaks { options, .. } => {
                OpDescriptor::WelchPsdBackward { options }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::Butterfly { gated } => {
                OpDescriptor::ButterflyBackward { gated }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::LearnedWelchPsd { options } | OpDescriptor::LearnedWelchPeaks { options, .. } => {
                let requires_grad = std::array::from_fn(|input| ops.parents[input].is_some());
                OpDescriptor::LearnedWelchPsdBackward { options, requires_grad }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::SpectralConv {} => {
                let requires_grad = std::array::from_fn(|input| ops.parents[input].is_some());
                OpDescriptor::SpectralConvBackward { requires_grad }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::LongConv { gated } => {
                let requires_grad = std::array::from_fn(|input| ops.parents.get(input).is_some_and(Option::is_some));
                OpDescriptor::LongConvBackward { gated, requires_grad }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::PeakLoss { options } => {
                // The first parent is the power; targets have no gradient.
                OpDescriptor::PeakLossBackward { options }.run::<B>(inputs).into_floats()
            }
            OpDescriptor::TopK { .. } => inputs.into_iter(),
            OpDescriptor::Mel { options, logarithm } => {
                let requires_grad = std::array::from_fn(|input| ops.parents[input].is_some());
                OpDescriptor::MelBackward { options, logarithm, requires_grad }.run::<B>(inputs).into_floats()
            }
            _ => unreachable!("{operation:?} is not on the tape"),
        };
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// The gradient of selected power `[rows, k]` as one of all power `[rows, length]`: zero at bins that are not selected.
fn scatter<B: Backend>(grad: FloatTensor<B>, bins: IntTensor<B>, length: usize) -> FloatTensor<B> {
    let device = grad.device();
    let bool_dtype = get_device_settings::<B>(&device).bool_dtype;
    let missing = B::int_lower_elem(bins.clone(), 0.into(), bool_dtype);
    let grad = B::float_mask_fill(grad, missing, 0.0.into());
    let zeros = B::float_zeros([grad.shape()[0], length].into(), &device, grad.dtype().into());
    B::float_scatter(1, zeros, B::int_clamp_min(bins, 0.into()), grad, IndexingUpdateOp::Add)
}

/// Runs an operation on the inner backend, and puts its backward pass on the tape.
///
/// # Panics
/// For a backward pass: it is not differentiable.
fn apply<B: SpectralOps, C: CheckpointStrategy>(
    operation: OpDescriptor,
    inputs: Vec<FloatTensor<Autodiff<B, C>>>,
) -> OperationOutputs<Autodiff<B, C>> {
    if let OpDescriptor::LocalMaxima { .. } = operation {
        // Bin numbers have no gradient: nothing goes on the tape.
        let inputs = inputs.into_iter().map(|input| input.into_primitive()).collect();
        let (maxima, bases) = operation.run::<B>(inputs).into_bins();
        return OperationOutputs::Bins([maxima, bases]);
    }
    if let Some(adjoint) = operation.adjoint() {
        return linear::apply::<B, C>(operation, adjoint, inputs);
    }
    // The tape counts an operation's inputs at compile time.
    match inputs.len() {
        1 => apply_to::<B, C, 1>(operation, inputs),
        2 => apply_to::<B, C, 2>(operation, inputs),
        3 => apply_to::<B, C, 3>(operation, inputs),
        4 => apply_to::<B, C, 4>(operation, inputs),
        5 => apply_to::<B, C, 5>(operation, inputs),
        _ => apply_to::<B, C, 6>(operation, inputs),
    }
}

fn apply_to<B: SpectralOps, C: CheckpointStrategy, const N: usize>(
    operation: OpDescriptor,
    inputs: Vec<FloatTensor<Autodiff<B, C>>>,
) -> OperationOutputs<Autodiff<B, C>> {
    let length = match operation {
        OpDescriptor::TopK { .. } => inputs[0].shape()[1],
        OpDescriptor::WelchPeaks { options, .. } | OpDescriptor::LearnedWelchPeaks { options, .. } => options.bins(),
        OpDescriptor::WelchPsd { .. }
        | OpDescriptor::Butterfly { .. }
        | OpDescriptor::LearnedWelchPsd { .. }
        | OpDescriptor::Mel { .. }
        | OpDescriptor::PeakLoss { .. }
        | OpDescriptor::SpectralConv {}
        | OpDescriptor::LongConv { .. } => 0,
        backward => panic!("{}: second derivatives are not supported", backward.name()),
    };
    let nodes: [_; N] = std::array::from_fn(|input| inputs[input].node());
    let primitives = |inputs: Vec<FloatTensor<Autodiff<B, C>>>| inputs.into_iter().map(|input| input.into_primitive());
    match SpectralBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(mut prep) => {
            // The gradient of a selection depends on the bins alone.
            let saved = if matches!(operation, OpDescriptor::TopK { .. }) { &[][..] } else { &inputs[..] };
            let saved = saved.iter().map(|input| prep.checkpoint(input)).collect();
            let mut state = BackwardState { operation, inputs: saved, selected: None, parts: None };
            match operation.run::<B>(primitives(inputs).collect()) {
                OperationOutputs::Peaks(bins, power) => {
                    state.selected = Some((bins.clone(), length));
                    OperationOutputs::Peaks(bins, prep.finish(state, power))
                }
                OperationOutputs::Floats(floats) => OperationOutputs::Floats(match <[_; 2]>::try_from(floats) {
                    Ok(outputs) => {
                        let parts = state.parts.insert(PartGradients::default()).clone();
                        parts.outputs::<C>(&prep.finish(state, outputs[0].clone()), outputs)
                    }
                    Err(floats) => vec![prep.finish(state, take(&mut floats.into_iter()))],
                }),
                OperationOutputs::Bins(_) => unreachable!("{operation:?} has no float output"),
            }
        }
        OpsKind::UnTracked(_) => match operation.run::<B>(primitives(inputs).collect()) {
            OperationOutputs::Peaks(bins, power) => OperationOutputs::Peaks(bins, Autodiff::<B, C>::from_inner(power)),
            OperationOutputs::Floats(floats) => {
                OperationOutputs::Floats(floats.into_iter().map(Autodiff::<B, C>::from_inner).collect())
            }
            OperationOutputs::Bins(bins) => OperationOutputs::Bins(bins),
        },
    }
}

impl<B: SpectralOps, C: CheckpointStrategy> SpectralOps for Autodiff<B, C> {
    operations_as_data!(apply::<B, C>);
}
