//! Welch peaks by the strategy that is predicted to be fastest.
//!
//! `config` holds the candidates: tiers and strategies. `request` predicts the time of each candidate for a batch and
//! selects the fastest; it has the table of published thresholds. `module` runs the selection. `names` is the table of
//! published names; `prepared` keeps what the learned model's operation takes.

mod config;
mod module;
mod names;
mod prepared;
mod request;

pub use config::AutoWelchPeaksConfig;
pub use firefly_framework::cost::Strategy;
pub use module::{AutoWelchPeaks, traces_selections};
pub use names::{PUBLISHED_STRATEGIES, PublishedStrategy};
pub use request::{Candidate, Selection};
