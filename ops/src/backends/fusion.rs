//! Burn's lazy fusion: an operation is queued as its record, and runs when its outputs are needed.

use std::marker::PhantomData;

use burn::backend::fusion::custom::{Operation, StreamId};
use burn::backend::ir::{CustomOpIr, HandleContainer, OperationIr};
use burn_fusion::{ExecutionError, Fusion, FusionBackend, FusionRuntime, FusionTensor};

use crate::op::{OpDescriptor, SpectralOps, TensorList, execute};

#[derive(Debug)]
struct Queued<B> {
    record: CustomOpIr,
    backend: PhantomData<B>,
}

impl<B: FusionBackend + SpectralOps> Operation<B::FusionRuntime> for Queued<B> {
    fn execute(
        &self,
        handles: &mut HandleContainer<<B::FusionRuntime as FusionRuntime>::FusionHandle>,
    ) -> Result<(), ExecutionError> {
        execute::<B>(handles, &self.record);
        Ok(())
    }
}

impl<B: FusionBackend + SpectralOps> SpectralOps for Fusion<B> {
    fn apply(operation: OpDescriptor, tensors: TensorList<Self>) -> TensorList<Self> {
        let client = tensors.floats[0].client.clone();
        let inputs: Vec<_> = tensors.ints.into_iter().chain(tensors.floats).map(FusionTensor::into_ir).collect();
        let record = operation.record(&inputs, || client.create_empty_handle());
        let queued = Queued::<B> { record: record.clone(), backend: PhantomData };
        TensorList::of_record(client.register(StreamId::current(), OperationIr::Custom(record), queued))
    }
}

#[cfg(all(test, feature = "cube"))]
mod tests {
    use std::any::TypeId;

    use burn_fusion::Fusion;

    /// What devices' tensors are dispatched to is Burn's lazy fusion, so every test on a device goes through its queue.
    #[test]
    fn devices_are_behind_lazy_fusion() {
        assert_eq!(TypeId::of::<burn_cubecl::Cube>(), TypeId::of::<Fusion<burn_cubecl::CubeBackend>>());
    }
}
