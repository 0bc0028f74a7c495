//! Calibration: measurement of a device's constants, of the latencies of [strategies](crate::cost::Strategy), and of
//! the operations that graphs are made of.
//!
//! [`measure_constants`] times small programs on the device. [`measure_operations`] isolates each operation of the
//! caller's graphs, and [`measure_latencies`] lists the problem sizes to time; both leave the timing itself to the
//! caller, who has the models and the device, and fit a latency table per operation or estimate to the result:
//!
//! ```
//! use firefly_framework::calibration::{CalibrationError, CalibrationSizes, LatencySpread, measure_latencies};
//! use firefly_framework::cost::{MeasuredEstimate, Strategy};
//! use firefly_framework::profile::Preset;
//!
//! let mut profile = Preset::Cpu.profile();
//! let estimates = [MeasuredEstimate::Strategy(Strategy::Fused)];
//! measure_latencies(&mut profile, &estimates, &CalibrationSizes::rough(), |sizes| {
//!     // A device that takes 10 µs per call and 1 µs per frame.
//!     let time = |batch: usize| 10e3 + 1e3 * batch as f64;
//!     let spread = |batch| LatencySpread { p10: time(batch), p90: time(batch) };
//!     Ok::<_, CalibrationError>(sizes.iter().map(|size| vec![spread(size.batch)]).collect())
//! })?;
//! assert!(profile.latencies["fused"].error < 1.001);
//! # Ok::<_, CalibrationError>(())
//! ```

mod device_constants;
mod latencies;
mod operations;
mod sizes;

pub use device_constants::measure_constants;
pub use latencies::{LatencySpread, measure_latencies};
pub use operations::measure_operations;
pub use sizes::CalibrationSizes;

use thiserror::Error;

use crate::profile::LatencyTableError;

/// Error of a calibration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
    /// The measured times are not those of a latency table.
    #[error("measured latencies: {0}")]
    Latencies(#[from] LatencyTableError),
    /// The caller returned another number of times than there are sizes and strategies.
    #[error("measured latencies: {got} {what}, expected {expected}")]
    Count {
        /// The counted things: `sizes` or `strategies`.
        what: &'static str,
        /// The number returned.
        got: usize,
        /// The number expected.
        expected: usize,
    },
}
