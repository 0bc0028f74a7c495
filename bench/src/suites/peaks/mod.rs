//! Peaks suite: the strongest lines of Welch spectra.

mod expected;
mod learned;
mod problem;
mod strategies;

pub use expected::{check_peaks, definition, expected, welch_power};
pub use learned::{LearnedSource, TrainedModels, learned_rows};
pub use problem::{PeaksProblem, facts, grid};
pub use strategies::{READ_SPECTRA, SPECTRA, STOCK, catalogue, firefly, from_host, kernel_set, on_device};
