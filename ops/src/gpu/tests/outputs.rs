//! Every operation on one batch, on the devices that are present.

use burn::backend::DispatchDevice;
#[cfg(any(feature = "wgpu", feature = "vulkan", feature = "metal"))]
use burn::tensor::DeviceKind;
use burn::tensor::{Device, DeviceType};
use cubecl::server::Handle;

use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::device::empty;
use crate::gpu::learned::{LearnedGradients, LearnedWeights, learned_welch_psd, learned_welch_psd_backward};
use crate::gpu::welch::{WelchGradients, welch_peaks, welch_psd, welch_psd_backward};
use crate::gpu::{ComplexRows, Frames, GpuDevice, PeakBuffers, top_k};
use crate::options::WelchOptions;

/// The devices of this machine that this build has kernels for.
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
    built.into_iter().filter_map(present).map(gpu).collect()
}

/// Numbers from 0 to 1 that look random.
fn noise(device: &GpuDevice, len: usize, seed: u32) -> Handle {
    let value = |i: u32| (i ^ seed).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(0x85eb_ca6b) >> 8;
    let values: Vec<f32> = (0..len as u32).map(|i| value(i) as f32 / (1 << 24) as f32).collect();
    device.client.create_from_slice(bytemuck::cast_slice(&values))
}

fn read(device: &GpuDevice, handle: Handle) -> Vec<f32> {
    let bytes = device.client.read_one(handle).unwrap();
    bytes.as_chunks().0.iter().map(|&value| f32::from_ne_bytes(value)).collect()
}

fn weights(device: &GpuDevice, options: &WelchOptions, seed: u32) -> LearnedWeights {
    let pairs = options.stages() * options.n_fft / 2;
    LearnedWeights {
        window: noise(device, options.n_fft, seed),
        twiddles: noise(device, 2 * pairs, seed + 1),
        gates: noise(device, pairs, seed + 2),
        weights: noise(device, options.segments, seed + 3),
        gain: noise(device, 3 * options.bins(), seed + 4),
    }
}

/// The floats that every operation computes of a batch of `rows` frames, forward and backward.
pub fn outputs(device: &GpuDevice, options: &WelchOptions, rows: usize) -> Vec<Vec<f32>> {
    let (n, len, bins) = (options.n_fft, options.frame(), options.bins());
    let (pairs, k) = (options.stages() * n / 2, 5);
    let new = |len: usize| empty(&device.client, len);
    let frames = Frames::contiguous(noise(device, rows * len, 1), rows, len);
    let (window, grad) = (noise(device, n, 2), noise(device, rows * bins, 3));
    let learned = weights(device, options, 10);

    // Exact and learned power, and peaks of both: in the launch that computes the power, and of power in memory.
    let (power, learned_power) = (new(rows * bins), new(rows * bins));
    welch_psd(device, &frames, &window, &power, options).unwrap();
    learned_welch_psd(device, &frames, &learned, &learned_power, options).unwrap();
    let peaks = || PeakBuffers { bins: new(rows * k), power: new(rows * k), k };
    let (fused, searched) = (peaks(), peaks());
    welch_peaks(device, &frames, &window, &fused, options).unwrap();
    top_k(device, &learned_power, &searched, rows, bins);

    // Their gradients.
    let of_welch = WelchGradients { signal: new(rows * len), window: new(n) };
    welch_psd_backward(device, &frames, &window, &grad, &of_welch, options).unwrap();
    let of_learned = LearnedGradients { signal: new(rows * len), learned: weights(device, options, 20) };
    learned_welch_psd_backward(device, &frames, &learned, &grad, &of_learned, options, [true; 6]).unwrap();

    // The transform by itself, with gates and without.
    let values = |seed: u32| ComplexRows::new(noise(device, rows * n, seed), noise(device, rows * n, seed + 1));
    let mut transforms = Vec::new();
    for gates in [None, Some(learned.gates.clone())] {
        let gated = gates.is_some();
        let transform = ButterflyTransform::new(n, learned.twiddles.clone(), gates);
        let (input, output, of_input) = (values(30), values(40), values(50));
        transform.forward(device, &input, &output, rows).unwrap();
        let sums = ButterflyGradients { twiddles: new(2 * pairs), gates: new(pairs) };
        let batch = BackwardRows { input, grad: values(60), input_grad: of_input.clone(), rows };
        transform.backward(device, &batch, &sums, false).unwrap();
        transforms.extend([output.re, output.im.unwrap(), of_input.re, of_input.im.unwrap(), sums.twiddles]);
        transforms.extend(gated.then_some(sums.gates));
    }

    let LearnedGradients { signal, learned } = of_learned;
    let of_learned = [signal, learned.window, learned.twiddles, learned.gates, learned.weights, learned.gain];
    [power, learned_power, fused.power, searched.power, of_welch.signal, of_welch.window]
        .into_iter()
        .chain(of_learned)
        .chain(transforms)
        .map(|handle| read(device, handle))
        .collect()
}
