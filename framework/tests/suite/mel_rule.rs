//! Mel spectra of separate operations are rewritten to one where the outputs are the same and it pays.

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use firefly_framework::graph::{Graph, Input, Operation, Outputs, capture};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewritten, Rule};
use firefly_ops::fft::{ComplexTensor, fft, rfft, stft};
use firefly_ops::options::{MelBands, MelNorm, MelScale, mel_filters};
use firefly_ops::{StftOptions, Window, WindowSymmetry};

use crate::rules::{self, assert_left_alone, assert_same_outputs, names};

const ROWS: usize = 3;
const SAMPLES: usize = 2000;
const N_FFT: usize = 400;
const HOP: usize = 160;
const BANDS: usize = 20;

fn record<O: Outputs>(model: impl FnOnce(Tensor<2>, &Device) -> O) -> Graph {
    capture(&[Input::new("signal", [ROWS, SAMPLES])], model).unwrap()
}

fn rewrite(graph: &Graph, device: &DeviceProfile) -> Rewritten {
    rules::rewrite(Rule::Mel, graph, device)
}

/// Asserts that a graph becomes one mel spectrum and at most `others` other operations that run, with the same
/// outputs.
fn becomes(label: &str, graph: &Graph, others: usize) {
    let rewritten = rewrite(graph, &Preset::Cpu.profile());
    let left = names(&rewritten.graph);
    assert_eq!(rewritten.applied(), 1, "{label}: {left:?}, from {:?}", names(graph));
    let running = rewritten.graph.nodes().iter().filter(|node| !node.operation.is_view()).count();
    assert!(left.iter().filter(|name| *name == "firefly::mel").count() == 1, "{label}: {left:?}");
    assert!(running <= 1 + others, "{label}: {left:?}");
    assert_same_outputs(label, graph, &rewritten.graph, 2e-5);
}

fn stays(label: &str, graph: &Graph) {
    assert_left_alone(label, Rule::Mel, graph);
}

fn bands() -> MelBands {
    MelBands::new(16_000.0, BANDS)
}

/// Filters `[bands, bins]` of frames of `n_fft` samples.
fn filters_of(n_fft: usize, bands: &MelBands, device: &Device) -> Tensor<2> {
    let values = mel_filters(n_fft, bands).unwrap().concat();
    Tensor::from_data(TensorData::new(values, [bands.count, n_fft / 2 + 1]), (device, DType::F32))
}

fn filters(bands: &MelBands, device: &Device) -> Tensor<2> {
    filters_of(N_FFT, bands, device)
}

fn hann(device: &Device) -> Tensor<1> {
    Window::Hann.tensor(N_FFT, WindowSymmetry::Periodic, FloatDType::F32, device)
}

fn options() -> StftOptions {
    StftOptions::new(N_FFT).with_hop(HOP)
}

/// Power `[rows, bins, frames]`.
fn power(signal: Tensor<2>, options: &StftOptions, device: &Device) -> Tensor<3> {
    stft::<2, 3>(signal, Some(hann(device)), options).unwrap().abs_squared()
}

#[test]
fn short_time_transforms_with_filters_are_one_operation() {
    for center in [true, false] {
        let options = options().with_center(center);
        // The padding of centred frames, and of the last frame, stays.
        let plain =
            record(|signal, device| filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options, device)));
        becomes(&format!("mel, centred {center}"), &plain, 8);
        let offset = record(|signal, device| {
            (filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options, device)) + 1e-6).log()
        });
        becomes(&format!("log of sum, centred {center}"), &offset, 8);
    }
}

#[test]
fn equivalent_formulations_are_recognised() {
    let htk = bands().with_scale(MelScale::Htk).with_norm(MelNorm::None);
    let from_the_right = record(|signal, device| {
        let frames: Tensor<3> = signal.unfold(1, N_FFT, HOP);
        let spectra = rfft(frames * hann(device).reshape([1, 1, N_FFT])).unwrap();
        let power = spectra.re.clone() * spectra.re + spectra.im.clone() * spectra.im;
        power.matmul(filters(&htk, device).transpose().unsqueeze::<3>()).clamp_min(1e-5).log()
    });
    becomes("unfolded frames, filters from the right, floor", &from_the_right, 0);
    let powers = record(|signal, device| {
        let ComplexTensor { re, im } = stft::<2, 3>(signal, Some(hann(device)), &options().with_center(false)).unwrap();
        let power = re.powf_scalar(2.0) + im.powi_scalar(2);
        filters(&htk, device).unsqueeze::<3>().expand([ROWS, BANDS, N_FFT / 2 + 1]).matmul(power)
    });
    becomes("powers, repeated filters", &powers, 8);
}

