//! Device code of windowed segments, and of their gradients.

mod samples;
mod scaling_factor;
mod steps;

pub use samples::{SegmentShape, SegmentShapeLaunch, has_gradient, sample_place};
pub use scaling_factor::{Divisor, SCALING_UNITS, add_scaling_gradient, find_scaling_factor};
pub use steps::{SegmentGradientLaunch, add_segments, segment_means, window_segments, window_sums};
