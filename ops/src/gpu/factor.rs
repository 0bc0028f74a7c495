//! The factor that a scaling puts on power, and what it adds to the window's gradient.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::buffers::{empty, floats};
use crate::options::{Scaling, WelchOptions};

/// Units of the one cube.
const UNITS: u32 = 128;

/// What a scaling divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Divisor {
    One,
    SquaredSum,
    Energy,
}

fn divisor(options: &WelchOptions) -> (Divisor, f32) {
    match options.scaling {
        Scaling::Power => (Divisor::One, 1.0),
        Scaling::Spectrum => (Divisor::SquaredSum, 1.0),
        Scaling::Density { sample_rate } => (Divisor::Energy, sample_rate as f32),
    }
}

/// What |X|² is multiplied by under the scaling, one f32.
pub(super) fn factor(client: &Client, window: &Handle, options: &WelchOptions) -> Handle {
    let into = empty(client, 1);
    let (divisor, rate) = divisor(options);
    let n = options.n_fft;
    let dim = CubeDim::new_1d(UNITS);
    find::launch(client, CubeCount::new_single(), dim, floats(window, n), floats(&into, 1), rate, n as u32, divisor);
    into
}

/// Adds to `grad`, the window's gradient through the tapered samples alone, the part through the scaling.
///
/// The loss depends on the factor A only through A·|X|², a quadratic form in the tapered samples y. So, with Euler's theorem,
/// A·dL/dA = ½ Σ y·dL/dy = ½ Σ window·grad.
pub(super) fn add_gradient(client: &Client, window: &Handle, grad: &Handle, options: &WelchOptions) {
    let (divisor, _) = divisor(options);
    if divisor == Divisor::One {
        return;
    }
    let n = options.n_fft;
    let dim = CubeDim::new_1d(UNITS);
    add::launch(client, CubeCount::new_single(), dim, floats(window, n), floats(grad, n), n as u32, divisor);
}

#[cube(launch)]
fn find(window: &[f32], into: &mut [f32], rate: f32, n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let mut sum = 0.0f32;
    for j in range_stepped(UNIT_POS, n, UNITS) {
        let w = window[j as usize];
        sum += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
    }
    let sum = total(&mut shared, sum);
    if UNIT_POS == 0u32 {
        into[0] = if comptime!(divisor == Divisor::One) {
            1.0f32.runtime()
        } else if comptime!(divisor == Divisor::SquaredSum) {
            1.0f32 / (sum * sum)
        } else {
            1.0f32 / (rate * sum)
        };
    }
}

#[cube(launch)]
fn add(window: &[f32], grad: &mut [f32], n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(UNITS as usize));
    let mut size = 0.0f32;
    let mut through = 0.0f32;
    for j in range_stepped(UNIT_POS, n, UNITS) {
        let w = window[j as usize];
        size += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
        through += w * grad[j as usize];
    }
    let size = total(&mut shared, size);
    sync_cube();
    let through = total(&mut shared, through);
    let slope = -(through / size);
    for j in range_stepped(UNIT_POS, n, UNITS) {
        let by = if comptime!(divisor == Divisor::Energy) { slope * window[j as usize] } else { slope };
        grad[j as usize] += by;
    }
}

/// The sum of every unit's value, for all of them.
#[cube]
fn total(shared: &mut Shared<[f32]>, value: f32) -> f32 {
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let mut sum = 0.0f32;
    for unit in 0..UNITS {
        sum += shared[unit as usize];
    }
    sum
}
