//! Device code of windowing, power and their gradients.

mod scaling_factor;
mod segment_power;
mod window_gradients;
mod windowing;

use cubecl::prelude::*;

pub use scaling_factor::{Divisor, SCALING_UNITS, add_scaling_gradient, find_scaling_factor};
pub use segment_power::{SumGradientBuffersLaunch, filter_bins, sum_bins, sum_products, sum_squares, weight_bins};
pub use window_gradients::{FrameShapeLaunch, overlap_add, segment_means, window_sums};
pub use windowing::{Skipped, WindowInputLaunch, WindowOutputLaunch, window_segments};

use super::plan::{CUBE_UNITS, SegmentLayout};

/// The number in the batch of the transform that segment `segment` of row `row` belongs to.
#[cube]
fn transform_of(row: u32, segment: u32, #[comptime] layout: SegmentLayout) -> u32 {
    let own = if comptime!(layout.paired) { segment / 2 } else { segment };
    row * comptime!(layout.transforms()) + own
}

/// The sum of one value per unit of a segment, for all of its units; every unit of the cube must call it.
#[cube]
fn sum_over_segment(value: f32, #[comptime] units: u32) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(CUBE_UNITS as usize));
    shared[UNIT_POS as usize] = value;
    // A tree: at every level the first half of the units left adds the values of the second half.
    #[unroll]
    for level in 0..comptime!(units.ilog2()) {
        let half = comptime!(units >> (level + 1));
        sync_cube();
        if UNIT_POS % units < half {
            let other = shared[(UNIT_POS + half) as usize];
            shared[UNIT_POS as usize] += other;
        }
    }
    sync_cube();
    shared[(UNIT_POS - UNIT_POS % units) as usize]
}
