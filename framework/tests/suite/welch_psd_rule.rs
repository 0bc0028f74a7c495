//! Welch power of separate operations is rewritten to one where the outputs are the same and it pays.

use burn::tensor::{DType, Device, FloatDType, Tensor};
use firefly_framework::graph::{Graph, Input, Operation, Outputs, capture};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewriter, Rewritten, Rule};
use firefly_ops::fft::{rfft, rfft_with, stft};
use firefly_ops::twiddles::exact_twiddles;
use firefly_ops::{Direction, Norm, StftOptions, Window, WindowSymmetry, butterfly};

use crate::rules::{self, assert_left_alone, assert_same_outputs, names, run};

const ROWS: usize = 3;
const SAMPLES: usize = 300;
const N_FFT: usize = 64;
const HOP: usize = 20;

fn record<O: Outputs>(model: impl FnOnce(Tensor<2>, &Device) -> O) -> Graph {
    capture(&[Input::new("signal", [ROWS, SAMPLES])], model).unwrap()
}

fn rewrite(graph: &Graph, device: &DeviceProfile) -> Rewritten {
    rules::rewrite(Rule::WelchPsd, graph, device)
}

/// Asserts that a graph becomes one Welch spectrum and exactly `others` other operations that run, with the same
/// outputs.
fn becomes(label: &str, graph: &Graph, others: usize) {
    let rewritten = rewrite(graph, &Preset::Cpu.profile());
    let left = names(&rewritten.graph);
    assert_eq!(rewritten.applied(), 1, "{label}: {left:?}, from {:?}", names(graph));
    assert_eq!(left.iter().filter(|name| *name == "firefly::welch_psd").count(), 1, "{label}: {left:?}");
    let running = rewritten.graph.nodes().iter().filter(|node| !node.operation.is_view()).count();
    assert_eq!(running, 1 + others, "{label}: {left:?}");
    assert_same_outputs(label, graph, &rewritten.graph, 4e-6);
}

fn stays(label: &str, graph: &Graph) {
    assert_left_alone(label, Rule::WelchPsd, graph);
}

fn hann(n: usize, device: &Device) -> Tensor<1> {
    Window::Hann.tensor(n, WindowSymmetry::Periodic, FloatDType::F32, device)
}

/// Weights of one-sided power of `n` samples.
fn sides(n: usize, device: &Device) -> Tensor<1> {
    let sides: Vec<f32> = (0..n / 2 + 1).map(|bin| if bin == 0 || 2 * bin == n { 1.0 } else { 2.0 }).collect();
    Tensor::from_data(sides.as_slice(), device)
}

fn windowed_segments(signal: Tensor<2>, n: usize, device: &Device) -> Tensor<3> {
    let frames: Tensor<3> = signal.unfold(1, n, HOP);
    frames * hann(n, device).reshape([1, 1, n])
}

/// Two-sided power `[rows, segments, bins]`.
fn power(signal: Tensor<2>, n: usize, device: &Device) -> Tensor<3> {
    rfft(windowed_segments(signal, n, device)).unwrap().abs_squared()
}

/// Welch power `[rows, bins]`.
fn welch(signal: Tensor<2>, n: usize, device: &Device) -> Tensor<2> {
    power(signal, n, device).mean_dim(1).squeeze_dim::<2>(1) * sides(n, device).unsqueeze::<2>()
}

/// Power `[rows, bins]` of the segment of `N_FFT` samples from `start` on, by Burn's transform.
fn one_segment(signal: Tensor<2>, start: usize, device: &Device) -> Tensor<2> {
    let segment = signal.narrow(1, start, N_FFT) * hann(N_FFT, device).unsqueeze();
    let (re, im) = burn::signal::rfft(segment, 1, None);
    re.powi_scalar(2) + im.powi_scalar(2)
}

#[test]
fn segments_of_any_length_are_one_operation() {
    for n in [2, 3, 20, 45, 60, 64, 97, 256] {
        becomes(&format!("unfolded, n {n}"), &record(|signal, device| welch(signal, n, device)), 0);
        let row = record(|signal, device| {
            let spectra = rfft(signal.narrow(1, 7, n)).unwrap();
            spectra.abs_squared() * sides(n, device).unsqueeze::<2>()
        });
        becomes(&format!("a power spectrum of {n} samples without a window"), &row, 0);
    }
}