#[test]
fn transforms_of_burn_are_recognised() {
    const N: usize = 512;
    // Burn transforms powers of two.
    let power = |signal: Tensor<2>, device: &Device| {
        let window = Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, device);
        let frames: Tensor<3> = signal.unfold(1, N, HOP);
        let (re, im) = burn::signal::rfft(frames * window.reshape([1, 1, N]), 2, None);
        re.powi_scalar(2) + im.powi_scalar(2)
    };
    let from_the_right = record(|signal, device| {
        let filters = filters_of(N, &bands(), device).transpose().unsqueeze::<3>();
        (power(signal, device).matmul(filters) + 1e-6).log()
    });
    becomes("logarithm, frames first", &from_the_right, 0);
    let from_the_left = record(|signal, device| {
        let filters = filters_of(N, &bands(), device).unsqueeze::<3>();
        filters.matmul(power(signal, device).sqrt().swap_dims(1, 2))
    });
    becomes("amplitude, bands first", &from_the_left, 0);
}

/// Burn's short-time spectra `[rows, frames, bins, 2]` of frames of 512 samples.
fn stft_of_burn(signal: Tensor<2>, device: &Device) -> Tensor<4> {
    let window = Window::Hann.tensor(512, WindowSymmetry::Periodic, FloatDType::F32, device);
    let options = burn::signal::StftOptions { hop_length: HOP, center: false, ..burn::signal::StftOptions::new(512) };
    burn::signal::stft(signal, Some(window), options)
}

#[test]
fn short_time_transforms_of_burn_are_recognised() {
    let filters = |device: &Device| filters_of(512, &bands(), device).transpose().unsqueeze::<3>();
    let summed = record(|signal, device| {
        let power = stft_of_burn(signal, device).powi_scalar(2).sum_dim(3).squeeze_dim::<3>(3);
        (power.matmul(filters(device)) + 1e-6).log()
    });
    becomes("parts squared and summed", &summed, 0);
    let apart = record(|signal, device| {
        let spectra = stft_of_burn(signal, device);
        let [re, im] = [0, 1].map(|part| spectra.clone().narrow(3, part, 1).squeeze_dim::<3>(3));
        (re.clone() * re + im.clone() * im).sqrt().matmul(filters(device))
    });
    becomes("parts taken apart", &apart, 0);
    let stacked = |signal: Tensor<2>, device: &Device, change: fn(Tensor<3>, Tensor<3>) -> [Tensor<3>; 2]| {
        let spectra = stft_of_burn(signal, device);
        let [re, im] = [0, 1].map(|part| spectra.clone().narrow(3, part, 1).squeeze_dim::<3>(3));
        Tensor::stack::<4>(change(re, im).to_vec(), 3)
    };
    let power = |parts: Tensor<4>| parts.powi_scalar(2).sum_dim(3).squeeze_dim::<3>(3);
    let again = record(|signal, device| power(stacked(signal, device, |re, im| [re, im])).matmul(filters(device)));
    becomes("parts stacked again", &again, 0);
    stays(
        "parts in the other order",
        &record(|signal, device| power(stacked(signal, device, |re, im| [im, re])).matmul(filters(device))),
    );
    stays(
        "one part stacked twice",
        &record(|signal, device| power(stacked(signal, device, |re, _| [re.clone(), re])).matmul(filters(device))),
    );
    stays(
        "a mean over parts",
        &record(|signal, device| {
            let power = stft_of_burn(signal, device).powi_scalar(2).mean_dim(3).squeeze_dim::<3>(3);
            power.matmul(filters(device))
        }),
    );
    stays(
        "a sum of magnitudes of parts",
        &record(|signal, device| {
            let magnitudes = stft_of_burn(signal, device).powi_scalar(2).sqrt();
            magnitudes.sum_dim(3).squeeze_dim::<3>(3).matmul(filters(device))
        }),
    );
    stays(
        "spectra that are an output too",
        &record(|signal, device| {
            let spectra = stft_of_burn(signal, device);
            (power(spectra.clone()).matmul(filters(device)), spectra)
        }),
    );
    stays(
        "the real part alone",
        &record(|signal, device| {
            stft_of_burn(signal, device).narrow(3, 0, 1).squeeze_dim::<3>(3).powi_scalar(2).matmul(filters(device))
        }),
    );
    stays(
        "one part twice",
        &record(|signal, device| {
            let spectra = stft_of_burn(signal, device);
            let re = spectra.narrow(3, 0, 1).squeeze_dim::<3>(3).powi_scalar(2);
            (re.clone() + re).matmul(filters(device))
        }),
    );
}

