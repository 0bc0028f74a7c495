//! The devices that tests run on.

use std::sync::LazyLock;

#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind;
use burn::tensor::{DType, Device, DeviceType};

/// The CPU and [`accelerators`].
pub fn devices() -> Vec<Device> {
    std::iter::once(Device::flex()).chain(accelerators()).collect()
}

/// Burn's types of device that this build has kernels for, the CPU aside, each with its default device.
fn built() -> Vec<(DeviceType, fn() -> Device)> {
    vec![
        #[cfg(feature = "wgpu")]
        (DeviceType::Wgpu, || Device::wgpu(DeviceKind::DefaultDevice)),
        #[cfg(feature = "vulkan")]
        (DeviceType::Vulkan, || Device::vulkan(DeviceKind::DefaultDevice)),
        #[cfg(feature = "metal")]
        (DeviceType::Metal, || Device::metal(DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        (DeviceType::Cuda, || Device::cuda(0)),
    ]
}

/// The devices of this machine that this build has kernels for, the CPU aside; those that are missing are named.
pub fn accelerators() -> Vec<Device> {
    static FOUND: LazyLock<Vec<Device>> = LazyLock::new(|| {
        let mut found = Vec::new();
        for (kind, open) in built() {
            let name = format!("{kind:?}");
            if Device::enumerate(kind).is_empty() {
                println!("skipping {name}: there is no such device");
            } else {
                println!("testing on {name}");
                found.push(open());
            }
        }
        found
    });
    FOUND.clone()
}

/// Lengths of segments and transforms that a software device is tested with: every way that kernels are laid out there,
/// once. It takes seconds to compile a kernel.
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
