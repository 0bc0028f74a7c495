//! Tensors of an operation, of any number, across Burn's dispatch.

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{
    Backend, BackendTensor, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind, ExtensionType,
    TensorMetadata,
};

/// Inputs or outputs of an operation, in the order of its row of the table: integers, then floats.
///
/// Burn's derive maps no lists across the dispatch, so that the mapping is written out here.
#[derive(Debug, Clone)]
pub struct TensorList<B: Backend> {
    /// Bin numbers among outputs; among inputs the first one, where it is a signal of integers.
    pub ints: Vec<IntTensor<B>>,
    /// All other tensors.
    pub floats: Vec<FloatTensor<B>>,
}

impl<B: Backend> TensorList<B> {
    /// A list of floats.
    pub fn of_floats(floats: Vec<FloatTensor<B>>) -> Self {
        Self { ints: Vec::new(), floats }
    }

    /// The inputs in their order, as the kernels take them.
    #[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
    pub(super) fn into_inputs(self) -> Vec<FloatTensor<B>>
    where
        B: super::Kernels,
    {
        self.ints.into_iter().map(B::samples).chain(self.floats).collect()
    }

    /// The outputs of a recorded operation on a backend whose tensors are of one type, whatever they hold.
    #[cfg(any(feature = "fusion", feature = "router"))]
    pub(crate) fn of_record<T: burn::backend::TensorMetadata>(outputs: Vec<T>) -> Self
    where
        B: Backend<FloatTensorPrimitive = T, IntTensorPrimitive = T>,
    {
        let (floats, ints) = outputs.into_iter().partition(|output| output.dtype().is_float());
        Self { ints, floats }
    }

    /// As many floats as an operation has.
    ///
    /// # Panics
    /// If there are more or fewer, which a backend outside this crate may return.
    pub(crate) fn into_floats<const N: usize>(self) -> [FloatTensor<B>; N] {
        exactly(self.floats)
    }

    /// Bin numbers and their power.
    ///
    /// # Panics
    /// As [`into_floats`](Self::into_floats).
    pub(crate) fn into_peaks(self) -> (IntTensor<B>, FloatTensor<B>) {
        let ([bins], [power]) = (exactly(self.ints), exactly(self.floats));
        (bins, power)
    }

    /// Bin numbers alone.
    ///
    /// # Panics
    /// As [`into_floats`](Self::into_floats).
    pub(crate) fn into_bins(self) -> [IntTensor<B>; 2] {
        exactly(self.ints)
    }
}

fn exactly<T, const N: usize>(tensors: Vec<T>) -> [T; N] {
    let got = tensors.len();
    tensors.try_into().unwrap_or_else(|_| panic!("an operation with {N} such outputs returned {got}"))
}

impl<B: Backend> ExtensionType<B> for TensorList<B> {
    type Target = TensorList<Dispatch>;

    fn map_to_dispatch<F>(self, map_kind: F, autodiff: DispatchAutodiffContext) -> Self::Target
    where
        F: Fn(BackendTensor<B>) -> DispatchTensorKind,
    {
        let wrap = |tensor| DispatchTensor { kind: map_kind(tensor), autodiff };
        TensorList {
            ints: self.ints.into_iter().map(|tensor| wrap(BackendTensor::Int(tensor))).collect(),
            floats: self.floats.into_iter().map(|tensor| wrap(BackendTensor::Float(tensor))).collect(),
        }
    }

    fn map_from_dispatch<F>(target: Self::Target, unwrap_kind: F) -> Self
    where
        F: Fn(DispatchTensor) -> BackendTensor<B>,
    {
        let mut ints: Vec<_> = target.ints.into_iter().map(|tensor| unwrap_kind(tensor).int()).collect();
        let mut floats = Vec::with_capacity(target.floats.len());
        for tensor in target.floats {
            // Tensors of the dispatch are of one type, so that a signal of integers takes the place of one of floats.
            match unwrap_kind(tensor) {
                BackendTensor::Int(signal) => ints.push(signal),
                tensor => floats.push(tensor.float()),
            }
        }
        Self { ints, floats }
    }

    fn routing_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        target.floats.first().or(target.ints.first())
    }

    fn routing_float_tensor(target: &Self::Target) -> Option<&DispatchTensor> {
        target.floats.iter().find(|tensor| tensor.dtype().is_float())
    }

    /// Any of the inputs may be the one that is tracked.
    fn autodiff_context(target: &Self::Target) -> DispatchAutodiffContext {
        let tensors = target.floats.iter().chain(&target.ints);
        tensors.fold(DispatchAutodiffContext::Disabled, |context, tensor| context.merge(tensor.autodiff))
    }
}
