//! Peaks by whatever is predicted fastest, or by a strategy of the caller's choice.

mod choice;
mod device;
mod host_peaks;
mod method;
mod model;
mod strategy;

pub use choice::{Candidate, Choice, Layout, Selection};
pub use method::{Destination, Method, RATE_AXES, Workload};
pub use model::{AutoOptions, AutoWelchPeaks, traces_choices};
pub use strategy::Strategy;
