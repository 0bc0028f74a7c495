//! Device code of windowed segments, and of their gradients.

mod samples;
mod steps;

pub use samples::{SegmentShape, SegmentShapeLaunch, has_gradient, sample_place};
pub use steps::{
    Divisor, SCALING_UNITS, SegmentGradientLaunch, add_scaling_gradient, add_segments, find_scaling_factor,
    segment_means, window_segments, window_sums,
};
