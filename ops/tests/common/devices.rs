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

/// Lengths of segments and transforms that a software device is tested with: every way that kernels are laid out there, once.
/// It takes seconds to compile a kernel.
const SOFTWARE_LENGTHS: [usize; 5] = [8, 16, 64, 256, 4096];

/// Whether tests take length `n` on a device: any on a processor or a graphics card.
pub fn takes(device: &Device, n: usize) -> bool {
    !is_software(device) || SOFTWARE_LENGTHS.contains(&n)
}

/// Whether a device is a program that plays one, as it says itself: there is no card behind it.
#[cfg(feature = "cube")]
fn is_software(device: &Device) -> bool {
    device.identity().is_some_and(|identity| identity.physical.is_none())
}

#[cfg(not(feature = "cube"))]
fn is_software(_device: &Device) -> bool {
    false
}

/// The types that operations compute in on a device.
pub fn computed(device: &Device) -> &'static [DType] {
    if *device == Device::flex() { &[DType::F32, DType::F64] } else { &[DType::F32] }
}
