//! Models composed of other operations are rewritten to `welch_peaks` where the outputs are the same and it pays.

use burn::backend::Flex;
use burn::signal::rfft;
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Input, Outputs, Replay, capture};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewriter, Rewritten, Rule};
use firefly_models::testing::{ButterflyWelchPeaks, Formulation, StockWelchPeaks, one_sided};
use firefly_models::{WelchPeaksConfig, Window, WindowSymmetry};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{Direction, butterfly, fft};

const ROWS: usize = 5;
const N_FFT: usize = 64;
const K: usize = 6;
const SEGMENTS: [usize; 3] = [1, 2, 8];
const BINS: usize = N_FFT / 2 + 1;

fn config(segments: usize) -> WelchPeaksConfig {
    WelchPeaksConfig::new().with_n_fft(N_FFT).with_k(K).with_segments(segments)
}

fn record<O: Outputs>(frame: usize, model: impl FnOnce(Tensor<2>, &Device) -> O) -> Graph {
    capture(&[Input::new("signal", [ROWS, frame])], model).unwrap()
}

fn rewrite(graph: &Graph, device: &DeviceProfile) -> Rewritten {
    Rewriter::new(&[Rule::WelchPeaks]).run(graph, device)
}

/// Tones of different strength in noise, so that no two bins are nearly equal.
fn samples(frame: usize) -> TensorData {
    let mut state = 7u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) - 0.5
    };
    let tone = |frequency: f64, sample: usize| (frequency * sample as f64).sin();
    let samples = (0..ROWS * frame).map(|index| {
        let (row, sample) = (index / frame, index % frame);
        let tones = tone(0.3 + 0.1 * row as f64, sample) + 0.5 * tone(1.1, sample) + 0.2 * tone(2.0, sample);
        (tones + 0.7 * noise() + 0.05) as f32
    });
    TensorData::new(samples.collect::<Vec<_>>(), [ROWS, frame])
}

fn run(graph: &Graph, frame: usize) -> Vec<Vec<f64>> {
    let mut replay =
        Replay::new(graph, &Default::default(), &CustomOperations::<Flex>::spectral_and_fourier()).unwrap();
    let outputs = replay.run(vec![samples(frame)]).unwrap();
    outputs.iter().map(|output| output.try_to_vec_as::<f64>().unwrap()).collect()
}

/// Asserts that a graph becomes one `welch_peaks` and at most `others` other operations that run, with the same
/// outputs.
fn becomes_welch_peaks(name: &str, graph: &Graph, frame: usize, others: usize) {
    let rewritten = rewrite(graph, &Preset::Cpu.profile());
    let left: Vec<_> = rewritten.graph.nodes().iter().map(|node| node.operation.name().into_owned()).collect();
    assert_eq!(rewritten.applied(), 1, "{name}: {left:?}");
    let peaks = left.iter().filter(|operation| *operation == "firefly::welch_peaks").count();
    let running = rewritten.graph.nodes().iter().filter(|node| !node.operation.is_view()).count();
    assert!(peaks == 1 && running == 1 + others, "{name}: {left:?}");
    let (before, after) = (run(graph, frame), run(&rewritten.graph, frame));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        let strongest = before.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        // Bins are integers: within this they are equal.
        let tolerance = strongest * 4.0 * (2e-6 + 5e-7 * (N_FFT as f64).log10());
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(after) {
            assert!((before - after).abs() <= tolerance, "{name}: {before} became {after}");
        }
    }
}

fn stays(name: &str, graph: &Graph) {
    let rewritten = rewrite(graph, &Preset::Cpu.profile());
    assert!(rewritten.outcomes.is_empty(), "{name}: {}", rewritten.explain());
    assert_eq!(rewritten.graph.nodes().len(), graph.nodes().len(), "{name}");
}

#[test]
fn every_formulation_is_recognised() {
    for segments in SEGMENTS {
        for formulation in Formulation::ALL {
            // More samples than the segments span: the rest must not be read.
            let frame = config(segments).options().frame() + 9;
            let graph = record(frame, |signal, device| {
                let peaks = StockWelchPeaks::new(&config(segments), formulation, device).unwrap().forward(signal);
                (peaks.bins, peaks.power)
            });
            becomes_welch_peaks(&format!("{segments} segments, {formulation:?}"), &graph, frame, 0);
        }
    }
}

#[test]
fn a_transform_by_butterflies_is_recognised() {
    for segments in SEGMENTS {
        let frame = config(segments).options().frame();
        let graph = record(frame, |signal, device| {
            let model = ButterflyWelchPeaks::new(&config(segments), device).unwrap();
            let peaks = model.peaks(model.spectra(signal).unwrap());
            (peaks.bins, peaks.power)
        });
        becomes_welch_peaks(&format!("{segments} segments, butterfly"), &graph, frame, 0);
    }
    let whole = record(N_FFT, |signal, device| {
        let twiddles = exact_twiddles(N_FFT, Direction::Forward, FloatDType::F32, device).unwrap();
        let samples = signal * hann(device);
        let ComplexTensor { re, im } = butterfly(samples, twiddles, None).unwrap();
        let power = (re.powi_scalar(2) + im.powi_scalar(2)).narrow(1, 0, BINS);
        (power * sides(device)).topk(K, 1)
    });
    becomes_welch_peaks("one segment, power only", &whole, N_FFT, 0);
}

