//! Causal convolutions made of Fourier transforms are rewritten to `long_conv`, and what only looks like one is not.

use burn::backend::Flex;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{Arguments, CustomOperations, Graph, Input, Outputs, Replay, capture};
use firefly_framework::profile::{DeviceProfile, Preset};
use firefly_framework::rewrite::{Rewriter, Rewritten};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, ConvolveMode, fft_convolve, irfft, irfft_with, rfft_with};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BATCH: usize = 5;
const CHANNELS: usize = 3;
const N: usize = 32;
const SIGNAL: [usize; 3] = [BATCH, CHANNELS, N];
const KERNEL: [usize; 2] = [CHANNELS, N];

/// A profile that any gain passes.
fn eager() -> DeviceProfile {
    DeviceProfile { min_gain: 0.0, ..Preset::Cpu.profile() }
}

fn record<A: Arguments, O: Outputs>(shapes: &[&[usize]], model: impl FnOnce(A, &Device) -> O) -> Graph {
    let inputs: Vec<Input> = shapes.iter().enumerate().map(|(i, shape)| Input::new(&format!("{i}"), *shape)).collect();
    capture(&inputs, model).unwrap()
}

fn rewrite(graph: &Graph) -> Rewritten {
    Rewriter::spectral().run(graph, &eager())
}

fn noise(shape: &[usize], seed: u64) -> TensorData {
    let mut random = StdRng::seed_from_u64(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| random.random_range(-1.0..1.0)).collect();
    TensorData::new(values, shape.to_vec())
}

fn run(graph: &Graph) -> Vec<f64> {
    let operations = CustomOperations::<Flex>::spectral_and_fourier();
    let mut replay = Replay::new(graph, &Default::default(), &operations).unwrap();
    let inputs = graph.inputs().iter().enumerate();
    let inputs = inputs.map(|(seed, id)| noise(&graph.get(*id).shape, seed as u64)).collect();
    replay.run(inputs).unwrap().iter().flat_map(|output| output.try_to_vec_as::<f64>().unwrap()).collect()
}

/// Asserts that a graph becomes `long_conv` alone, with the same outputs.
fn assert_rewritten(label: &str, graph: &Graph) {
    let rewritten = rewrite(graph);
    let names: Vec<&str> = rewritten.graph.custom_operations().collect();
    assert_eq!(names, ["firefly::long_conv"], "{label}: {}", rewritten.explain());
    for (before, after) in run(graph).iter().zip(run(&rewritten.graph)) {
        assert!((before - after).abs() < 1e-4, "{label}: {after}, not {before}");
    }
}

fn assert_left_alone(label: &str, graph: &Graph) {
    let rewritten = rewrite(graph);
    assert_eq!(rewritten.applied(), 0, "{label}");
    assert!(rewritten.graph.custom_operations().all(|name| name != "firefly::long_conv"), "{label}");
}

type ConvPair = (Tensor<3>, Tensor<2>);
type Gated = (ConvPair, Tensor<3>);
type ConvModel = fn(Tensor<3>, Tensor<2>) -> Tensor<3>;

/// The convolution by transforms of `points` points, times `norm`'s factor, before it is cut.
fn circular(signal: Tensor<3>, kernel: Tensor<2>, points: usize, norm: Norm) -> Tensor<3> {
    let signal = rfft_with(signal, Some(points), -1, Norm::Backward).unwrap();
    let kernel = rfft_with(kernel, Some(points), -1, Norm::Backward).unwrap();
    let product = signal * kernel.map(|part| part.unsqueeze::<3>());
    irfft_with(product, Some(points), -1, norm).unwrap()
}

fn causal(signal: Tensor<3>, kernel: Tensor<2>) -> Tensor<3> {
    circular(signal, kernel, 2 * N, Norm::Backward).narrow(2, 0, N)
}

#[test]
fn transforms_of_twice_the_length_are_one_operation() {
    let plain = record(&[&SIGNAL, &KERNEL], |(signal, kernel): ConvPair, _: &Device| causal(signal, kernel));
    assert_rewritten("plain", &plain);
    let gated = record(&[&SIGNAL, &KERNEL, &SIGNAL], |((signal, kernel), gate): Gated, _: &Device| {
        gate * causal(signal, kernel)
    });
    assert_rewritten("gated", &gated);
    assert_eq!(rewrite(&gated).graph.nodes().len(), 1);
    let activated = record(&[&SIGNAL, &KERNEL, &SIGNAL], |((signal, kernel), gate): Gated, _: &Device| {
        causal(signal, kernel) * gate.exp()
    });
    assert_rewritten("gated by an activation", &activated);
}

#[test]
fn parts_may_be_multiplied_one_by_one() {
    let graph = record(&[&SIGNAL, &KERNEL], |(signal, kernel): ConvPair, _: &Device| {
        let signal = rfft_with(signal, Some(2 * N), 2, Norm::Backward).unwrap();
        let kernel = rfft_with(kernel, Some(2 * N), 1, Norm::Backward).unwrap();
        let kernel = kernel.map(|part| part.reshape([1, CHANNELS, N + 1]).expand([BATCH, CHANNELS, N + 1]));
        let re = kernel.re.clone() * signal.re.clone() - kernel.im.clone() * signal.im.clone();
        let im = signal.im * kernel.re + signal.re * kernel.im;
        irfft_with(ComplexTensor::new(re, im), Some(2 * N), 2, Norm::Backward).unwrap().slice([
            0..BATCH,
            0..CHANNELS,
            0..N,
        ])
    });
    assert_rewritten("parts", &graph);
}

