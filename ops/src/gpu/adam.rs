//! Steps of Adam over parameters in device memory: one launch each.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::device::{GpuDevice, chunks, elements, floats, from_row, launch_checked};
use crate::options::AdamOptions;

/// The numbers of `AdamCoefficients`.
#[derive(CubeType, CubeLaunch)]
pub struct StepCoefficients {
    pub keep_1: f32,
    pub keep_2: f32,
    pub add_1: f32,
    pub add_2: f32,
    pub scale: f32,
    pub divisor_1: f32,
    pub divisor_2: f32,
    pub epsilon: f32,
    pub rate: f32,
    pub kept: f32,
    pub penalty: f32,
}

/// Updates a parameter and its moments in place by its gradient, all of the same length.
#[cube(launch)]
fn step(
    parameter: &mut [f32],
    moment_1: &mut [f32],
    moment_2: &mut [f32],
    gradient: &[f32],
    by: StepCoefficients,
    #[comptime] is_penalised: bool,
) {
    let at = ABSOLUTE_POS;
    if at >= parameter.len() {
        terminate!();
    }
    // Coupled weight decay is a gradient of its own. Without it nothing is added: a parameter that is not finite would
    // turn 0 · x into NaN.
    let x = parameter[at];
    let mut g = gradient[at];
    if comptime!(is_penalised) {
        g += x * by.penalty;
    }
    // The decaying means of the gradients and of their squares.
    let m = moment_1[at] * by.keep_1 + g * by.add_1;
    let v = moment_2[at] * by.keep_2 + g * g * by.add_2;
    moment_1[at] = m;
    moment_2[at] = v;
    // Both means are divided by the weight that they have had so far, as they began with 0; the step is their ratio.
    // Decoupled weight decay shrinks the parameter itself.
    let delta = m * by.scale / by.divisor_1 / ((v / by.divisor_2).sqrt() + by.epsilon);
    parameter[at] = x * by.kept - delta * by.rate;
}

/// A step in place: a parameter and the two moments of its gradients, `length` values each, after a gradient.
pub fn adam_step(device: &GpuDevice, state: [Handle; 3], gradient: &Handle, length: usize, options: &AdamOptions) {
    let by = options.coefficients::<f32>();
    for chunk in chunks(device, length, 0, 1) {
        let [parameter, moment_1, moment_2] =
            state.each_ref().map(|values| floats(&from_row(values, chunk.start, 1), chunk.len()));
        launch_checked!(step(
            device,
            elements(device, chunk.len()),
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
        ));
    }
}
