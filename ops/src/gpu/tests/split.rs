//! A batch that no buffer of the device holds is split over launches, with the same results.

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

const ROWS: usize = 200;
const N: usize = 64;
const BINS: usize = N / 2 + 1;
const PAIRS: usize = 6 * N / 2;
const K: usize = 5;

fn accelerators() -> Vec<GpuDevice> {
    let built: Vec<(DeviceType, fn() -> Device)> = vec![
        #[cfg(feature = "wgpu")]
        (DeviceType::Wgpu, || Device::wgpu(DeviceKind::DefaultDevice)),
        #[cfg(feature = "vulkan")]
        (DeviceType::Vulkan, || Device::vulkan(DeviceKind::DefaultDevice)),
        #[cfg(feature = "metal")]
        (DeviceType::Metal, || Device::metal(DeviceKind::DefaultDevice)),
        #[cfg(feature = "cuda")]
        (DeviceType::Cuda, || Device::cuda(0)),
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

fn learned(device: &GpuDevice, seed: u32) -> LearnedWeights {
    LearnedWeights {
        window: noise(device, N, seed),
        twiddles: noise(device, 2 * PAIRS, seed + 1),
        gates: noise(device, PAIRS, seed + 2),
        weights: noise(device, 1, seed + 3),
        gain: noise(device, 3 * BINS, seed + 4),
    }
}

/// The outputs of every operation on the same batch, forward and backward, with their lengths.
fn outputs(device: &GpuDevice) -> Vec<Vec<f32>> {
    let options = WelchOptions::new(N, 1);
    let new = |len: usize| empty(&device.client, len);
    let frames = Frames { signal: noise(device, ROWS * N, 1), rows: ROWS, len: N };
    let (window, grad) = (noise(device, N, 2), noise(device, ROWS * BINS, 3));
    let parameters = learned(device, 10);

    let (power, learned_power) = (new(ROWS * BINS), new(ROWS * BINS));
    welch_psd(device, &frames, &window, &power, &options).unwrap();
    learned_welch_psd(device, &frames, &parameters, &learned_power, &options).unwrap();
    let peaks = || PeakBuffers { bins: new(ROWS * K), power: new(ROWS * K), k: K };
    let (fused, searched) = (peaks(), peaks());
    welch_peaks(device, &frames, &window, &fused, &options).unwrap();
    top_k(device, &learned_power, &searched, ROWS, BINS);

    let welch = WelchGradients { signal: new(ROWS * N), window: new(N) };
    welch_psd_backward(device, &frames, &window, &grad, &welch, &options).unwrap();
    let into = LearnedGradients { signal: new(ROWS * N), learned: learned(device, 20) };
    learned_welch_psd_backward(device, &frames, &parameters, &grad, &into, &options, [true; 6]).unwrap();

    let rows = |seed: u32| ComplexRows::new(noise(device, ROWS * N, seed), noise(device, ROWS * N, seed + 1));
    let transform = ButterflyTransform::new(N, parameters.twiddles.clone(), Some(parameters.gates.clone()));
    let (input, output, of_input) = (rows(30), rows(40), rows(50));
    transform.forward(device, &input, &output, ROWS).unwrap();
    let sums = ButterflyGradients { twiddles: new(2 * PAIRS), gates: new(PAIRS) };
    let batch = BackwardRows { input, grad: rows(60), input_grad: of_input.clone(), rows: ROWS };
    transform.backward(device, &batch, &sums, false).unwrap();

    let LearnedGradients { signal, learned } = into;
    let of_learned = [signal, learned.window, learned.twiddles, learned.gates, learned.weights, learned.gain];
    [power, learned_power, fused.power, searched.power, welch.signal, welch.window]
        .into_iter()
        .chain(of_learned)
        .chain([output.re, output.im.unwrap(), of_input.re, of_input.im.unwrap(), sums.twiddles, sums.gates])
        .map(|handle| bytemuck::pod_collect_to_vec(&device.client.read_one(handle).unwrap()))
        .collect()
}

#[test]
fn a_batch_that_no_buffer_holds_gives_the_same_results() {
    for device in accelerators() {
        let whole = outputs(&device);
        // 64 rows, so the batch takes four launches, the last one smaller.
        let mut split = device.clone();
        split.limits.buffer = 64 * 4 * N as u64;
        for (at, (whole, split)) in whole.iter().zip(&outputs(&split)).enumerate() {
            let largest = whole.iter().fold(0f32, |largest, value| largest.max(value.abs()));
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * largest;
            assert!(whole.len() == split.len() && whole.iter().zip(split).all(close), "output {at}");
        }
    }
}