fn sides(device: &Device) -> Tensor<2> {
    one_sided(N_FFT, device).unsqueeze()
}

fn hann(device: &Device) -> Tensor<2> {
    Window::Hann.tensor(N_FFT, WindowSymmetry::Periodic, FloatDType::F32, device).unsqueeze()
}

/// Squared magnitude of the spectrum of one windowed segment that starts at sample 3.
fn one_segment(signal: Tensor<2>, device: &Device) -> Tensor<2> {
    let (re, im) = rfft(signal.narrow(1, 3, N_FFT) * hann(device), 1, None);
    re.powi_scalar(2) + im.powi_scalar(2)
}

#[test]
fn transforms_of_any_length_are_recognised() {
    for (n, segments, hop) in
        [(2, 1, 1), (45, 3, 20), (60, 2, 30), (64, 2, 32), (97, 1, 48), (100, 4, 75), (512, 2, 256)]
    {
        let frame = n + (segments - 1) * hop + 5;
        let graph = record(frame, |signal, device| {
            let window: Tensor<1> = Window::Hann.tensor(n, WindowSymmetry::Symmetric, FloatDType::F32, device);
            let frames: Tensor<3> = signal.narrow(1, 0, frame - 5).unfold(1, n, hop);
            let spectra = fft::rfft(frames * window.reshape([1, 1, n])).unwrap();
            let sides: Vec<f32> = (0..n / 2 + 1).map(|k| if k == 0 || 2 * k == n { 1.0 } else { 2.0 }).collect();
            let sides = Tensor::<1>::from_data(sides.as_slice(), device).unsqueeze::<2>();
            let power = spectra.abs_squared().mean_dim(1).squeeze_dim::<2>(1) * sides;
            power.topk_with_indices(K.min(n / 2 + 1), 1)
        });
        becomes_welch_peaks(&format!("{segments} segments of {n}"), &graph, frame, 0);
    }
}