#[test]
fn transforms_of_burn_are_recognised() {
    let unfolded = record(|signal, device| {
        let (re, im) = burn::signal::rfft(windowed_segments(signal, N_FFT, device), 2, None);
        let power = (re.clone() * re + im.powf_scalar(2.0)) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1]);
        power.sum_dim(1).squeeze_dim::<2>(1) / 12.0
    });
    becomes("unfolded, a sum over twelve segments", &unfolded, 0);
    let looped = record(|signal, device| {
        let segments = [3, 43, 83, 123].map(|start| one_segment(signal.clone(), start, device));
        let [dc, nyquist] = [0, N_FFT / 2];
        let total = segments.into_iter().reduce(|sum, segment| sum + segment).unwrap() / 4.0;
        let interior = total.clone().narrow(1, 1, nyquist - 1) * 2.0;
        Tensor::cat(vec![total.clone().narrow(1, dc, 1), interior, total.narrow(1, nyquist, 1)], 1)
    });
    becomes("a loop, interior bins doubled by concatenation", &looped, 0);
    let assigned = record(|signal, device| {
        let power = one_segment(signal, 0, device);
        let interior = power.clone().narrow(1, 1, N_FFT / 2 - 1) * 2.0;
        power.slice_assign([0..ROWS, 1..N_FFT / 2], interior)
    });
    becomes("one segment, interior bins doubled in place", &assigned, 0);
    let stacked = record(|signal, device| {
        let segments =
            [0, 50, 100].map(|start| one_segment(signal.clone(), start, device) * sides(N_FFT, device).unsqueeze());
        Tensor::stack::<3>(segments.to_vec(), 1).mean_dim(1).squeeze_dim::<2>(1)
    });
    becomes("one-sided segments, stacked", &stacked, 0);
    let short_time = record(|signal, device| {
        let options = burn::signal::StftOptions::new(N_FFT);
        let options = burn::signal::StftOptions { hop_length: HOP, center: false, ..options };
        let spectra = burn::signal::stft(signal, Some(hann(N_FFT, device)), options);
        let power = spectra.square().sum_dim(3).mean_dim(1).squeeze_dims::<2>(&[1, 3]);
        power * sides(N_FFT, device).unsqueeze::<2>()
    });
    becomes("Burn's short-time transform", &short_time, 0);
    let both_sides = record(|signal, device| {
        let options = burn::signal::StftOptions::new(N_FFT);
        let options = burn::signal::StftOptions { hop_length: HOP, center: false, onesided: false, ..options };
        let power = burn::signal::stft(signal, Some(hann(N_FFT, device)), options).square().sum_dim(3);
        power.mean_dim(1).squeeze_dims::<2>(&[1, 3]).narrow(1, 0, N_FFT / 2 + 1) * sides(N_FFT, device).unsqueeze()
    });
    becomes("both sides of Burn's short-time transform", &both_sides, 0);
}

#[test]
fn short_time_transforms_and_butterflies_are_recognised() {
    let short_time = record(|signal, device| {
        let options = StftOptions::new(N_FFT).with_hop(HOP).with_center(false);
        let spectra = stft::<2, 3>(signal, Some(hann(N_FFT, device)), &options).unwrap();
        spectra.abs_squared().mean_dim(2).squeeze_dim::<2>(2) * sides(N_FFT, device).unsqueeze::<2>()
    });
    becomes("stft", &short_time, 0);
    let butterflies = record(|signal, device| {
        let twiddles = exact_twiddles(N_FFT, Direction::Forward, FloatDType::F32, device).unwrap();
        let segment = signal.narrow(1, 0, N_FFT) * hann(N_FFT, device).unsqueeze();
        let spectrum = butterfly(segment, twiddles, None).unwrap();
        spectrum.abs_squared().narrow(1, 0, N_FFT / 2 + 1) * sides(N_FFT, device).unsqueeze::<2>()
    });
    becomes("butterflies", &butterflies, 0);
}

/// Scaling of the operation in a rewritten graph.
fn scaling(graph: &Graph) -> String {
    let rewritten = rewrite(graph, &Preset::Cpu.profile()).graph;
    let operation = rewritten.nodes().iter().map(|node| &node.operation).find(|o| o.name() == "firefly::welch_psd");
    format!("{:?}", operation.unwrap())
}

#[test]
fn constant_factors_become_scalings() {
    let scaled = |factor: f64| record(|signal, device| welch(signal, N_FFT, device) * factor);
    let (sum, energy) = (N_FFT as f64 / 2.0, 3.0 * N_FFT as f64 / 8.0);
    let factors = [1.0 / (sum * sum), 1.0 / (250.0 * energy), 0.3];
    let graphs = factors.map(scaled);
    graphs.iter().for_each(|graph| becomes("scaled", graph, 0));
    let [spectrum, density, any] = graphs.each_ref().map(scaling);
    assert!(spectrum != density && density != any && spectrum != any);
    becomes("a factor beyond any sample rate", &scaled(1e-34), 1);
    // Without the sum of its squares, the factor stays.
    let inputs = [Input::new("signal", [ROWS, SAMPLES]), Input::new("window", [N_FFT])];
    let model = |factor: f64| {
        let graph = capture(&inputs, |(signal, window): (Tensor<2>, Tensor<1>), device: &Device| {
            let segment = signal.narrow(1, 5, N_FFT) * window.unsqueeze();
            let power = rfft(segment).unwrap().abs_squared();
            power * sides(N_FFT, device).unsqueeze::<2>() * factor
        });
        graph.unwrap()
    };
    becomes("a window that is an input", &model(1.0), 0);
    becomes("a window that is an input, scaled", &model(0.25), 1);
}

