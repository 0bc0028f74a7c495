//! Graph capture and remote execution: operations are recorded by the router behind the backend.

use burn::backend::ir::OperationIr;
use burn_router::{BackendRouter, RouterChannel, RouterClient, RouterTensor};

use crate::op::{OpDescriptor, SpectralOps, TensorList};

impl<C: RouterChannel> SpectralOps for BackendRouter<C> {
    fn apply(operation: OpDescriptor, tensors: TensorList<Self>) -> TensorList<Self> {
        let client = tensors.floats[0].client.clone();
        let inputs: Vec<_> = tensors.ints.into_iter().chain(tensors.floats).map(RouterTensor::into_ir).collect();
        let record = operation.record(&inputs, || client.create_empty_handle());
        TensorList::of_record(client.register(OperationIr::Custom(record)))
    }
}
