//! The device profile that a command predicts with.

use std::path::Path;

use anyhow::{Context, ensure};
use firefly_app::device::DeviceName;
use firefly_app::streams::note;
use firefly_framework::cost::PEAKS_AXES;
use firefly_framework::device::fingerprint;
use firefly_framework::profile::{DeviceProfile, Preset, ProfileSource, load, load_or_preset};

use crate::suites::picker::strategies_of;

/// What a calibrated profile lacks of the latencies that the picker predicts from; none if they are all there.
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
        return loaded.map(|profile| (profile, ProfileSource::Calibrated)).context("--profile");
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
    Ok((resolved.profile, resolved.source))
}
