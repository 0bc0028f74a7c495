//! Calibration: measurement of a device's constants, of the crossovers of [strategies](crate::picker::Strategy), and of
//! the operations that graphs are made of.
//!
//! [`measure_constants`] times small programs on the device. [`measure_operations`] isolates each operation of the
//! caller's graphs, and a [`CrossoverGrid`] lists the problem sizes to time; both leave the timing itself to the caller,
//! who has the models and the device:
//!
//! ```
//! use firefly_framework::calibration::CrossoverGrid;
//! use firefly_framework::picker::Strategy;
//!
//! // A device that takes 100 µs per call, and a host that takes 1 µs per frame.
//! let grid = CrossoverGrid::full();
//! let times = grid.sizes().iter().map(|size| vec![100e3, 1e3 * size.batch as f64, 100e3]).collect::<Vec<_>>();
//! let crossovers = grid.crossovers(&[Strategy::Fused, Strategy::Host, Strategy::Learned], &times)?;
//! assert!((crossovers.at(256, 2, 16).unwrap().frames - 100.0).abs() < 1e-6);
//! # Ok::<_, firefly_framework::profile::InvalidMeasurement>(())
//! ```

mod crossovers;
mod device_constants;
mod operations;

pub use crossovers::CrossoverGrid;
pub use device_constants::measure_constants;
pub use operations::measure_operations;

use thiserror::Error;

use crate::profile::InvalidMeasurement;

/// Error of a calibration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
    /// The measured times make no latency table.
    #[error("measured times: {0}")]
    Invalid(#[from] InvalidMeasurement),
}
