//! Records of operations in graphs and queues: output shapes, and execution from a record.

use burn::backend::ir::{BackendIr, CustomOpIr, HandleContainer, TensorId, TensorIr};
use burn::tensor::{DType, IntDType, Shape};
#[cfg(feature = "router")]
use burn_router::CustomOpRegistry;

#[cfg(feature = "router")]
use super::NAMES;
use super::{OpDescriptor, SpectralOps, TensorList};

/// Shape and type of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorSpec {
    /// Its shape.
    pub shape: Shape,
    /// Type of its values.
    pub dtype: DType,
}

impl TensorSpec {
    /// As many rows as this tensor has, of `length` values each.
    pub(super) fn rows_of(&self, length: usize) -> Self {
        Self { shape: Shape::from([self.shape[0], length]), dtype: self.dtype }
    }

    /// The tensor's shape, in the type of another tensor.
    pub fn in_type_of(self, other: &Self) -> Self {
        Self { dtype: other.dtype, ..self }
    }

    /// The tensor's shape, of bin numbers.
    pub(super) fn of_bins(self, dtype: IntDType) -> Self {
        Self { dtype: dtype.into(), ..self }
    }

    /// The tensor with another size of a dimension.
    pub(super) fn with(mut self, dim: usize, size: usize) -> Self {
        self.shape[dim] = size;
        self
    }
}

impl OpDescriptor {
    /// The record of the operation applied to `inputs`; `new_id` yields the identifiers of its outputs.
    pub(crate) fn record(self, inputs: &[TensorIr], mut new_id: impl FnMut() -> TensorId) -> CustomOpIr {
        let specs = inputs.iter().map(|input| TensorSpec { shape: input.shape.clone(), dtype: input.dtype });
        let outputs = self.outputs(specs.collect());
        let outputs: Vec<TensorIr> =
            outputs.into_iter().map(|spec| TensorIr::uninit(new_id(), spec.shape, spec.dtype)).collect();
        CustomOpIr::with_scalars(self.name(), inputs, &outputs, self.scalars())
    }
}

/// Registers every operation of this crate in `registry`, for remote servers and interpreters that replay recorded
/// graphs on backend `B`.
///
/// ```
/// use burn::backend::Flex;
/// use burn_router::CustomOpRegistry;
/// use firefly_ops::op::register_spectral_ops;
///
/// let mut registry = CustomOpRegistry::<Flex>::new();
/// register_spectral_ops(&mut registry);
/// ```
#[cfg(feature = "router")]
pub fn register_spectral_ops<B: BackendIr + SpectralOps>(registry: &mut CustomOpRegistry<B>) {
    for name in NAMES {
        registry.register(name, |handles, operation, _device| execute::<B>(handles, operation));
    }
}

/// Runs a recorded operation: takes its inputs from `handles` and registers its outputs there.
///
/// # Panics
/// If the operation was not made by [`OpDescriptor::record`].
pub(crate) fn execute<B: BackendIr + SpectralOps>(handles: &mut HandleContainer<B::Handle>, operation: &CustomOpIr) {
    let descriptor = OpDescriptor::parse(operation.id.as_str(), &operation.scalars)
        .unwrap_or_else(|| panic!("malformed custom operation {operation:?}"));
    let (of_floats, of_ints): (Vec<_>, Vec<_>) = operation.inputs.iter().partition(|input| input.dtype.is_float());
    let inputs = TensorList {
        ints: of_ints.into_iter().map(|input| handles.get_int_tensor::<B>(input)).collect(),
        floats: of_floats.into_iter().map(|input| handles.get_float_tensor::<B>(input)).collect(),
    };
    let TensorList { ints, floats } = B::apply(descriptor, inputs);
    let (of_ints, of_floats) = operation.outputs.split_at(ints.len());
    for (output, tensor) in of_ints.iter().zip(ints) {
        handles.register_int_tensor::<B>(&output.id, tensor);
    }
    for (output, tensor) in of_floats.iter().zip(floats) {
        handles.register_float_tensor::<B>(&output.id, tensor);
    }
}
