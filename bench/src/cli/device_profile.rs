//! The device profile that a command predicts with.

use std::path::Path;

use anyhow::{Context, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use firefly_app::device::DeviceName;
use firefly_app::streams::note;
use firefly_framework::cost::PEAKS_AXES;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, Preset, ProfileSource, load, load_or_preset};

use crate::suites::picker::strategies_of;

/// Latencies that the picker predicts from and a calibrated profile lacks; none if they are all there.
fn missing_latencies(profile: &DeviceProfile, device: DeviceName) -> Option<String> {
    let axes = PEAKS_AXES.map(|(name, _)| name);
    strategies_of(device.kind()).iter().find_map(|strategy| match profile.latencies.get(strategy.name()) {
        None => Some(format!("it has no latencies of `{strategy}`")),
        Some(table) => {
            let found: Vec<&str> = table.axes.iter().map(|axis| axis.name.as_str()).collect();
            let names =
                || format!("the latencies of `{strategy}` are over {}, not {}", found.join(", "), axes.join(", "));
            (found != axes).then(names)
        }
    })
}

/// The calibrated profile at `path`, or else the user's own of the device, or else a preset; and which of these it is.
///
/// # Errors
/// For a `path` at which there is no profile of this device. The user's own, if it is invalid, is reported on the error
/// stream and ignored.
pub fn device_profile(device: DeviceName, path: Option<&Path>) -> anyhow::Result<(DeviceProfile, ProfileSource)> {
    if let Some(path) = path {
        let loaded = load(path, &fingerprint(device.id())).context("--profile")?;
        ensure!(loaded.is_some(), "--profile: {}: there is no such file", path.display());
        return loaded.inspect(remark).map(|profile| (profile, ProfileSource::Calibrated)).context("--profile");
    }
    let resolved = load_or_preset(device.id());
    if let Some(error) = resolved.ignored {
        note(format_args!(
            "warning: {error}; a preset is used until `firefly-bench calibrate --device {device}` has run"
        ));
    }
    if resolved.source == ProfileSource::Calibrated
        && let Some(reason) = missing_latencies(&resolved.profile, device)
    {
        let again = format!("{reason}; run `firefly-bench calibrate --device {device}` again");
        note(format_args!("warning: the calibrated profile of {device}: {again}; a preset is used"));
        return Ok((Preset::of(device.kind()).profile(), ProfileSource::Preset));
    }
    remark(&resolved.profile);
    Ok((resolved.profile, resolved.source))
}

/// Parser of a preset by one of its names.
pub fn presets() -> impl TypedValueParser<Value = Preset> {
    let value = |preset: Preset| PossibleValue::new(preset.name()).aliases(preset.aliases());
    PossibleValuesParser::new(Preset::ALL.map(value)).try_map(|name| name.parse::<Preset>())
}

/// The user's calibrated profile of the device that a preset is named after, or else the preset; and which of these it
/// is.
pub fn target_profile(preset: Preset) -> (DeviceProfile, ProfileSource) {
    let device = preset.name().parse::<DeviceName>().ok();
    let resolved = device.map(|device| load_or_preset(device.id()));
    match resolved.filter(|resolved| resolved.source == ProfileSource::Calibrated) {
        Some(calibrated) => (calibrated.profile, ProfileSource::Calibrated),
        None => (preset.profile(), ProfileSource::Preset),
    }
}

/// Says on the error stream what is remarked on the measurement of a profile.
fn remark(profile: &DeviceProfile) {
    if !profile.remark.is_empty() {
        note(format_args!("warning: the profile of {} was {}", profile.name, profile.remark));
    }
}
