//! Launches of steps of Adam.

use cubecl::server::Handle;

use super::kernel::{self, StepCoefficientsLaunch};
use crate::gpu::device::{GpuDevice, chunks, elements, floats, from_row};
use crate::options::AdamOptions;

/// A step in place: a parameter and the two moments of its gradients, `length` values each, after a gradient.
pub fn adam_step(device: &GpuDevice, state: [Handle; 3], gradient: &Handle, length: usize, options: &AdamOptions) {
    let by = options.coefficients::<f32>();
    for chunk in chunks(device, length, 0, 1) {
        let (cubes, units) = elements(device, chunk.len());
        let [parameter, moment_1, moment_2] =
            state.each_ref().map(|values| floats(&from_row(values, chunk.start, 1), chunk.len()));
        kernel::step::launch(
            &device.client,
            cubes,
            units,
            parameter,
            moment_1,
            moment_2,
            floats(&from_row(gradient, chunk.start, 1), chunk.len()),
            StepCoefficientsLaunch::new(
                by.keep[0],
                by.keep[1],
                by.add[0],
                by.add[1],
                by.scale,
                by.divisors[0],
                by.divisors[1],
                by.epsilon,
                by.rate,
                by.kept,
                by.penalty,
            ),
            by.penalty != 0.0,
        );
    }
}