#[test]
fn what_follows_the_power_stays() {
    becomes("decibels", &record(|signal, device| (welch(signal, N_FFT, device) + 1e-6).log() * 4.0), 3);
    let part = record(|signal, device| welch(signal, N_FFT, device).narrow(1, 1, N_FFT / 2));
    becomes("bins from 1 on", &part, 0);
    let kept = record(|signal, device| {
        let power = power(signal, N_FFT, device) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1]);
        power.mean_dim(1)
    });
    becomes("an axis of length 1", &kept, 0);
    let several = record(|signal, device| {
        let power = welch(signal, N_FFT, device);
        (power.clone() * 2.0, (power.clone().sqrt(), power))
    });
    becomes("power with several readers", &several, 2);
}

#[test]
fn peaks_win_where_power_is_not_wanted() {
    let peaks = record(|signal, device| welch(signal, N_FFT, device).topk_with_indices(4, 1));
    let rewritten = Rewriter::spectral().run(&peaks, &Preset::Cpu.profile());
    assert_eq!(names(&rewritten.graph), ["firefly::welch_peaks"]);
    let both = record(|signal, device| {
        let power = welch(signal, N_FFT, device);
        (power.clone(), power.topk_with_indices(4, 1))
    });
    let rewritten = Rewriter::spectral().run(&both, &Preset::Cpu.profile());
    assert_eq!(rewritten.graph.custom_operations().collect::<Vec<_>>(), ["firefly::welch_psd"]);
    assert!(rewritten.graph.nodes().iter().any(|node| matches!(node.operation, Operation::TopK { .. })));
    assert_eq!(rewritten.outcomes[0].rule, "welch psd");
}

/// `top_k` selects no values that are not finite, and Burn's searches do.
#[test]
fn searches_of_other_values_are_left_alone() {
    let graph = record(|signal, device| {
        let power = welch(signal.clone(), N_FFT, device);
        (signal.topk_with_indices(4, 1), (power + 1.0).sort_descending(1).narrow(1, 0, 4))
    });
    let rewritten = Rewriter::spectral().run(&graph, &Preset::Cpu.profile());
    assert_eq!(rewritten.graph.custom_operations().collect::<Vec<_>>(), ["firefly::welch_psd"]);
}

#[test]
fn near_misses_are_left_alone() {
    let miss = |label: &str, model: fn(Tensor<2>, &Device) -> Tensor<2>| stays(label, &record(model));
    let cube = |label: &str, model: fn(Tensor<2>, &Device) -> Tensor<3>| stays(label, &record(model));
    miss("interior bins not doubled", |signal, device| power(signal, N_FFT, device).mean_dim(1).squeeze_dim::<2>(1));
    miss("DC doubled too", |signal, device| (one_segment(signal, 0, device) * 2.0).log());
    miss("the sides of an odd length", |signal, device| {
        let odd = sides(N_FFT + 1, device);
        one_segment(signal, 0, device) * odd.unsqueeze::<2>()
    });
    miss("bins that have scales of their own", |signal, device| {
        let slope: Vec<f32> = (0..N_FFT / 2 + 1).map(|bin| 1.0 + bin as f32).collect();
        let slope = Tensor::<1>::from_data(slope.as_slice(), device);
        one_segment(signal, 0, device) * (sides(N_FFT, device) * slope).unsqueeze::<2>()
    });
    miss("negative power", |signal, device| one_segment(signal, 0, device) * -1.0 * sides(N_FFT, device).unsqueeze());
    miss("a factor per row", |signal, device| {
        let strength = Tensor::<1>::from_data([1.0, 2.0, 3.0], device).reshape([ROWS, 1]);
        one_segment(signal, 0, device) * strength * sides(N_FFT, device).unsqueeze()
    });
    cube("segments that are not averaged", |signal, device| {
        power(signal, N_FFT, device) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1])
    });
    miss("segments weighted differently", |signal, device| {
        let later = one_segment(signal.clone(), 30, device) * 0.5;
        (one_segment(signal, 0, device) + later) * sides(N_FFT, device).unsqueeze()
    });
    miss("segments that are not equally spaced", |signal, device| {
        let segments = [0, 30, 70].map(|start| one_segment(signal.clone(), start, device));
        segments.into_iter().reduce(|sum, segment| sum + segment).unwrap() * sides(N_FFT, device).unsqueeze()
    });
    cube("a window per row", |signal, device| {
        let frames: Tensor<3> = signal.unfold(1, N_FFT, HOP);
        let windows = Tensor::<1>::from_data([1.0, 2.0, 3.0], device).reshape([ROWS, 1, 1]);
        let windows = windows * hann(N_FFT, device).reshape([1, 1, N_FFT]);
        let power = rfft(frames * windows).unwrap().abs_squared();
        power.mean_dim(1) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1])
    });
    cube("segments without their mean", |signal, device| {
        let frames: Tensor<3> = signal.unfold(1, N_FFT, HOP);
        let power = rfft(frames.clone() - frames.mean_dim(2)).unwrap().abs_squared();
        power.mean_dim(1) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1])
    });
}

