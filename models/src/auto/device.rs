//! What is known of the device that frames are on.

use burn::backend::DispatchDevice;
use burn::tensor::Device;
use firefly_framework::cost::{DeviceProfile, Preset, default_path, load};
use firefly_framework::device::DeviceKind;
use firefly_framework::host::fingerprint;

/// The kind of a device.
pub fn kind_of(device: &Device) -> DeviceKind {
    match device.clone().inner().as_dispatch() {
        DispatchDevice::Flex(_) => DeviceKind::Cpu,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => DeviceKind::NdArray,
        // Which others there are depends on the features of Burn in the user's build.
        #[allow(unreachable_patterns)]
        _ => DeviceKind::Wgpu,
    }
}

/// The calibrated profile of a device, or its preset: where there is none, and where there is one that can't be used.
pub fn profile_of(kind: DeviceKind) -> DeviceProfile {
    let loaded = default_path(kind.name()).and_then(|path| load(&path, &fingerprint(kind.name())));
    match loaded {
        Ok(Some(profile)) => profile,
        Ok(None) => Preset::of(kind).profile(),
        Err(error) => {
            tracing::warn!(%error, "the device's profile is ignored");
            Preset::of(kind).profile()
        }
    }
}
