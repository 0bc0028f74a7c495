//! Launches on a GPU that have failed, before anything waits for them.

use burn::tensor::Tensor;
use burn_cubecl::{Cube, CubeBackend};
use firefly_app::guard::root_cause;

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
    tensor.client.check([&tensor.handle]).map_err(|error| root_cause(&error.to_string()).to_string())
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    #[ignore = "needs a CUDA device"]
    fn a_vector_of_values_that_do_not_fit_into_memory_was_not_launched() {
        let device = Device::cuda(0);
        let small = Tensor::<1>::ones([4], &device);
        let large = Tensor::<1>::ones([1_usize << 38], &device);
        let joined = Tensor::cat(vec![large.slice([3..5]), small.clone()], 0);
        let error = check_launches(&(joined * 2.0)).unwrap_err();
        assert!(error.contains(&(4_u64 << 38).to_string()), "{error}");
        assert_eq!(check_launches(&(small * 2.0)), Ok(()));
    }
}
