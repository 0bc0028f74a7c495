//! Welch peaks by the strategy that is predicted to be fastest.
//!
//! [`AutoWelchPeaksConfig`] holds the candidates (tiers and [strategies](Strategy)), [`PlanRequest::select`](request)
//! predicts each of them for a batch and takes the fastest, and [`AutoWelchPeaks`] runs it. [`names`] is the table of
//! published names; [`request`] has the published thresholds.

mod config;
mod host_peaks;
mod model;
mod names;
mod request;

pub use config::AutoWelchPeaksConfig;
pub use firefly_framework::cost::Strategy;
pub use model::{AutoWelchPeaks, traces_selections};
pub use names::{PUBLISHED_STRATEGIES, PublishedStrategy};
pub use request::{Candidate, Selection};
