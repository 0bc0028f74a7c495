//! Power, peaks and butterfly transforms of one batch, and their gradients.

use cubecl::server::Handle;

use super::devices::{noise, read, upload};
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::device::empty;
use crate::gpu::welch::{
    DeviceEstimate, RowGain, WelchGradients, fused_plan, welch_peaks, welch_psd, welch_psd_backward,
};
use crate::gpu::{ComplexRows, DeviceFrames, GpuDevice, PeakBuffers, SearchedRows, top_k};
use crate::options::{Band, POWER_TAPS, PRODUCT_TAPS, WelchOptions};

/// Numbers from 0 to 1 in a new buffer.
fn positive(device: &GpuDevice, len: usize, seed: u32) -> Handle {
    upload(device, &noise(len, seed).iter().map(|value| 0.5 + 0.5 * value).collect::<Vec<_>>())
}

/// The floats that every operation computes of a batch of `rows` frames, forward and backward.
pub fn outputs(device: &GpuDevice, options: &WelchOptions, rows: usize) -> Vec<Vec<f32>> {
    let (n, len, bins) = (options.n_fft, options.frame(), options.bins());
    let (pairs, k) = (options.stages() * n / 2, 5);
    let new = |len: usize| empty(&device.client, len);
    let frames = DeviceFrames::contiguous(positive(device, rows * len, 1), rows, len);
    let (window, grad) = (positive(device, n, 2), positive(device, rows * bins, 3));
    let gains = [POWER_TAPS, PRODUCT_TAPS].map(|taps| RowGain { factors: positive(device, taps * bins, 10), taps });

    // Power and peaks without a gain and with one, and their gradients.
    let mut results = Vec::new();
    for gain in [None, Some(&gains[0]), Some(&gains[1])] {
        let estimate = DeviceEstimate { window: &window, gain, first: 0, options };
        let taps = gain.map_or(0, |gain| gain.taps);
        let plan = |options: &WelchOptions, k| fused_plan(device, &frames, options, k, taps);
        let power = new(rows * bins);
        welch_psd(device, &frames, &estimate, plan(options, 0), &power).unwrap();
        let peaks = || PeakBuffers { bins: new(rows * k), power: new(rows * k), k };
        let (found, in_band, searched) = (peaks(), peaks(), peaks());
        welch_peaks(device, &frames, &estimate, plan(options, k), &found).unwrap();
        // A part of the bins, which of short segments are so few that they are ranked.
        let band = bins.min(7.max(bins / 3));
        let of_band = options.with_band(Some(Band::new(bins - band..bins)));
        let in_part = DeviceEstimate { options: &of_band, ..estimate };
        welch_peaks(device, &frames, &in_part, plan(&of_band, k), &in_band).unwrap();
        top_k(device, &SearchedRows::whole(&power, rows, bins), &searched);
        let of_gain = gain.map(|gain| RowGain { factors: new(gain.taps * bins), taps: gain.taps });
        let (of_signal, of_window) = (new(rows * len), new(n));
        let into =
            WelchGradients { signal: Some(of_signal.clone()), window: Some(of_window.clone()), gain: of_gain.clone() };
        welch_psd_backward(device, &frames, &estimate, &grad, &into).unwrap();
        results.extend([power, found.power, in_band.power, searched.power, of_signal, of_window]);
        results.extend(of_gain.map(|gain| gain.factors));
    }

    // The transform by itself, with gates and without.
    let values = |seed: u32| ComplexRows::new(positive(device, rows * n, seed), positive(device, rows * n, seed + 1));
    let twiddles = positive(device, 2 * pairs, 11);
    for gates in [None, Some(positive(device, pairs, 12))] {
        let gated = gates.is_some();
        let transform = ButterflyTransform::new(n, twiddles.clone(), gates);
        let (input, output, of_input) = (values(30), values(40), values(50));
        transform.forward(device, &input, &output, rows).unwrap();
        let (of_twiddles, of_gates) = (new(2 * pairs), gated.then(|| new(pairs)));
        let sums = ButterflyGradients { twiddles: Some(of_twiddles.clone()), gates: of_gates.clone() };
        let batch = BackwardRows { input, grad: values(60), input_grad: Some(of_input.clone()), rows };
        transform.backward(device, &batch, &sums, false).unwrap();
        // The gradient of the input alone, and those of the butterflies alone.
        let (input_alone, twiddles_alone) = (values(70), new(2 * pairs));
        let of_input_alone = BackwardRows { input_grad: Some(input_alone.clone()), ..batch.clone() };
        transform.backward(device, &of_input_alone, &ButterflyGradients::default(), false).unwrap();
        let of_twiddles_alone = ButterflyGradients { twiddles: Some(twiddles_alone.clone()), gates: None };
        transform.backward(device, &BackwardRows { input_grad: None, ..batch }, &of_twiddles_alone, false).unwrap();
        results.extend([output.re, output.im.unwrap(), of_input.re, of_input.im.unwrap(), of_twiddles]);
        results.extend([input_alone.re, input_alone.im.unwrap(), twiddles_alone].into_iter().chain(of_gates));
    }

    results.iter().map(|handle| read(device, handle)).collect()
}
