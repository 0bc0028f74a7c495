//! Burn's lazy fusion: an operation is queued with its description and runs when its outputs are needed.

use std::marker::PhantomData;

use burn::backend::fusion::custom::{CustomOpIr, HandleContainer, Operation, OperationIr, OperationOutput, StreamId};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::IntDType;
use burn_fusion::{ExecutionError, Fusion, FusionBackend, FusionRuntime, FusionTensor};

use crate::descriptor::{OpDescriptor, execute, record_operations};
use crate::ops::{LearnedTensors, SpectralOps};
use crate::options::WelchOptions;

#[derive(Debug)]
struct Queued<B> {
    operation: CustomOpIr,
    backend: PhantomData<B>,
}

impl<B: FusionBackend + SpectralOps> Operation<B::FusionRuntime> for Queued<B> {
    fn execute(
        &self,
        handles: &mut HandleContainer<<B::FusionRuntime as FusionRuntime>::FusionHandle>,
    ) -> Result<(), ExecutionError> {
        execute::<B>(handles, &self.operation);
        Ok(())
    }
}

fn record<B: FusionBackend + SpectralOps, const INPUTS: usize, const OUTPUTS: usize>(
    descriptor: OpDescriptor,
    inputs: [FusionTensor<B::FusionRuntime>; INPUTS],
) -> [FusionTensor<B::FusionRuntime>; OUTPUTS] {
    let client = inputs[0].client.clone();
    let inputs = inputs.map(FusionTensor::into_ir);
    let operation = descriptor.apply(&inputs, || client.create_empty_handle());
    let queued = Queued::<B> { operation: operation.clone(), backend: PhantomData };
    client.register(StreamId::current(), OperationIr::Custom(operation), queued).outputs()
}

impl<B: FusionBackend + SpectralOps> SpectralOps for Fusion<B> {
    record_operations!(record::<B, _, _>);
}