#[test]
fn near_misses_of_the_spectra_are_left_alone() {
    let miss = |label: &str, model: fn(Tensor<2>, &Device) -> Tensor<2>| stays(label, &record(model));
    miss("normalised transforms", |signal, device| {
        let spectra = rfft_with(signal.narrow(1, 0, N_FFT), None, 1, Norm::Ortho).unwrap();
        spectra.abs_squared() * sides(N_FFT, device).unsqueeze()
    });
    miss("samples padded with zeros", |signal, device| {
        let spectra = rfft_with(signal.narrow(1, 0, N_FFT / 2), Some(N_FFT), 1, Norm::Backward).unwrap();
        spectra.abs_squared() * sides(N_FFT, device).unsqueeze()
    });
    miss("the real part alone", |signal, device| {
        let spectra = rfft(signal.narrow(1, 0, N_FFT)).unwrap();
        spectra.re.square() * sides(N_FFT, device).unsqueeze()
    });
    miss("a sum of parts, squared", |signal, device| {
        let spectra = rfft(signal.narrow(1, 0, N_FFT)).unwrap();
        (spectra.re + spectra.im).square() * sides(N_FFT, device).unsqueeze()
    });
    miss("parts of different segments", |signal, device| {
        let spectra = |start| rfft(signal.clone().narrow(1, start, N_FFT)).unwrap();
        (spectra(0).re.square() + spectra(1).im.square()) * sides(N_FFT, device).unsqueeze()
    });
    miss("magnitude", |signal, device| one_segment(signal, 0, device).sqrt() * sides(N_FFT, device).unsqueeze());
    miss("spectra that something else reads", |signal, device| {
        let spectra = rfft(signal.narrow(1, 0, N_FFT)).unwrap();
        spectra.clone().abs_squared() * sides(N_FFT, device).unsqueeze() + spectra.re
    });
    stays(
        "power of segments that is an output",
        &record(|signal, device| {
            let power = power(signal, N_FFT, device);
            (power.clone(), power.mean_dim(1) * sides(N_FFT, device).reshape([1, 1, N_FFT / 2 + 1]))
        }),
    );
    // As many rows as samples, so that only the axis tells them apart.
    let columns = capture(&[Input::new("signal", [N_FFT, N_FFT])], |signal: Tensor<2>, device: &Device| {
        let (re, im) = burn::signal::rfft(signal, 0, None);
        (re.square() + im.square()) * sides(N_FFT, device).reshape([N_FFT / 2 + 1, 1])
    });
    stays("transformed along rows", &columns.unwrap());
}

#[test]
fn a_gain_below_the_fusion_gate_leaves_the_graph() {
    let graph = record(|signal, device| welch(signal, N_FFT, device));
    let strict = DeviceProfile { min_gain: 1e12, ..Preset::Cpu.profile() };
    let rewritten = rewrite(&graph, &strict);
    assert_eq!((rewritten.applied(), rewritten.outcomes.len()), (0, 1));
    assert!(rewritten.explain().contains("welch psd: leave on cpu"), "{}", rewritten.explain());
    assert_eq!(run(&graph), run(&rewritten.graph));
}

#[test]
fn wide_floats_keep_their_type() {
    let inputs = [Input::new("signal", [ROWS, N_FFT]).with_dtype(DType::F64)];
    let graph = capture(&inputs, |signal: Tensor<2>, device: &Device| {
        let sides = sides(N_FFT, device).cast(DType::F64).unsqueeze::<2>();
        rfft(signal).unwrap().abs_squared() * sides
    });
    let rewritten = rewrite(&graph.unwrap(), &Preset::Cpu.profile());
    assert_eq!((rewritten.applied(), rewritten.graph.get(rewritten.graph.outputs()[0]).dtype), (1, DType::F64));
}
