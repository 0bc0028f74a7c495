//! Every kernel compiles to Metal's language, for every layout on an Apple device. Whether Apple's compiler takes the
//! source, and its results, are not checked here.

use cubecl::server::Handle;

use super::compile_only::metal;
use crate::gpu::butterfly::{BackwardRows, ButterflyGradients, ButterflyTransform};
use crate::gpu::device::empty;
use crate::gpu::long_conv::{ConvolutionGradients, ConvolutionInputs, ConvolutionShape, long_conv, long_conv_backward};
use crate::gpu::mel::{MelCall, mel, mel_backward};
use crate::gpu::spectral_conv::{SpectralConv, SpectralConvGradients};
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::gpu::welch::{
    DeviceEstimate, RowGain, WelchGradients, fused_plan, welch_peaks, welch_psd, welch_psd_backward,
};
use crate::gpu::{
    ComplexRows, DeviceFrames, GpuDevice, MaximaBuffers, PeakBuffers, PeakLossBuffers, SearchedRows, adam_step,
    local_maxima, peak_loss, peak_loss_backward, top_k,
};
use crate::options::{
    AdamOptions, Band, Detrend, LocalMaximaOptions, LogGuard, LogUnit, Logarithm, MelBands, MelOptions, POWER_TAPS,
    PRODUCT_TAPS, PeakLossOptions, Scaling, SignalPadding, SpectrumKind, StftOptions, WeightDecay, WelchOptions,
};
use crate::spectral_shape::SpectralShape;

const ROWS: usize = 5;

#[test]
fn every_kernel_compiles() {
    let (client, compiled) = metal();
    let device = GpuDevice::of(&client);
    for n in [8, 32, 256, 1024, 4096, 65_536] {
        let plain = WelchOptions::new(n, 2);
        let other = WelchOptions { scaling: Scaling::Spectrum, detrend: Detrend::Constant, hop: n + 3, ..plain };
        for options in [plain, other, WelchOptions { segments: 1, ..plain }, WelchOptions { segments: 5, ..plain }] {
            welch(&device, &options, None);
        }
        for taps in [POWER_TAPS, PRODUCT_TAPS] {
            welch(&device, &other, Some(taps));
        }
        butterflies(&device, n);
        maxima(&device, n);
        peak_losses(&device, n);
    }
    steps(&device);
    for points in [1, 6, 15, 67, 360, 1000, 2048, 65_536, 65_537] {
        transforms(&device, points);
        convolutions(&device, points);
    }
    for n in [6, 15, 400, 446] {
        mel_spectra(&device, n);
        welch(&device, &WelchOptions::new(n, 2), None);
    }
    for points in [&[16][..], &[15], &[6, 15], &[67, 8], &[4, 3, 6]] {
        spectral_convolutions(&device, points);
    }
    client.flush().unwrap();
    let compiled = compiled.lock().unwrap();
    assert!(compiled.len() > 100, "{} kernels were compiled", compiled.len());
    for (kernel, source) in compiled.iter() {
        let source = source.as_ref().unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(source.contains("[[kernel]]") && source.contains("metal_stdlib"), "{kernel}: {source}");
    }
}

fn welch(device: &GpuDevice, options: &WelchOptions, taps: Option<usize>) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    let (len, bins) = (options.frame(), options.bins());
    let frames = DeviceFrames::contiguous(new(ROWS * len), ROWS, len);
    let (window, power) = (new(options.n_fft), new(ROWS * bins));
    let gain = taps.map(|taps| RowGain { factors: new(taps * bins), taps });
    let estimate = DeviceEstimate { window: &window, gain: gain.as_ref(), first: 0, options };
    let plan = |options: &WelchOptions, k| fused_plan(device, &frames, options, k, taps.unwrap_or(0));
    welch_psd(device, &frames, &estimate, plan(options, 0), &power).unwrap();
    for k in [1, bins] {
        let into = PeakBuffers { bins: new(ROWS * k), power: new(ROWS * k), k };
        welch_peaks(device, &frames, &estimate, plan(options, k), &into).unwrap();
        let in_band = options.with_band(Some(Band::new(bins - k..bins)));
        let of_band = DeviceEstimate { options: &in_band, ..estimate };
        welch_peaks(device, &frames, &of_band, plan(&in_band, k), &into).unwrap();
        top_k(device, &SearchedRows::whole(&power, ROWS, bins), &into);
    }
    let into = WelchGradients { signal: Some(new(ROWS * len)), window: Some(new(options.n_fft)), gain: gain.clone() };
    welch_psd_backward(device, &frames, &estimate, &power, &into).unwrap();
}

fn peak_losses(device: &GpuDevice, bins: usize) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    for ranks in [1, 2] {
        let inputs = PeakLossBuffers {
            power: new(ROWS * bins),
            strongest: new(ROWS * ranks),
            reference_power: new(ROWS),
            peaks: new(ROWS * bins),
            target_power: new(ROWS * bins),
            rows: ROWS,
            bins,
            ranks,
        };
        let (options, losses) = (PeakLossOptions::new(1), new(2 * ROWS));
        peak_loss(device, &inputs, &options, &losses);
        peak_loss_backward(device, &inputs, &losses, &options, &new(ROWS * bins));
    }
}

