//! Power, peaks and butterfly transforms of one batch, and their gradients.

use cubecl::server::Handle;

use super::devices::{noise, read, upload};
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::device::empty;
use crate::gpu::learned::{LearnedGradients, LearnedWeights, learned_welch_psd, learned_welch_psd_backward};
use crate::gpu::welch::{GainedEstimate, WelchGradients, gained_peaks, welch_peaks, welch_psd, welch_psd_backward};
use crate::gpu::{ComplexRows, DeviceFrames, GpuDevice, PeakBuffers, SearchedRows, top_k};
use crate::open_blocks::OpenBlocks;
use crate::ops::{POWER_TAPS, PRODUCT_TAPS};
use crate::options::{Band, WelchOptions};

/// Numbers from 0 to 1 in a new buffer.
fn positive(device: &GpuDevice, len: usize, seed: u32) -> Handle {
    upload(device, &noise(len, seed).iter().map(|value| 0.5 + 0.5 * value).collect::<Vec<_>>())
}

fn weights(device: &GpuDevice, options: &WelchOptions, taps: usize, seed: u32) -> LearnedWeights {
    let pairs = options.stages() * options.n_fft / 2;
    LearnedWeights {
        window: positive(device, options.n_fft, seed),
        twiddles: positive(device, 2 * pairs, seed + 1),
        gates: positive(device, pairs, seed + 2),
        weights: positive(device, options.segments, seed + 3),
        gain: positive(device, taps * options.bins(), seed + 4),
        taps,
    }
}

/// The floats that every operation computes of a batch of `rows` frames, forward and backward.
pub fn outputs(device: &GpuDevice, options: &WelchOptions, rows: usize) -> Vec<Vec<f32>> {
    let (n, len, bins) = (options.n_fft, options.frame(), options.bins());
    let (pairs, k) = (options.stages() * n / 2, 5);
    let new = |len: usize| empty(&device.client, len);
    let frames = DeviceFrames::contiguous(positive(device, rows * len, 1), rows, len);
    let (window, grad) = (positive(device, n, 2), positive(device, rows * bins, 3));
    let [learned, with_products] = [POWER_TAPS, PRODUCT_TAPS].map(|taps| weights(device, options, taps, 10));

    // Exact and learned power, and peaks of both: in the launch that computes the power, and of power in memory.
    let [power, learned_power, product_power] = [0; 3].map(|_| new(rows * bins));
    welch_psd(device, &frames, &window, &power, options).unwrap();
    learned_welch_psd(device, &frames, &learned, &learned_power, options).unwrap();
    learned_welch_psd(device, &frames, &with_products, &product_power, options).unwrap();
    let peaks = || PeakBuffers { bins: new(rows * k), power: new(rows * k), k };
    let gained = [&learned, &with_products].map(|learned| {
        let into = peaks();
        let (window, gain, taps) = (&learned.window, &learned.gain, learned.taps);
        let estimate = GainedEstimate { window, gain, taps, open: OpenBlocks::ALL, first: 0, options: *options };
        gained_peaks(device, &frames, &estimate, &into).then_some(into.power)
    });
    let (fused, in_band, searched) = (peaks(), peaks(), peaks());
    welch_peaks(device, &frames, &window, &fused, options).unwrap();
    // A part of the bins, which of short segments are so few that they are ranked.
    let band = bins.min(7.max(bins / 3));
    welch_peaks(device, &frames, &window, &in_band, &options.with_band(Some(Band::new(bins - band..bins)))).unwrap();
    top_k(device, &SearchedRows::whole(&learned_power, rows, bins), &searched);

    // Their gradients.
    let of_welch = WelchGradients { signal: new(rows * len), window: new(n) };
    welch_psd_backward(device, &frames, &window, &grad, &of_welch, options).unwrap();
    let of_learned = [&learned, &with_products].map(|learned| {
        let into = LearnedGradients { signal: new(rows * len), learned: weights(device, options, learned.taps, 20) };
        learned_welch_psd_backward(device, &frames, learned, &grad, &into, options, [true; 6]).unwrap();
        let LearnedGradients { signal, learned } = into;
        [signal, learned.window, learned.twiddles, learned.gates, learned.weights, learned.gain]
    });

    // The transform by itself, with gates and without.
    let values = |seed: u32| ComplexRows::new(positive(device, rows * n, seed), positive(device, rows * n, seed + 1));
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

    [power, learned_power, product_power, fused.power, in_band.power, searched.power, of_welch.signal, of_welch.window]
        .into_iter()
        .chain(gained.into_iter().flatten())
        .chain(of_learned.into_iter().flatten())
        .chain(transforms)
        .map(|handle| read(device, &handle))
        .collect()
}