#[test]
fn scales_starts_and_single_outputs_are_kept() {
    let frame = N_FFT + 3;
    let scaled =
        record(frame, |signal, device| (one_segment(signal, device) * sides(device) * 0.25).topk_with_indices(K, 1));
    becomes_welch_peaks("scaled, from sample 3 on", &scaled, frame, 1);
    let bins = record(frame, |signal, device| (one_segment(signal, device) * sides(device)).argtopk(K, 1));
    becomes_welch_peaks("bins only", &bins, frame, 0);
    let no_window = record(N_FFT, |signal, device| {
        let (re, im) = rfft(signal, 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk(K, 1)
    });
    becomes_welch_peaks("no window", &no_window, N_FFT, 0);
}

#[test]
fn a_window_that_is_an_input_stays_an_input() {
    let inputs = [Input::new("signal", [ROWS, N_FFT]), Input::new("window", [N_FFT])];
    let graph = capture(&inputs, |(signal, window): (Tensor<2>, Tensor<1>), device: &Device| {
        let (re, im) = rfft(signal * window.unsqueeze(), 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk_with_indices(K, 1)
    });
    let rewritten = rewrite(&graph.unwrap(), &Preset::Cpu.profile());
    assert_eq!((rewritten.applied(), rewritten.graph.nodes().len(), rewritten.graph.inputs().len()), (1, 1, 2));
}

#[test]
fn a_spectrum_is_dropped_once_it_is_no_output() {
    let mut graph = record(N_FFT + 3, |signal, device| {
        let power = one_segment(signal, device) * sides(device);
        (power.clone(), power.topk_with_indices(K, 1))
    });
    stays("a spectrum that is an output", &graph);
    graph.restrict_outputs(&[1, 2]);
    becomes_welch_peaks("peaks only", &graph, N_FFT + 3, 0);
}

#[test]
fn a_gain_below_the_fusion_gate_leaves_the_graph() {
    let graph = record(N_FFT + 3, |signal, device| (one_segment(signal, device) * sides(device)).topk(K, 1));
    let strict = DeviceProfile { min_gain: 1e12, ..Preset::Cpu.profile() };
    let rewritten = rewrite(&graph, &strict);
    assert_eq!((rewritten.applied(), rewritten.outcomes.len()), (0, 1));
    assert!(rewritten.explain().contains("leave on cpu"), "{}", rewritten.explain());
    assert_eq!(run(&graph, N_FFT + 3), run(&rewritten.graph, N_FFT + 3));
}

#[test]
fn near_misses_are_left_alone() {
    let frame = N_FFT + 3;
    let miss = |name: &str, model: fn(Tensor<2>, &Device) -> Tensor<2>| stays(name, &record(frame, model));
    miss("magnitude", |signal, device| (one_segment(signal, device) * sides(device)).sqrt().topk(K, 1));
    miss("fourth power", |signal, device| (one_segment(signal, device) * sides(device)).powi_scalar(2).topk(K, 1));
    miss("interior bins not doubled", |signal, device| one_segment(signal, device).topk(K, 1));
    miss("DC doubled too", |signal, device| (one_segment(signal, device) * 2.0).topk(K, 1));
    miss("peaks along rows", |signal, device| (one_segment(signal, device) * sides(device)).topk(2, 0));
    miss("weakest bins", |signal, device| (one_segment(signal, device) * -1.0 * sides(device)).topk(K, 1));
    miss("DC left out", |signal, device| {
        (one_segment(signal, device) * sides(device)).narrow(1, 1, BINS - 1).topk(K, 1)
    });
    miss("ascending", |signal, device| (one_segment(signal, device) * sides(device)).sort(1).narrow(1, 0, K));
    miss("from the second strongest on", |signal, device| {
        (one_segment(signal, device) * sides(device)).sort_descending(1).narrow(1, 1, K)
    });
    miss("real part only", |signal, device| {
        let (re, _) = rfft(signal.narrow(1, 0, N_FFT) * hann(device), 1, None);
        (re.powi_scalar(2) * sides(device)).topk(K, 1)
    });
    miss("a sum of amplitudes, squared", |signal, device| {
        let (re, im) = rfft(signal.narrow(1, 0, N_FFT) * hann(device), 1, None);
        ((re + im).powi_scalar(2) * sides(device)).topk(K, 1)
    });
    miss("padded with zeros", |signal, device| {
        let (re, im) = rfft(signal.narrow(1, 0, N_FFT / 2), 1, Some(N_FFT));
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk(K, 1)
    });
    miss("segments weighted differently", |signal, device| {
        let later = one_segment(signal.clone(), device) * 0.5;
        let (re, im) = rfft(signal.narrow(1, 0, N_FFT) * hann(device), 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2) + later) * sides(device)).topk(K, 1)
    });
    miss("parts of different segments", |signal, device| {
        let (re, _) = rfft(signal.clone().narrow(1, 0, N_FFT) * hann(device), 1, None);
        let (_, im) = rfft(signal.narrow(1, 3, N_FFT) * hann(device), 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk(K, 1)
    });
    miss("a spectrum read elsewhere", |signal, device| {
        let power = one_segment(signal, device) * sides(device);
        power.clone().topk(K, 1) / power.sum_dim(1)
    });
}

#[test]
fn another_axis_is_left_alone() {
    // As many rows as samples, so that only the axis tells them apart.
    let inputs = [Input::new("signal", [N_FFT, N_FFT])];
    let graph = capture(&inputs, |signal: Tensor<2>, device: &Device| {
        let (re, im) = rfft(signal * hann(device), 0, None);
        (re.powi_scalar(2) + im.powi_scalar(2)).topk(K, 0)
    });
    stays("transformed along rows", &graph.unwrap());
}

#[test]
fn operations_before_the_window_are_kept_as_the_signal() {
    let twice = record(N_FFT, |signal, device| {
        let (re, im) = rfft(signal * hann(device) * hann(device), 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk(K, 1)
    });
    becomes_welch_peaks("two windows", &twice, N_FFT, 1);
    let rows = record(N_FFT, |signal, device| {
        let strength = Tensor::<1>::from_data([1.0, 2.0, 3.0, 4.0, 5.0], device).reshape([ROWS, 1]);
        let (re, im) = rfft(signal * strength * hann(device), 1, None);
        ((re.powi_scalar(2) + im.powi_scalar(2)) * sides(device)).topk(K, 1)
    });
    becomes_welch_peaks("rows of different strength", &rows, N_FFT, 1);
}

#[test]
fn inexact_twiddles_are_left_alone() {
    let graph = record(N_FFT, |signal, device| {
        let twiddles = exact_twiddles(N_FFT, Direction::Forward, FloatDType::F32, device).unwrap().into_data();
        let mut values = twiddles.try_to_vec::<f32>().unwrap();
        values[5] += 1e-3;
        let twiddles = Tensor::from_data(TensorData::new(values, [6, N_FFT / 2, 2]), (device, DType::F32));
        let ComplexTensor { re, im } = butterfly(signal, twiddles, None).unwrap();
        let power = (re.powi_scalar(2) + im.powi_scalar(2)).narrow(1, 0, BINS);
        (power * sides(device)).topk(K, 1)
    });
    stays("perturbed twiddles", &graph);
}