#[test]
fn both_sides_of_spectra_are_recognised() {
    const N: usize = 512;
    let window = |device: &Device| Window::Hann.tensor(N, WindowSymmetry::Periodic, FloatDType::F32, device);
    let of_burn = |signal: Tensor<2>, device: &Device| {
        let options = burn::signal::StftOptions::new(N);
        let options = burn::signal::StftOptions { hop_length: HOP, center: false, onesided: false, ..options };
        burn::signal::stft(signal, Some(window(device)), options)
    };
    let filters = |device: &Device| filters_of(N, &bands(), device);
    let power_first = record(|signal, device| {
        let power = of_burn(signal, device).powi_scalar(2).sum_dim(3).squeeze_dim::<3>(3);
        (power.narrow(2, 0, N / 2 + 1).matmul(filters(device).transpose().unsqueeze::<3>()) + 1e-6).log()
    });
    becomes("Burn's, power of both sides", &power_first, 0);
    let lower_first = record(|signal, device| {
        let spectra = of_burn(signal, device).narrow(2, 0, N / 2 + 1);
        let power = spectra.square().sum_dim(3).squeeze_dim::<3>(3);
        power.matmul(filters(device).transpose().unsqueeze::<3>())
    });
    becomes("Burn's, lower bins", &lower_first, 0);
    let of_firefly = record(|signal, device| {
        let options = StftOptions::new(N).with_hop(HOP).with_center(false).with_onesided(false);
        let power = stft::<2, 3>(signal, Some(window(device)), &options).unwrap().abs_squared();
        filters(device).unsqueeze::<3>().matmul(power.narrow(1, 0, N / 2 + 1))
    });
    // Whole hops are cut from a padded signal.
    becomes("Firefly's", &of_firefly, 2);

    let upper = record(|signal, device| {
        let power = of_burn(signal, device).square().sum_dim(3).squeeze_dim::<3>(3);
        power.narrow(2, N / 2 - 1, N / 2 + 1).matmul(filters(device).transpose().unsqueeze::<3>())
    });
    stays("the upper bins", &upper);
    let completed = |start: usize, change: fn(Tensor<3>, Tensor<3>) -> [Tensor<3>; 2]| {
        record(|signal, device| {
            let frames: Tensor<3> = signal.unfold(1, N, HOP);
            let (re, im) = burn::signal::rfft(frames * window(device).reshape([1, 1, N]), 2, None);
            let image = |part: Tensor<3>| part.narrow(2, start, N / 2 - 1).flip([2]);
            let [of_re, of_im] = change(image(re.clone()), image(im.clone()));
            let (re, im) = (Tensor::cat(vec![re, of_re], 2), Tensor::cat(vec![im, of_im], 2));
            (re.square() + im.square()).narrow(2, 0, N / 2 + 1).matmul(filters(device).transpose().unsqueeze::<3>())
        })
    };
    becomes("completed by hand", &completed(1, |re, im| [re, -im]), 0);
    stays("other bins behind the lower half", &completed(2, |re, im| [re, -im]));
    stays("bins that are not conjugated", &completed(1, |re, im| [re, im]));
    stays("bins whose real part is negated", &completed(1, |re, im| [-re, -im]));
    let of_complex = |imaginary: f32| {
        record(move |signal, device| {
            let frames = signal.unfold::<3, _>(1, N, HOP) * window(device).reshape([1, 1, N]);
            let im = Tensor::full(frames.dims(), imaginary, device);
            let power = fft(ComplexTensor::new(frames, im)).unwrap().abs_squared();
            power.narrow(2, 0, N / 2 + 1).matmul(filters(device).transpose().unsqueeze::<3>())
        })
    };
    becomes("Firefly's complex transform of real frames", &of_complex(0.0), 0);
    stays("the transform of complex frames", &of_complex(1.0));
}

#[test]
fn amplitude_is_recognised() {
    let plain = record(|signal, device| {
        filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options(), device).sqrt())
    });
    becomes("amplitude", &plain, 8);
    let logarithm = record(|signal, device| {
        let amplitude = power(signal, &options(), device).powf_scalar(0.5);
        filters(&bands(), device).unsqueeze::<3>().matmul(amplitude).clamp_min(1e-5).log()
    });
    becomes("logarithm of amplitude", &logarithm, 8);
}

