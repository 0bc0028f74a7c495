//! Graph capture: operations are recorded by the router behind it.

use burn::backend::fusion::custom::OperationIr;
use burn::backend::ir::OperationOutput;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::IntDType;
use burn_router::{BackendRouter, RouterChannel, RouterClient, RouterTensor};

use super::description::{Description, record_operations};
use crate::contract::{LearnedTensors, SpectralOps};
use crate::welch::WelchOptions;

fn record<R: RouterClient, const INPUTS: usize, const OUTPUTS: usize>(
    description: Description,
    inputs: [RouterTensor<R>; INPUTS],
) -> [RouterTensor<R>; OUTPUTS] {
    let client = inputs[0].client.clone();
    let inputs = inputs.map(RouterTensor::into_ir);
    let operation = description.apply(&inputs, || client.create_empty_handle());
    client.register(OperationIr::Custom(operation)).outputs()
}

impl<C: RouterChannel> SpectralOps for BackendRouter<C> {
    record_operations!(record);
}
