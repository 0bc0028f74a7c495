//! Segments of frames around a butterfly transform, in one launch per step: windowing, power, and the gradients of
//! both.
//!
//! Any length and any device can run them: learned Welch estimates, gradients, and exact estimates whose rows do not
//! fit one launch are made of these.

mod kernel;
mod launch;
mod plan;
#[cfg(test)]
mod tests;

pub(super) use launch::{
    Skip, SumGradients, add_scaling_gradient, filter_by_gradient, neighbour_products, power, scaling_factor,
    signal_gradient, weight_gradients, weighted_gradient, window_gradient, window_segments,
};
pub use plan::DeviceFrames;
pub(super) use plan::SegmentBatch;
