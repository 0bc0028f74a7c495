//! The devices that are present, the limits of some, and values in their memory.

use burn::backend::DispatchDevice;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind;
use burn::tensor::{Device, DeviceType};
use cubecl::server::Handle;

use crate::gpu::device::Limits;
use crate::gpu::{DeviceFrames, GpuDevice};
use crate::sample_type::SampleType;

impl Limits {
    /// An H200 under CUDA.
    pub const H200: Self = Self {
        plane: Some(32),
        plane_barrier: true,
        units: 1024,
        shared: 232_448,
        cubes: i32::MAX as u32,
        processors: Some(132),
        buffer: 1 << 37,
    };
    /// An H200 under WebGPU.
    pub const WEBGPU: Self =
        Self { plane_barrier: false, shared: 49_152, cubes: 65_535, processors: None, buffer: 1 << 31, ..Self::H200 };
    /// A software device.
    pub const SOFTWARE: Self = Self { plane: None, shared: 32_768, ..Self::WEBGPU };
}

impl DeviceFrames {
    /// Rows of `len` f32 one after the other.
    pub fn contiguous(signal: Handle, rows: usize, len: usize) -> Self {
        Self { signal, samples: SampleType::F32, skipped: 0, rows, len, stride: len }
    }
}

/// The devices of this machine that this build has kernels for, at least one. Tests that call it are ignored by default;
/// `just devices` runs them with `--include-ignored`.
///
/// # Panics
/// If there is none.
pub fn accelerators() -> Vec<GpuDevice> {
    let built: Vec<(DeviceType, fn() -> Device)> = vec![
        #[cfg(feature = "wgpu")]
        (DeviceType::Wgpu, || Device::wgpu(DeviceKind::DefaultDevice)),
        #[cfg(feature = "vulkan")]
        (DeviceType::Vulkan, || Device::vulkan(DeviceKind::DefaultDevice)),
        #[cfg(feature = "metal")]
        (DeviceType::Metal, || Device::metal(DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        (DeviceType::Cuda, || Device::cuda(0)),
        #[cfg(feature = "rocm")]
        (DeviceType::Rocm, || Device::rocm(0)),
    ];
    let present = |(kind, open): (DeviceType, fn() -> Device)| (!Device::enumerate(kind).is_empty()).then(open);
    let gpu = |device: Device| match device.as_dispatch() {
        DispatchDevice::Cube(device) => GpuDevice::of(&device.client()),
        _ => panic!("{device:?} is not a device of CubeCL"),
    };
    let found: Vec<GpuDevice> = built.into_iter().filter_map(present).map(gpu).collect();
    assert!(!found.is_empty(), "there is no device that this build has kernels for");
    found
}

/// The device with less shared memory and fewer units, so that a short row already takes several launches.
pub fn small(device: &GpuDevice) -> GpuDevice {
    let mut small = device.clone();
    (small.limits.shared, small.limits.units) = (2048, 64);
    small
}

/// Numbers from -1 to 1 that look random.
pub fn noise(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// Values in a new buffer.
pub fn upload(device: &GpuDevice, values: &[f32]) -> Handle {
    device.client.create_from_slice(bytemuck::cast_slice(values))
}

/// All values of a buffer.
pub fn read(device: &GpuDevice, handle: &Handle) -> Vec<f32> {
    let bytes = device.client.read_one(handle.clone()).unwrap();
    bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
}

/// Bits of values, which differ where values are equal and their bits are not.
pub fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}