#[test]
fn rows_may_be_padded_first_and_transformed_by_burn() {
    let graph = record(&[&SIGNAL, &KERNEL], |(signal, kernel): ConvPair, _: &Device| {
        let signal = Tensor::cat(vec![signal.clone(), signal.zeros_like()], 2);
        let kernel = Tensor::<2>::zeros([CHANNELS, 2 * N], &kernel.device()).slice_assign([0..CHANNELS, 0..N], kernel);
        let (re, im) = burn::signal::rfft(signal, 2, None);
        let (kernel_re, kernel_im) = burn::signal::rfft(kernel.unsqueeze::<3>(), 2, None);
        let product = ComplexTensor::new(re, im) * ComplexTensor::new(kernel_re, kernel_im);
        burn::signal::irfft(product.re, product.im, 2, None).narrow(2, 0, N)
    });
    assert_rewritten("padded", &graph);
}

#[test]
fn kernels_may_be_shorter_or_of_rank_three() {
    let short = record(&[&SIGNAL, &[CHANNELS, 9]], |(signal, kernel): ConvPair, _: &Device| {
        circular(signal, kernel, 40, Norm::Backward).narrow(2, 0, N)
    });
    assert_rewritten("9 taps in 40 points", &short);
    let convolved = record(&[&SIGNAL, &[1, CHANNELS, N]], |(signal, kernel): (Tensor<3>, Tensor<3>), _: &Device| {
        fft_convolve(signal, kernel, ConvolveMode::Full).unwrap().narrow(2, 0, N)
    });
    assert_rewritten("fft_convolve", &convolved);
    let single = record(&[&[1, CHANNELS, N], &[1, CHANNELS, N]], |pair: (Tensor<3>, Tensor<3>), _: &Device| {
        fft_convolve(pair.0, pair.1, ConvolveMode::Full).unwrap().narrow(2, 0, N)
    });
    assert_rewritten("a batch of one", &single);
}

#[test]
fn other_convolutions_are_left_alone() {
    let of_pair = |model: ConvModel| {
        record(&[&SIGNAL, &KERNEL], move |(signal, kernel): ConvPair, _: &Device| model(signal, kernel))
    };
    let cases: [(&str, ConvModel); 6] = [
        ("circular", |signal, kernel| circular(signal, kernel, N, Norm::Backward).narrow(2, 0, N)),
        ("one point too few", |signal, kernel| circular(signal, kernel, 2 * N - 2, Norm::Backward).narrow(2, 0, N)),
        ("a later part", |signal, kernel| circular(signal, kernel, 2 * N, Norm::Backward).narrow(2, 1, N)),
        ("another length", |signal, kernel| circular(signal, kernel, 2 * N, Norm::Backward).narrow(2, 0, N + 1)),
        ("scaled", |signal, kernel| circular(signal, kernel, 2 * N, Norm::Forward).narrow(2, 0, N)),
        ("correlation", |signal, kernel| {
            let signal = rfft_with(signal, Some(2 * N), -1, Norm::Backward).unwrap();
            let kernel = rfft_with(kernel, Some(2 * N), -1, Norm::Backward).unwrap().conj();
            let product = signal * kernel.map(|part| part.unsqueeze::<3>());
            irfft(product, 2 * N).unwrap().narrow(2, 0, N)
        }),
    ];
    for (label, model) in cases {
        assert_left_alone(label, &of_pair(model));
    }
    let same = record(&[&SIGNAL, &[1, CHANNELS, N]], |(signal, kernel): (Tensor<3>, Tensor<3>), _: &Device| {
        fft_convolve(signal, kernel, ConvolveMode::Same).unwrap()
    });
    assert_left_alone("the middle", &same);
    let per_row = record(&[&SIGNAL, &SIGNAL], |(signal, kernel): (Tensor<3>, Tensor<3>), _: &Device| {
        fft_convolve(signal, kernel, ConvolveMode::Full).unwrap().narrow(2, 0, N)
    });
    assert_left_alone("a kernel per row", &per_row);
}

#[test]
fn spectra_that_are_read_elsewhere_stay() {
    let graph = record(&[&SIGNAL, &KERNEL], |(signal, kernel): ConvPair, _: &Device| {
        let spectrum = rfft_with(signal, Some(2 * N), -1, Norm::Backward).unwrap();
        let kernel = rfft_with(kernel, Some(2 * N), -1, Norm::Backward).unwrap();
        let product = spectrum.clone() * kernel.map(|part| part.unsqueeze::<3>());
        (irfft(product, 2 * N).unwrap().narrow(2, 0, N), spectrum.re)
    });
    assert_left_alone("a spectrum that is returned", &graph);
}

#[test]
fn factors_of_another_shape_stay_behind_the_operation() {
    let graph = record(&[&SIGNAL, &KERNEL, &[1, CHANNELS, 1]], |((signal, kernel), gate): Gated, _: &Device| {
        causal(signal, kernel) * gate
    });
    assert_rewritten("a factor per channel", &graph);
    assert_eq!(rewrite(&graph).graph.nodes().len(), 2);
}

#[test]
fn the_fusion_gate_decides_per_device() {
    let graph = record(&[&SIGNAL, &KERNEL], |(signal, kernel): ConvPair, _: &Device| causal(signal, kernel));
    let strict = DeviceProfile { min_gain: 1e9, ..Preset::Cpu.profile() };
    let rewritten = Rewriter::spectral().run(&graph, &strict);
    assert_eq!((rewritten.applied(), rewritten.outcomes.len()), (0, 1));
    assert!(rewritten.explain().contains("long convolution"));
}
