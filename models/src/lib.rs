//! Firefly's models: Burn modules that turn frames of a signal into its strongest spectral lines.
//!
//! - [`WelchPeaks`]: exact Welch peaks at a [`Tier`].
//! - [`LearnedWelchPeaks`]: the same computation with a learned taper, twiddles, gates of
//!   butterflies and of segments, and gain.
//! - [`AutoWelchPeaks`]: exact or learned peaks by the strategy that is predicted fastest, or one that is forced.
//! - [`StockWelchPeaks`]: the exact peaks written with Burn's stock operations, to compare with and to recognise.
//!
//! Both are initialised from a validated configuration, nest in a module of your own, train inside it and save with it.

mod auto;
mod learned;
mod stock;
mod tier;
mod welch_peaks;

pub use auto::{
    AutoOptions, AutoWelchPeaks, Candidate, Choice, Destination, Layout, Method, RATE_AXES, Selection, Strategy,
    Workload, traces_choices,
};
pub use learned::{Gates, HardConcrete, LearnedWelchPeaks, LearnedWelchPeaksConfig, StoreError, WEIGHTS_FORMAT};
pub use stock::{Spelling, StockWelchPeaks};
pub use tier::Tier;
pub use welch_peaks::{WelchPeaks, WelchPeaksConfig};

pub use firefly_ops::{ArgumentError, Detrend, Peaks, Scaling, WelchOptions, Window, WindowSymmetry};

/// The README's code, compiled and run with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
