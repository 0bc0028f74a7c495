//! The device profile that a command predicts with.

use std::path::Path;

use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use firefly_app::device::DeviceName;
use firefly_app::streams::note;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, Preset, load, load_or_preset};

/// The calibrated profile at `path`, or else the user's own of the device, or else a preset.
pub fn device_profile(device: DeviceName, path: Option<&Path>) -> anyhow::Result<DeviceProfile> {
    let profile = if let Some(path) = path {
        let loaded = load(path, &fingerprint(device.id())).context("--profile")?;
        loaded.with_context(|| format!("--profile: {}: there is no such file", path.display()))?
    } else {
        own_profile(device)
    };
    if !profile.remark.is_empty() {
        note(format_args!("warning: the profile of {} was {}", profile.name, profile.remark));
    }
    Ok(profile)
}

/// The user's own profile of a device, or else a preset, with a warning where the profile can't be used.
fn own_profile(device: DeviceName) -> DeviceProfile {
    let (profile, ignored) = load_or_preset(device.id());
    if let Some(error) = ignored {
        note(format_args!(
            "warning: {error}; a preset is used until `firefly-bench calibrate --device {device}` has run"
        ));
    }
    profile
}

/// Parser of a preset by one of its names.
pub fn presets() -> impl TypedValueParser<Value = Preset> {
    let value = |preset: Preset| PossibleValue::new(preset.name()).aliases(preset.aliases());
    PossibleValuesParser::new(Preset::ALL.map(value)).try_map(|name| Preset::named(&name))
}

/// The user's calibrated profile of the device that a preset is named after, or else the preset.
pub fn target_profile(preset: Preset) -> DeviceProfile {
    let device = preset.name().parse::<DeviceName>().ok();
    let profile = device.map(own_profile).filter(DeviceProfile::is_calibrated);
    profile.unwrap_or_else(|| preset.profile())
}
