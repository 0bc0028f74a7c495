//! Steps of Adam, of tensors.

use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;

use super::{contiguous, device};
use crate::gpu;
use crate::ops::AdamTensors;
use crate::options::AdamOptions;

/// The state after a step, where it was if nothing else holds it.
pub(super) fn step(
    state: AdamTensors<CubeBackend>,
    gradient: CubeTensor,
    options: &AdamOptions,
) -> AdamTensors<CubeBackend> {
    let [parameter, moment_1, moment_2] = state.into_array().map(unique);
    let (gradient, elements) = (contiguous(gradient), parameter.meta.num_elements());
    if elements > 0 {
        let state = [&parameter, &moment_1, &moment_2].map(|tensor| tensor.handle.clone());
        gpu::adam_step(&device(&parameter), state, &gradient.handle, elements, options);
    }
    AdamTensors { parameter, moment_1, moment_2 }
}

/// The tensor in contiguous memory that nothing else holds: its own, or a copy.
fn unique(tensor: CubeTensor) -> CubeTensor {
    let tensor = contiguous(tensor);
    // Rows of a copy may be padded, on CUDA for one.
    if tensor.can_mut() { tensor } else { contiguous(tensor.copy()) }
}
