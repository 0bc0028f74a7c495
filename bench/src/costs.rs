//! What a device costs, for commands that predict times.

use std::path::Path;

use anyhow::{Context, ensure};
use firefly_app::device::DeviceName;
use firefly_framework::cost::{DeviceProfile, Preset, default_path, load};
use firefly_framework::host::fingerprint;

/// The calibrated profile at `path`, or else the user's own of the device, or else a preset; and which it is.
///
/// # Errors
/// For a `path` at which there is no profile of this device. The user's own, if it can't be used, is reported on the error
/// stream and ignored.
pub fn profile(device: DeviceName, path: Option<&Path>) -> anyhow::Result<(DeviceProfile, &'static str)> {
    let name = device.to_string();
    if let Some(path) = path {
        let loaded = load(path, &fingerprint(&name)).context("--profile")?;
        ensure!(loaded.is_some(), "--profile: {}: there is no such file", path.display());
        return loaded.map(|profile| (profile, "calibrated")).context("--profile");
    }
    let preset = || (Preset::of(device.kind()).profile(), "preset");
    match default_path(&name).and_then(|path| load(&path, &fingerprint(&name))) {
        Ok(loaded) => Ok(loaded.map_or_else(preset, |profile| (profile, "calibrated"))),
        Err(error) => {
            eprintln!("warning: {error}; a preset is used");
            Ok(preset())
        }
    }
}
