//! Captured graph, replayed on tensors of the device they are on.

use std::sync::{Mutex, PoisonError};

use burn::backend::ir::BackendIr;
use burn::backend::{DispatchDevice, DispatchKindConversion, DispatchTensor, Flex};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Replay};

use crate::harness::routine::RoutineError;
use crate::harness::verification::{CaseError, Unsupported};

/// Function that runs a graph of one input on a tensor and reads its outputs.
pub type GraphRunner = Box<dyn Fn(Tensor<2>) -> Result<Vec<TensorData>, RoutineError> + Send>;

/// Prepares a graph of one input to run on a device.
///
/// # Errors
/// [`CaseError`] for a graph that can't be replayed, and a device that can't replay.
pub fn replay(graph: &Graph, device: &Device) -> Result<GraphRunner, CaseError> {
    match device.as_dispatch() {
        DispatchDevice::Flex(device) => on(graph, device, CustomOperations::<Flex>::spectral_and_fourier()),
        // Burn's NdArray has no Fourier transform of its own: a graph with one is refused by name.
        #[cfg(feature = "ndarray")]
        #[expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
        DispatchDevice::NdArray(device) => on(graph, device, CustomOperations::<burn::backend::NdArray>::spectral()),
        #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda", feature = "rocm"))]
        DispatchDevice::Cube(device) => {
            on(graph, device, CustomOperations::<burn::backend::Cube>::spectral_and_fourier())
        }
        _ => Err(Unsupported::Replay.into()),
    }
}

fn on<B: BackendIr>(
    graph: &Graph,
    device: &B::Device,
    operations: CustomOperations<B>,
) -> Result<GraphRunner, CaseError>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let replay = Replay::new(graph, device, &operations).map_err(RoutineError::Graph)?;
    let replay = Mutex::new(replay);
    Ok(Box::new(move |signal| {
        let signal = signal.try_into_primitive::<B>().map_err(|error| RoutineError::Burn(format!("{error:?}")))?;
        let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(replay.run_on_device(vec![signal])?)
    }))
}