/// Operations that follow a mel spectrum of power, or else of amplitude, after `tail`.
fn follows(is_power: bool, tail: fn(Tensor<3>) -> Tensor<3>) -> Vec<String> {
    let options = options().with_center(false);
    let graph = record(|signal, device| {
        let power = power(signal, &options, device);
        let spectrum = if is_power { power } else { power.sqrt() };
        tail(filters(&bands(), device).unsqueeze::<3>().matmul(spectrum))
    });
    becomes("with a factor", &graph, 8);
    let rewritten = names(&rewrite(&graph, &Preset::Cpu.profile()).graph);
    rewritten.into_iter().skip_while(|name| name != "firefly::mel").skip(1).collect()
}

#[test]
fn units_of_logarithms_are_recognised() {
    use std::f64::consts::{LN_10, LOG10_E};
    let none = Vec::<String>::new();
    assert_eq!(follows(true, |bands| bands.clamp_min(1e-10).log() * LOG10_E), none);
    assert_eq!(follows(true, |bands| bands.clamp_min(1e-10).log() * (10.0 * LOG10_E)), none);
    assert_eq!(follows(true, |bands| (bands + 1e-6).log() / LN_10 * 10.0), none);
    assert_eq!(follows(false, |bands| bands.clamp_min(1e-5).log().mul_scalar(20.0) / LN_10), none);
    // Decibels of power are not those of amplitude.
    assert_eq!(follows(false, |bands| (bands + 1e-5).log() / LN_10 * 10.0), ["multiply by 10"]);
    assert_eq!(follows(true, |bands| (bands + 1e-5).log() * 2.0), ["multiply by 2"]);
    assert_eq!(follows(true, |bands| (bands + 1e-5).log() / LN_10 + 4.0), ["add 4"]);
}

#[test]
fn near_misses_are_left_alone() {
    let miss = |label: &str, model: fn(Tensor<2>, &Device) -> Tensor<3>| stays(label, &record(model));
    miss("amplitude of a sum", |signal, device| {
        filters(&bands(), device).unsqueeze::<3>().matmul((power(signal, &options(), device) + 1e-9).sqrt())
    });
    miss("the fourth root of power", |signal, device| {
        filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options(), device).sqrt().sqrt())
    });
    miss("a matrix that is no filters", |signal, device| {
        (filters(&bands(), device) * 0.5).unsqueeze::<3>().matmul(power(signal, &options(), device))
    });
    miss("normalised transforms", |signal, device| {
        let options = options().with_normalized(true);
        filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options, device))
    });
    miss("the real part alone", |signal, device| {
        let spectra = stft::<2, 3>(signal, Some(hann(device)), &options()).unwrap();
        filters(&bands(), device).unsqueeze::<3>().matmul(spectra.re.square())
    });
    miss("a spectrum read elsewhere", |signal, device| {
        let power = power(signal, &options(), device);
        filters(&bands(), device).unsqueeze::<3>().matmul(power.clone()) / power.sum_dim(1)
    });
    miss("filters of another length", |signal, device| {
        let filters = filters(&bands(), device).slice([0..BANDS, 1..N_FFT / 2 + 1]);
        filters.unsqueeze::<3>().matmul(power(signal, &options(), device).narrow(1, 1, N_FFT / 2))
    });
}

#[test]
fn logarithms_that_something_else_reads_stay() {
    let graph = record(|signal, device| {
        let bands = filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options(), device));
        ((bands.clone() + 1e-6).log(), bands)
    });
    let rewritten = rewrite(&graph, &Preset::Cpu.profile());
    assert_eq!(rewritten.applied(), 1);
    assert!(rewritten.graph.nodes().iter().any(|node| node.operation == Operation::Logarithm));
}

#[test]
fn a_gain_below_the_fusion_gate_leaves_the_graph() {
    let graph =
        record(|signal, device| filters(&bands(), device).unsqueeze::<3>().matmul(power(signal, &options(), device)));
    let strict = DeviceProfile { min_gain: 1e12, ..Preset::Cpu.profile() };
    let rewritten = rewrite(&graph, &strict);
    assert_eq!((rewritten.applied(), rewritten.outcomes.len()), (0, 1));
    assert!(rewritten.explain().contains("leave on cpu"), "{}", rewritten.explain());
}
