//! Reverse-mode differentiation: each operation runs on the inner backend and leaves its backward pass on the tape.
//!
//! The tape takes one output per operation: one with two outputs is a step whose children are its outputs. In a backward
//! pass each of these leaves its gradient with the operation's step, which comes after both and finds them together.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::ops::IntTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{AutodiffBackend, Backend, TensorMetadata, get_device_settings};
use burn::tensor::{IndexingUpdateOp, Slice};
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_autodiff::{Autodiff, NodeId};

use crate::op::{Gradient, Needed, OpDescriptor, SpectralOps, TensorList};

#[derive(Debug)]
struct SpectralBackward;

#[derive(Debug, Clone)]
struct BackwardState<B: Backend> {
    operation: OpDescriptor,
    /// Values per row of the first input.
    width: usize,
    /// Inputs that the gradients depend on, saved or recomputed as the checkpointing strategy decides.
    inputs: Vec<NodeId>,
    /// Selected bins.
    selected: Option<IntTensor<B>>,
    /// Gradients of the outputs, of an operation that has two.
    parts: Option<PartGradients<B>>,
}

impl<B: SpectralOps, const N: usize> Backward<B, N> for SpectralBackward {
    type State = BackwardState<B>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let BackwardState { operation, width, inputs, selected, parts } = ops.state;
        let outputs = match parts {
            Some(parts) => parts.take().into(),
            None => vec![grads.consume::<B>(&ops.node)],
        };
        let inputs = inputs.into_iter().map(|node| -> FloatTensor<B> { checkpointer.retrieve_node_output(node) });
        let apply = |operation: OpDescriptor, floats: Vec<FloatTensor<B>>| {
            B::apply(operation, TensorList::of_floats(floats)).floats
        };
        let needed = Needed::of(ops.parents.iter().map(Option::is_some));
        let gradients: Vec<FloatTensor<B>> = match operation.gradient(needed, width) {
            Gradient::Adjoint(adjoint) => {
                let gradients = apply(adjoint, outputs).into_iter().map(|gradient| resized::<B>(gradient, width));
                // The adjoint returns every gradient; the operations below, those that are needed.
                gradients.enumerate().filter(|(input, _)| needed.has(*input)).map(|(_, gradient)| gradient).collect()
            }
            Gradient::Backward(backward) => apply(backward, inputs.chain(outputs).collect()),
            Gradient::Selected { length, backward } => {
                let selected = selected.expect("an operation that selects has bins");
                let grads = outputs.into_iter().map(|grad| scatter::<B>(grad, selected.clone(), length));
                match backward {
                    Some(backward) => apply(backward, inputs.chain(grads).collect()),
                    None => grads.collect(),
                }
            }
            Gradient::Discrete | Gradient::Unsupported => unreachable!("{operation:?} is not on the tape"),
        };
        for (parent, gradient) in ops.parents.into_iter().flatten().zip(gradients) {
            grads.register::<B>(parent.id, gradient);
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

/// Rows `[rows, …]` cut or padded with zeros to `width` values.
fn resized<B: Backend>(tensor: FloatTensor<B>, width: usize) -> FloatTensor<B> {
    let mut shape = tensor.shape();
    let length = shape[1];
    let mut within: Vec<_> = shape.iter().map(|&length| Slice::from(0..length)).collect();
    within[1] = Slice::from(0..width.min(length));
    if width <= length {
        return if width == length { tensor } else { B::float_slice(tensor, &within) };
    }
    shape[1] = width;
    let zeros = B::float_zeros(shape, &tensor.device(), tensor.dtype().into());
    B::float_slice_assign(zeros, &within, tensor)
}

impl<B: SpectralOps, C: CheckpointStrategy> SpectralOps for Autodiff<B, C> {
    /// Runs an operation on the inner backend, and puts its backward pass on the tape.
    ///
    /// # Panics
    /// For an operation without a gradient: a backward pass, or a step of an optimizer.
    fn apply(operation: OpDescriptor, tensors: TensorList<Self>) -> TensorList<Self> {
        // Nothing is differentiable in integers: they are floats of which no gradient is needed.
        let dtype = tensors.floats[0].dtype();
        let of_integers = tensors.ints.into_iter().map(|integers| Self::int_into_float(integers, dtype.into()));
        let inputs: Vec<_> = of_integers.chain(tensors.floats).collect();
        // The tape counts an operation's inputs at compile time.
        match inputs.len() {
            1 => apply_to::<B, C, 1>(operation, inputs),
            2 => apply_to::<B, C, 2>(operation, inputs),
            3 => apply_to::<B, C, 3>(operation, inputs),
            4 => apply_to::<B, C, 4>(operation, inputs),
            _ => apply_to::<B, C, 5>(operation, inputs),
        }
    }
}

fn apply_to<B: SpectralOps, C: CheckpointStrategy, const N: usize>(
    operation: OpDescriptor,
    inputs: Vec<FloatTensor<Autodiff<B, C>>>,
) -> TensorList<Autodiff<B, C>> {
    let run = |inputs: Vec<FloatTensor<Autodiff<B, C>>>| {
        let inputs = inputs.into_iter().map(|input| input.into_primitive()).collect();
        B::apply(operation, TensorList::of_floats(inputs))
    };
    let untracked = |TensorList { ints, floats }: TensorList<B>| TensorList {
        ints,
        floats: floats.into_iter().map(Autodiff::<B, C>::from_inner).collect(),
    };
    let width = inputs[0].shape().get(1).copied().unwrap_or(0);
    // The gradient of a linear operation, or of a selection among the inputs, does not depend on the inputs.
    let saves_inputs = match operation.gradient(Needed::default(), width) {
        Gradient::Discrete => return untracked(run(inputs)),
        Gradient::Unsupported => panic!("{}: gradients through it are not supported", operation.name()),
        Gradient::Adjoint(_) | Gradient::Selected { backward: None, .. } => false,
        Gradient::Backward(_) | Gradient::Selected { backward: Some(_), .. } => true,
    };
    let nodes: [_; N] = std::array::from_fn(|input| inputs[input].node());
    match SpectralBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(mut prep) => {
            let saved = if saves_inputs { &inputs[..] } else { &[] };
            let saved = saved.iter().map(|input| prep.checkpoint(input)).collect();
            let TensorList { ints, floats } = run(inputs);
            let mut state =
                BackwardState { operation, width, inputs: saved, selected: ints.first().cloned(), parts: None };
            let floats = match <[_; 2]>::try_from(floats) {
                Ok(outputs) => {
                    let parts = state.parts.insert(PartGradients::default()).clone();
                    parts.outputs::<C>(&prep.finish(state, outputs[0].clone()), outputs)
                }
                Err(floats) => {
                    let float =
                        floats.into_iter().next().expect("an operation on the tape has one or two float outputs");
                    vec![prep.finish(state, float)]
                }
            };
            TensorList { ints, floats }
        }
        OpsKind::UnTracked(_) => untracked(run(inputs)),
    }
}

/// Gradients of the two outputs of an operation, as far as a backward pass has reached these.
#[derive(Debug, Clone, Default)]
struct PartGradients<B: Backend>(Arc<Mutex<[Option<FloatTensor<B>>; 2]>>);

impl<B: Backend> PartGradients<B> {
    /// The gradients: zeros for an output that the loss does not depend on.
    ///
    /// # Panics
    /// If the loss depends on neither.
    pub fn take(&self) -> [FloatTensor<B>; 2] {
        let parts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(like) = parts.iter().flatten().next().cloned() else {
            unreachable!("a backward pass reaches an operation through its outputs")
        };
        let zeros = || B::float_zeros(like.shape(), &like.device(), like.dtype().into());
        parts.map(|part| part.unwrap_or_else(zeros))
    }

    /// The outputs `parts` of the operation that `operation` is the step of.
    pub fn outputs<C: CheckpointStrategy>(
        &self,
        operation: &FloatTensor<Autodiff<B, C>>,
        parts: [FloatTensor<B>; 2],
    ) -> Vec<FloatTensor<Autodiff<B, C>>> {
        let output = |(index, part)| match PartBackward.prepare::<C>([operation.node()]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(PartState { gradients: self.clone(), index }, part),
            OpsKind::UnTracked(prep) => prep.finish(part),
        };
        parts.into_iter().enumerate().map(output).collect()
    }
}

#[derive(Debug)]
struct PartBackward;

#[derive(Debug, Clone)]
struct PartState<B: Backend> {
    gradients: PartGradients<B>,
    index: usize,
}

impl<B: Backend> Backward<B, 1> for PartBackward {
    type State = PartState<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let PartState { gradients, index } = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        gradients.0.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(gradient);
    }
}
