//! Baselines: implementations on other libraries that Firefly's are compared with.
//!
//! Transforms are planned once, rows are distributed over threads where that saves time, buffers are allocated before
//! the first run, and the same top-K follows each transform.

pub mod copy;
pub mod transforms;
pub mod welch_peaks;
