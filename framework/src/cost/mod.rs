//! Cost model: predicted times, and the fusion gate. Pure arithmetic, without tensors.
//!
//! A computation is its [`DataMovement`](crate::movement::DataMovement): launches, synchronisations, bytes. A
//! [`DeviceProfile`](crate::profile::DeviceProfile) turns it into a [`Prediction`] in nanoseconds, after the latency
//! and bandwidth model of Ayala et al. (2022, "Performance analysis of parallel FFT on large multi-GPU systems"). The
//! fusion gate weighs the [`Benefit`] of one computation over another into a [`FusionDecision`] that keeps every term. On
//! a calibrated device the measured latencies of the operations decide.
//!
//! ```
//! use firefly_framework::cost::{FusionDecision, Prediction};
//! use firefly_framework::movement::DataMovement;
//! use firefly_framework::profile::Preset;
//!
//! let device = Preset::Cuda.profile();
//! let unfused = DataMovement { launches: 3, syncs: 0, host_output: 8_000_000, traffic: 50_000_000 };
//! let fused = DataMovement { launches: 1, syncs: 0, host_output: 250_000, traffic: 10_000_000 };
//! assert!(Prediction::new(&fused, &device).total() < Prediction::new(&unfused, &device).total());
//! let decision = FusionDecision::new(&device, unfused, fused, 4096);
//! assert!(decision.fuse(), "{}", decision.explain());
//! ```

mod fusion_gate;
mod prediction;

pub use fusion_gate::{Benefit, FusionDecision, Score, SlowdownCheck};
pub use prediction::Prediction;
