//! Launches on a GPU that have failed, before anything waits for them.

use burn::tensor::Tensor;
use burn_cubecl::{Cube, CubeBackend};

/// Checks that every operation that a vector depends on was launched. Waits for the launches, not for the GPU.
///
/// A launch that fails, as for want of memory, leaves its outputs unwritten, and so do those that take these outputs as
/// inputs; CubeCL says so to whoever asks for the last of them.
///
/// # Errors
/// The message of the launch that failed.
pub(super) fn check_launches(vector: &Tensor<1>) -> Result<(), String> {
    let fused = vector.clone().try_into_primitive::<Cube>().map_err(|error| format!("{error:?}"))?;
    let client = fused.client.clone();
    let tensor = client.resolve_tensor_float::<CubeBackend>(fused);
    tensor.client.check([&tensor.handle]).map_err(|error| error.to_string())
}
