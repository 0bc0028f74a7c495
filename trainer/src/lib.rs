//! `firefly-train`: fits learned Welch peaks to recordings, or to synthetic signals, and shows what they reach.
//!
//! A TOML [`config`] and [`data`] make [`batch`]es; [`train`] lowers the [`loss`] step by step, with [`metrics`] and
//! [`checkpoint`]s; [`evaluate`] compares the model with the exact tiers; [`run`] keeps it all in one folder, with a
//! [`report`]; [`sweep`] does so for several values of a key, and [`quick`] leaves nothing behind.

pub mod batch;
pub mod checkpoint;
pub mod config;
pub mod data;
pub mod evaluate;
pub mod loss;
pub mod metrics;
pub mod progress;
pub mod quick;
pub mod report;
pub mod run;
pub mod sweep;
pub mod train;
