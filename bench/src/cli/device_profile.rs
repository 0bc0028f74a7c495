//! The device profile that a command predicts with.

use std::path::Path;

use anyhow::{Context, ensure};
use firefly_app::device::DeviceName;
use firefly_app::streams::note;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, ProfileSource, load, load_or_preset};

/// The calibrated profile at `path`, or else the user's own of the device, or else a preset; and which of these it is.
///
/// # Errors
/// For a `path` at which there is no profile of this device. The user's own, if it is invalid, is reported on the error
/// stream and ignored.
pub fn device_profile(device: DeviceName, path: Option<&Path>) -> anyhow::Result<(DeviceProfile, ProfileSource)> {
    if let Some(path) = path {
        let loaded = load(path, &fingerprint(device.id())).context("--profile")?;
        ensure!(loaded.is_some(), "--profile: {}: there is no such file", path.display());
        return loaded.map(|profile| (profile, ProfileSource::Calibrated)).context("--profile");
    }
    let resolved = load_or_preset(device.id());
    if let Some(error) = resolved.ignored {
        note(format_args!("warning: {error}; a preset is used"));
    }
    Ok((resolved.profile, resolved.source))
}
