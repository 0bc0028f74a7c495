//! Graph capture and remote execution: operations are recorded by the router behind the backend.

use burn::backend::ir::OperationIr;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::IntDType;
use burn_router::{BackendRouter, RouterChannel, RouterClient, RouterTensor};

use super::recorded::{operations_as_data, outputs};
use crate::descriptor::{OpDescriptor, OperationOutputs, take};
use crate::ops::{
    AdamTensors, ButterflyTensors, LearnedTensors, LongConvTensors, PeakLossTensors, SpectralConvTensors, SpectralOps,
    WelchTensors,
};
use crate::options::{
    AdamOptions, FftOptions, LocalMaximaOptions, Logarithm, MelOptions, PeakLossOptions, WelchOptions,
};

fn record<C: RouterChannel>(
    operation: OpDescriptor,
    inputs: Vec<RouterTensor<C::Client>>,
) -> OperationOutputs<BackendRouter<C>> {
    let client = inputs[0].client.clone();
    let inputs: Vec<_> = inputs.into_iter().map(RouterTensor::into_ir).collect();
    let record = operation.record(&inputs, || client.create_empty_handle());
    outputs(operation, client.register(OperationIr::Custom(record)))
}

impl<C: RouterChannel> SpectralOps for BackendRouter<C> {
    operations_as_data!(record::<C>);
}
