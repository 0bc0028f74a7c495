//! Segments of rows: samples times a window, their spectra, and the gradients of both, in one launch per step.
//!
//! Any length and any device can run them: mel spectra and Welch estimates that do not fit one launch, and the gradients
//! of both, are made of these.

mod kernel;
mod launch;
mod plan;

pub(super) use kernel::{SegmentShape, SegmentShapeLaunch, has_gradient, sample_place};
pub(super) use launch::{SegmentSpectra, Segments, add_scaling_gradient, scaling_factor};
pub use plan::DeviceFrames;
pub(super) use plan::RowPadding;
