//! Cost model: predicted times, and the fusion gate. Pure arithmetic, without tensors.
//!
//! A computation is its [`DataMovement`](crate::movement::DataMovement): launches, synchronisations, bytes. A
//! [`DeviceProfile`](crate::profile::DeviceProfile) turns it into a [`Prediction`] in nanoseconds, after the latency
//! and bandwidth model of Ayala et al. (2022, "Performance analysis of parallel FFT on large multi-GPU systems"). The
//! fusion gate weighs the [`Benefit`] of one computation over another into a [`FusionDecision`] that keeps every term.
//! [`PeaksWorkload`] predicts each [`Strategy`] of computing Welch peaks, from measured latencies or else by the
//! [published estimates](published), whose [`breakdown`](published::breakdown) has every term.
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

mod benefit;
mod fusion_gate;
mod measured_estimate;
mod peaks;
mod peaks_size;
mod prediction;
pub mod published;

pub use benefit::{Benefit, Score};
pub use fusion_gate::{FusionDecision, SlowdownCheck};
pub use measured_estimate::MeasuredEstimate;
pub use peaks::{PeaksWorkload, Strategy};
pub use peaks_size::{LearnedSize, PEAKS_AXES, PeaksSize};
pub use prediction::Prediction;
