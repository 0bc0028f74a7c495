//! What moving data costs on a device, and whether a rewrite pays: pure arithmetic, without tensors.
//!
//! A computation is [`Io`]: launches, synchronisations, bytes. A [`DeviceProfile`], preset or calibrated, turns it into a
//! [`Prediction`] in nanoseconds, after the latency and bandwidth model of Ayala et al. (2022, "Performance analysis of
//! parallel FFT on large multi-GPU systems"). The [`Benefit`] of one computation over another is weighed into a
//! [`Decision`] that keeps every term.

mod benefit;
mod gate;
mod io;
mod prediction;
mod profile;
mod rates;
mod store;

pub use benefit::{Benefit, Score};
pub use gate::{Decision, Floor, FloorCheck};
pub use io::Io;
pub use prediction::Prediction;
pub use profile::{DeviceProfile, Preset};
pub use rates::{Axis, Growth, Rate, RateError};
pub use store::{PROFILE_FORMAT, ProfileError, default_path, load, save};
