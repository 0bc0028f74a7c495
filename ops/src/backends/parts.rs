//! Operations with two outputs on the tape, which takes one output per operation.
//!
//! The operation is a step whose children are its two outputs. In a backward pass each of these leaves its gradient
//! with the operation's step, which comes after both and finds them together. Nothing is copied.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, TensorMetadata};
use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};

/// Gradients of the two outputs of an operation, as far as a backward pass has reached these.
#[derive(Debug)]
pub(super) struct PartGradients<B: Backend>(Arc<Mutex<[Option<FloatTensor<B>>; 2]>>);

impl<B: Backend> Clone for PartGradients<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: Backend> Default for PartGradients<B> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new([None, None])))
    }
}

impl<B: Backend> PartGradients<B> {
    /// The gradients: zeros for an output that the loss does not depend on.
    ///
    /// # Panics
    /// If the loss depends on neither.
    pub fn take(&self) -> [FloatTensor<B>; 2] {
        let [re, im] = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let zeros = |like: &FloatTensor<B>| B::float_zeros(like.shape(), &like.device(), like.dtype().into());
        match (re, im) {
            (Some(re), Some(im)) => [re, im],
            (Some(re), None) => {
                let im = zeros(&re);
                [re, im]
            }
            (None, Some(im)) => [zeros(&im), im],
            (None, None) => unreachable!("a backward pass reaches an operation through its outputs"),
        }
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

/// Backward pass of one output.
#[derive(Debug)]
struct PartBackward;

#[derive(Debug)]
struct PartState<B: Backend> {
    gradients: PartGradients<B>,
    index: usize,
}

impl<B: Backend> Clone for PartState<B> {
    fn clone(&self) -> Self {
        Self { gradients: self.gradients.clone(), index: self.index }
    }
}

impl<B: Backend> Backward<B, 1> for PartBackward {
    type State = PartState<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let PartState { gradients, index } = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        gradients.0.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(gradient);
    }
}
