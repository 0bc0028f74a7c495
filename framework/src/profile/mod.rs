//! Device profiles: the constants and measured latencies of a device that predictions follow from.
//!
//! A [`Preset`] has published constants for a kind of device; [calibration](crate::calibration) replaces them by
//! measured ones and adds [`Crossovers`](crate::picker::Crossovers) of strategies and a [`LatencyTable`] per operation.
//! Calibrated profiles are TOML files, keyed by the [fingerprint](crate::device::fingerprint) of machine and device.
//!
//! ```
//! use firefly_framework::device::DeviceId;
//! use firefly_framework::profile::load_or_preset;
//!
//! let (profile, _) = load_or_preset(DeviceId::CPU);
//! println!("{} profile: {} GB/s", profile.origin(), profile.memory_bandwidth);
//! ```

mod device_profile;
mod latency_table;
mod store;

pub use device_profile::{DeviceProfile, MaxSlowdown, PeaksTerms};
pub use latency_table::{InvalidMeasurement, LatencyTable};
pub use store::{PROFILE_FORMAT, ProfileError, default_path, load, load_or_preset, save};

pub use crate::published::Preset;
