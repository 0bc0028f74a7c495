//! Device profiles: the constants and measured latencies of a device that predictions follow from.
//!
//! A [`Preset`] has published constants for a kind of device; [calibration](crate::calibration) replaces them by
//! measured ones and adds a [`LatencyTable`] per strategy. Calibrated profiles are TOML files, keyed by the
//! [fingerprint](crate::device::fingerprint) of machine and device.
//!
//! ```
//! use firefly_framework::device::DeviceId;
//! use firefly_framework::profile::load_or_preset;
//!
//! let resolved = load_or_preset(DeviceId::CPU);
//! println!("{} profile: {} GB/s", resolved.source, resolved.profile.memory_bandwidth);
//! ```

mod device_profile;
mod latency_table;
mod max_slowdown;
mod preset;
mod store;

pub use device_profile::{DeviceProfile, PeaksTerms};
pub use latency_table::{AxisInterpolation, LatencyAxis, LatencyTable, LatencyTableError};
pub use max_slowdown::MaxSlowdown;
pub use preset::{Preset, UnknownPreset};
pub use store::{
    PROFILE_FORMAT, ProfileError, ProfileSource, ResolvedProfile, default_path, load, load_or_preset, save,
};