fn steps(device: &GpuDevice) {
    let new = || -> Handle { empty(&device.client, ROWS) };
    for decay in [WeightDecay::None, WeightDecay::Coupled(0.1)] {
        let options = AdamOptions::new(0.1, 1).with_weight_decay(decay);
        adam_step(device, [new(), new(), new()], &new(), ROWS, &options);
    }
}

fn maxima(device: &GpuDevice, length: usize) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    let into = MaximaBuffers { maxima: new(ROWS * 3), bases: new(ROWS * 3), k: 3 };
    for distance in [1, 5] {
        let any = LocalMaximaOptions::new().with_distance(distance);
        for options in [any, any.with_height(0.1).with_prominence(0.1)] {
            local_maxima(device, &new(ROWS * length), &options, &into, ROWS, length);
        }
    }
}

fn transforms(device: &GpuDevice, points: usize) {
    let new = || StridedRows::new(ComplexRows::empty(&device.client, ROWS * points), points, points / 2 + 1);
    for kind in [
        TransformKind::Complex,
        TransformKind::RealForward,
        TransformKind::LowestBins,
        TransformKind::RealInverse,
        TransformKind::Cosine,
        TransformKind::CosineTransposed,
    ] {
        for is_padded in [false, true] {
            let problem = TransformProblem { points, kind, is_padded, conjugates: is_padded };
            transform(device, &TransformCall { problem, rows: ROWS, scale: 1.0, interior: 2.0 }, &new(), &new())
                .unwrap();
        }
    }
}

fn mel_spectra(device: &GpuDevice, n: usize) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    for (pad, kind, logarithm) in [
        (SignalPadding::Reflect, SpectrumKind::Power, None),
        (SignalPadding::Edge, SpectrumKind::Amplitude, Some(Logarithm::new(LogUnit::Ten))),
        (SignalPadding::Circular, SpectrumKind::Power, None),
        (
            SignalPadding::Constant(1.0),
            SpectrumKind::Power,
            Some(Logarithm::new(LogUnit::Natural).with_guard(LogGuard::Offset(1.0))),
        ),
    ] {
        let options = MelOptions::new(StftOptions::new(n).with_pad(pad), MelBands::new(100.0, 4)).with_kind(kind);
        let (window, values) = (new(n), 4 * options.stft.frames(3 * n));
        let rows = DeviceFrames::contiguous(new(ROWS * 3 * n), ROWS, 3 * n);
        let call = MelCall { rows, window: &window, options: &options, logarithm: logarithm.as_ref() };
        mel(device, &call, &new(ROWS * values)).unwrap();
        let into = [Some(new(ROWS * 3 * n)), Some(new(n))];
        mel_backward(device, &call, &new(ROWS * values), into).unwrap();
    }
}
fn spectral_convolutions(device: &GpuDevice, points: &[usize]) {
    let shape =
        SpectralShape { batch: 2, inputs: 3, outputs: 2, points: points.to_vec(), modes: vec![2; points.len()] };
    let len = points[shape.last()];
    let new = || StridedRows::contiguous(ComplexRows::real(empty(&device.client, 6 * shape.samples())), len);
    let weights = || ComplexRows::empty(&device.client, 6 * shape.channel_modes());
    let layer = SpectralConv { device, shape: &shape, weights: weights() };
    layer.forward(&new(), &new()).unwrap();
    let into = SpectralConvGradients { input: Some(new()), weights: Some(weights()) };
    layer.backward(&new(), &new(), &into).unwrap();
}

fn convolutions(device: &GpuDevice, n: usize) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    let rows = || StridedRows::contiguous(ComplexRows::real(new(2 * ROWS * n)), n);
    let shape = ConvolutionShape { batch: ROWS, channels: 2, n, taps: n };
    for gate in [None, Some(rows())] {
        long_conv(device, &shape, &rows(), &new(2 * n), gate.as_ref(), &new(2 * ROWS * n)).unwrap();
        let into = ConvolutionGradients {
            signal: Some(new(2 * ROWS * n)),
            kernel: Some(new(2 * n)),
            gate: gate.as_ref().map(|_| new(2 * ROWS * n)),
        };
        let inputs = ConvolutionInputs { signal: rows(), kernel: new(2 * n), gate, grad: rows() };
        long_conv_backward(device, &shape, &inputs, &into).unwrap();
    }
}

fn butterflies(device: &GpuDevice, n: usize) {
    let new = |len: usize| -> Handle { empty(&device.client, len) };
    let pairs = n.ilog2() as usize * n / 2;
    let rows = || ComplexRows::new(new(ROWS * n), new(ROWS * n));
    for gates in [None, Some(new(pairs))] {
        let is_gated = gates.is_some();
        let transform = ButterflyTransform::new(n, new(2 * pairs), gates);
        transform.forward(device, &rows(), &rows(), ROWS).unwrap();
        let (of_twiddles, of_gates) = (Some(new(2 * pairs)), is_gated.then(|| new(pairs)));
        let (all, none) =
            (ButterflyGradients { twiddles: of_twiddles, gates: of_gates }, ButterflyGradients::default());
        for (sums, input_grad) in [(&all, Some(rows())), (&all, None), (&none, Some(rows()))] {
            let batch = BackwardRows { input: rows(), grad: rows(), input_grad, rows: ROWS };
            transform.backward(device, &batch, sums, false).unwrap();
        }
    }
}
