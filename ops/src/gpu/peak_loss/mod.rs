//! Losses of rows of power against target peaks: one launch forward, and one backward.

mod kernel;
mod launch;

pub use launch::{PeakLossBuffers, peak_loss, peak_loss_backward};
