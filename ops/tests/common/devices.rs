//! The devices that tests run on.

use std::sync::LazyLock;

use burn::tensor::{DType, Device};
use firefly_framework::device::{DeviceError, DeviceKind, DeviceName};

/// The CPU and [`accelerators`].
pub fn devices() -> Vec<Device> {
    std::iter::once(Device::flex()).chain(accelerators()).collect()
}

/// The devices of this machine that this build has kernels for, the CPU aside; those that are missing are named.
pub fn accelerators() -> Vec<Device> {
    static FOUND: LazyLock<Vec<Device>> = LazyLock::new(|| {
        [DeviceKind::Wgpu, DeviceKind::Vulkan, DeviceKind::Metal, DeviceKind::Cuda]
            .into_iter()
            .filter_map(open)
            .collect()
    });
    FOUND.clone()
}

fn open(kind: DeviceKind) -> Option<Device> {
    let name: DeviceName = kind.name().parse().expect("a kind's name is a device's name");
    match name.open() {
        Ok(device) => {
            println!("testing on {name}");
            Some(device)
        }
        Err(error @ DeviceError::Absent { .. }) => {
            println!("skipping {name}: {error}");
            None
        }
        Err(_) => None,
    }
}

/// The types that operations compute in on a device.
pub fn computed(device: &Device) -> &'static [DType] {
    if *device == Device::flex() { &[DType::F32, DType::F64] } else { &[DType::F32] }
}
