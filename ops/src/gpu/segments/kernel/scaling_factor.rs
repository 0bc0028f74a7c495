//! The factor that a scaling puts on power, and its part in the window's gradient.

use cubecl::prelude::*;

/// Units of the one cube.
pub const SCALING_UNITS: u32 = 128;

/// The function of the window that a scaling divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// Nothing.
    One,
    /// (Σ w)².
    SquaredSum,
    /// Σ w², times the sample rate.
    Energy,
}

/// Writes the factor of the scaling, one f32.
#[cube(launch)]
pub fn find_scaling_factor(window: &[f32], into: &mut [f32], rate: f32, n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(SCALING_UNITS as usize));
    // Σ w or Σ w²: each unit adds every 128th value, then all units' sums are added.
    let mut sum = 0.0f32;
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let w = window[j as usize];
        sum += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
    }
    let sum = total(&mut shared, sum);
    // One unit writes the factor.
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

/// Adds to `grad`, the window's gradient through the windowed samples y alone, its part through the scaling.
///
/// The loss L depends on the factor A only through A·|X|², a quadratic form in y. So, with Euler's theorem on
/// homogeneous functions, A·dL/dA = ½ Σ y·dL/dy = ½ Σ w·grad.
#[cube(launch)]
pub fn add_scaling_gradient(window: &[f32], grad: &mut [f32], n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(SCALING_UNITS as usize));
    // Σ w or Σ w², and Σ w·grad.
    let mut size = 0.0f32;
    let mut through = 0.0f32;
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let w = window[j as usize];
        size += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
        through += w * grad[j as usize];
    }
    let size = total(&mut shared, size);
    // The second sum takes the same memory, once all units have read the first.
    sync_cube();
    let through = total(&mut shared, through);
    // dA/dw is −2A/Σw for the one divisor, and −2A·w/Σw² for the other.
    let slope = -(through / size);
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let by = if comptime!(divisor == Divisor::Energy) { slope * window[j as usize] } else { slope };
        grad[j as usize] += by;
    }
}

/// The sum of one value per unit of the cube, for all of them.
#[cube]
fn total(shared: &mut Shared<[f32]>, value: f32) -> f32 {
    // Every unit adds all values, in the same order: one barrier, where a tree would take seven.
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let mut sum = 0.0f32;
    for unit in 0..SCALING_UNITS {
        sum += shared[unit as usize];
    }
    sum
}
