//! A graph, run on tensors of whatever device they are on.

use std::sync::{Mutex, PoisonError};

use burn::backend::ir::BackendIr;
use burn::backend::{DispatchDevice, DispatchKindConversion, DispatchTensor, Flex};
use burn::signal::SignalOps;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Replay};
use firefly_ops::SpectralOps;

use crate::harness::verification::Refusal;

/// Runs a graph of one input on a tensor, and reads its outputs.
pub type Run = Box<dyn Fn(Tensor<2>) -> Result<Vec<TensorData>, String> + Send>;

/// Puts a graph on a device.
///
/// # Errors
/// [`Refusal`] for a graph that can't be replayed, and a device that can't replay.
pub fn replay(graph: &Graph, device: &Device) -> Result<Run, Refusal> {
    match device.as_dispatch() {
        DispatchDevice::Flex(device) => on(graph, device, with_fourier::<Flex>()),
        // Burn's NdArray has no Fourier transform of its own: a graph with one is refused by name.
        #[cfg(feature = "ndarray")]
        #[expect(deprecated, reason = "Burn retires the backend after 0.22; until then its users are served")]
        DispatchDevice::NdArray(device) => on(graph, device, spectral::<burn::backend::NdArray>()),
        #[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal", feature = "cuda"))]
        DispatchDevice::Cube(device) => on(graph, device, with_fourier::<burn::backend::Cube>()),
        _ => Err(Refusal::Unsupported("graphs are not replayed on this device".into())),
    }
}

/// Firefly's own operations.
fn spectral<B: BackendIr + SpectralOps>() -> CustomOperations<B> {
    let mut operations = CustomOperations::default();
    operations.register_with(&firefly_ops::descriptor::NAMES, firefly_ops::register_spectral_ops);
    operations
}

/// Firefly's operations, and Burn's Fourier transforms.
fn with_fourier<B: BackendIr + SpectralOps + SignalOps>() -> CustomOperations<B> {
    let mut operations = spectral();
    operations.register_with(&["signal::rfft", "signal::irfft"], burn::signal::register_fft_ops);
    operations
}

fn on<B: BackendIr>(graph: &Graph, device: &B::Device, operations: CustomOperations<B>) -> Result<Run, Refusal>
where
    DispatchTensor: DispatchKindConversion<B>,
{
    let replay = Replay::new(graph, device, &operations).map_err(|error| Refusal::Failed(error.to_string()))?;
    let replay = Mutex::new(replay);
    Ok(Box::new(move |signal| {
        let signal = signal.try_into_primitive::<B>().map_err(|error| format!("{error:?}"))?;
        let mut replay = replay.lock().unwrap_or_else(PoisonError::into_inner);
        replay.run_on_device(vec![signal]).map_err(|error| error.to_string())
    }))
}
