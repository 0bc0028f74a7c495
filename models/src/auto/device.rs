//! What is known of the device that frames are on.

use firefly_framework::cost::{DeviceProfile, Preset, default_path, load};
use firefly_framework::device::DeviceName;
use firefly_framework::host::fingerprint;

/// The calibrated profile of a device, or its kind's preset: where there is none, and where there is one that can't be used.
pub fn profile_of(device: DeviceName) -> DeviceProfile {
    let name = device.to_string();
    let preset = || Preset::of(device.kind()).profile();
    match default_path(&name).and_then(|path| load(&path, &fingerprint(&name))) {
        Ok(profile) => profile.unwrap_or_else(preset),
        Err(error) => {
            tracing::warn!(%error, "the device's profile is ignored");
            preset()
        }
    }
}
