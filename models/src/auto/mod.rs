//! Welch peaks by the strategy that is the fastest on a device, as the [picker](firefly_framework::picker) selects it.

mod config;
mod module;
mod prepared;

pub use config::AutoWelchPeaksConfig;
pub use firefly_framework::picker::{Candidate, Selection, Strategy};
pub use module::{AutoWelchPeaks, traces_selections};
