//! Graph capture: operations are recorded by the router behind it.

use burn::backend::fusion::custom::OperationIr;
use burn::backend::ir::OperationOutput;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::IntDType;
use burn_router::{BackendRouter, RouterChannel, RouterClient, RouterTensor};

use crate::descriptor::{OpDescriptor, record_operations};
use crate::ops::{LearnedTensors, SpectralOps};
use crate::options::WelchOptions;

fn record<R: RouterClient, const INPUTS: usize, const OUTPUTS: usize>(
    descriptor: OpDescriptor,
    inputs: [RouterTensor<R>; INPUTS],
) -> [RouterTensor<R>; OUTPUTS] {
    let client = inputs[0].client.clone();
    let inputs = inputs.map(RouterTensor::into_ir);
    let operation = descriptor.apply(&inputs, || client.create_empty_handle());
    client.register(OperationIr::Custom(operation)).outputs()
}

impl<C: RouterChannel> SpectralOps for BackendRouter<C> {
    record_operations!(record);
}
