//! Spectral convolutions of separate operations, found in captured graphs, rewritten, and replayed on Flex.

use burn::backend::Flex;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Input, Replay, capture};
use firefly_framework::profile::Preset;
use firefly_framework::rewrite::Rewriter;
use firefly_ops::fft::{ComplexTensor, irfft, irfft_with, rfft, rfft_with};
use firefly_ops::{Norm, spectral_conv};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BATCH: usize = 5;
const INPUTS: usize = 3;
const OUTPUTS: usize = 4;
const N: usize = 16;
const MODES: usize = 6;

/// Signal, and both parts of the weights.
type ConvArguments = (Tensor<3>, (Tensor<3>, Tensor<3>));

fn noise<const D: usize>(shape: [usize; D], seed: u64) -> TensorData {
    let mut random = StdRng::seed_from_u64(seed);
    let values = (0..shape.iter().product()).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    TensorData::new(values, shape)
}

fn captured(model: impl Fn(Tensor<3>, ComplexTensor<3>) -> Tensor<3>) -> Graph {
    let weights = |name| Input::new(name, [INPUTS, OUTPUTS, MODES]);
    let inputs = [Input::new("signal", [BATCH, INPUTS, N]), weights("re"), weights("im")];
    capture(&inputs, |(signal, (re, im)): ConvArguments, _: &Device| model(signal, ComplexTensor::new(re, im))).unwrap()
}

fn rewritten(graph: &Graph) -> Graph {
    Rewriter::spectral().run(graph, &Preset::Cuda.profile()).graph
}

/// Checks that a model becomes one spectral convolution with the same results.
fn found(name: &str, model: impl Fn(Tensor<3>, ComplexTensor<3>) -> Tensor<3>) {
    let graph = rewritten(&captured(&model));
    assert_eq!(graph.custom_operations().collect::<Vec<_>>(), ["firefly::spectral_conv"], "{name}");
    let weights = || noise([INPUTS, OUTPUTS, MODES], 2);
    let data = vec![noise([BATCH, INPUTS, N], 1), weights(), noise([INPUTS, OUTPUTS, MODES], 3)];
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let [got] = &replay.run(data.clone()).unwrap()[..] else { panic!("one output") };
    let device = Device::flex();
    let [signal, re, im] = [0, 1, 2].map(|index| Tensor::<3>::from_data(data[index].clone(), &device));
    let expected = model(signal, ComplexTensor::new(re, im)).into_data().try_to_vec_as::<f64>().unwrap();
    let got = got.try_to_vec_as::<f64>().unwrap();
    assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-5), "{name}");
}

/// Checks that a model stays as it is.
fn left_alone(name: &str, model: impl Fn(Tensor<3>, ComplexTensor<3>) -> Tensor<3>) {
    let graph = rewritten(&captured(model));
    assert!(!graph.custom_operations().any(|operation| operation == "firefly::spectral_conv"), "{name}");
}

fn spectrum(signal: Tensor<3>) -> ComplexTensor<3> {
    rfft(signal).unwrap()
}

fn lowest(signal: Tensor<3>) -> ComplexTensor<3> {
    spectrum(signal).map(|part| part.narrow(2, 0, MODES))
}

fn back(product: ComplexTensor<3>) -> Tensor<3> {
    irfft(product, N).unwrap()
}

/// The product element by element, `[batch, in, out, modes]`, then summed.
fn by_elements(low: ComplexTensor<3>, weights: ComplexTensor<3>) -> ComplexTensor<3> {
    let product = low.map(|part| part.unsqueeze_dim::<4>(2)) * weights.map(|part| part.unsqueeze_dim::<4>(0));
    product.map(|part| part.sum_dim(1).squeeze_dim::<3>(1))
}

/// The product as matrix products per mode.
fn by_matrices(low: ComplexTensor<3>, weights: ComplexTensor<3>) -> ComplexTensor<3> {
    let low = low.map(|part| part.permute([2, 0, 1]));
    let weights = weights.map(|part| part.permute([2, 0, 1]));
    low.matmul(weights).map(|part| part.permute([1, 2, 0]))
}

fn padded(product: ComplexTensor<3>) -> ComplexTensor<3> {
    product.map(|part| {
        let zeros = Tensor::zeros([BATCH, OUTPUTS, N / 2 + 1 - MODES], &part.device());
        Tensor::cat(vec![part, zeros], 2)
    })
}

fn assigned(product: ComplexTensor<3>) -> ComplexTensor<3> {
    product.map(|part| {
        let zeros = Tensor::zeros([BATCH, OUTPUTS, N / 2 + 1], &part.device());
        zeros.slice_assign([0..BATCH, 0..OUTPUTS, 0..MODES], part)
    })
}

#[test]
fn layers_in_several_formulations_are_found() {
    found("elements", |signal, weights| back(by_elements(lowest(signal), weights)));
    found("elements, zeros joined", |signal, weights| back(padded(by_elements(lowest(signal), weights))));
    found("elements, assigned into zeros", |signal, weights| back(assigned(by_elements(lowest(signal), weights))));
    found("matrices", |signal, weights| back(by_matrices(lowest(signal), weights)));
    found("matrices, assigned into zeros", |signal, weights| back(assigned(by_matrices(lowest(signal), weights))));
    found("weights in front", |signal, weights| {
        let low = lowest(signal).map(|part| part.unsqueeze_dim::<4>(2));
        let product = weights.map(|part| part.unsqueeze_dim::<4>(0)) * low;
        back(product.map(|part| part.sum_dim(1).squeeze_dim::<3>(1)))
    });
    found("conjugate weights", |signal, weights| back(by_elements(lowest(signal), weights.conj())));
    found("orthonormal", |signal, weights| {
        let low = rfft_with(signal, None, 2, Norm::Ortho).unwrap().map(|part| part.narrow(2, 0, MODES));
        irfft_with(by_elements(low, weights), Some(N), 2, Norm::Ortho).unwrap()
    });
    found("Burn's transforms", |signal, weights| {
        let (re, im) = burn::signal::rfft(signal, 2, None);
        let low = ComplexTensor::new(re, im).map(|part| part.narrow(2, 0, MODES));
        let product = padded(by_elements(low, weights));
        burn::signal::irfft(product.re, product.im, 2, Some(N))
    });
}

#[test]
fn layers_among_other_operations_are_found() {
    found("between others", |signal, weights| back(by_elements(lowest(signal * 2.0 + 1.0), weights)).exp() - 1.0);
    let two = captured(|signal, weights| {
        let first = back(by_elements(lowest(signal.clone()), weights.clone()));
        first + back(by_matrices(lowest(signal), weights))
    });
    let operations = rewritten(&two).custom_operations().filter(|name| *name == "firefly::spectral_conv").count();
    assert_eq!(operations, 2);
}

#[test]
fn near_misses_are_left_alone() {
    left_alone("the conjugate of the product", |signal, weights| back(by_elements(lowest(signal), weights).conj()));
    left_alone("another norm", |signal, weights| {
        irfft_with(by_elements(lowest(signal), weights), Some(N), -1, Norm::Forward).unwrap()
    });
    left_alone("another length", |signal, weights| irfft(by_elements(lowest(signal), weights), 2 * N).unwrap());
    left_alone("bins from the second on", |signal, weights| {
        back(by_elements(spectrum(signal).map(|part| part.narrow(2, 1, MODES)), weights))
    });
    left_alone("zeros in front", |signal, weights| {
        let product = by_elements(lowest(signal), weights);
        let zeros = Tensor::zeros([BATCH, OUTPUTS, N / 2 + 1 - MODES], &product.re.device());
        back(product.map(|part| Tensor::cat(vec![zeros.clone(), part], 2)))
    });
    left_alone("ones behind", |signal, weights| {
        let product = by_elements(lowest(signal), weights);
        let ones = Tensor::ones([BATCH, OUTPUTS, N / 2 + 1 - MODES], &product.re.device());
        back(product.map(|part| Tensor::cat(vec![part, ones.clone()], 2)))
    });
    left_alone("a real product", |signal, weights| {
        let low = lowest(signal).map(|part| part.unsqueeze_dim::<4>(2));
        let product = low.scale(weights.re.unsqueeze_dim::<4>(0));
        back(product.map(|part| part.sum_dim(1).squeeze_dim::<3>(1)))
    });
    left_alone("a cut signal", |signal, weights| {
        let low = rfft_with(signal, Some(N - 1), -1, Norm::Backward).unwrap().map(|part| part.narrow(2, 0, MODES));
        irfft(by_elements(low, weights), N - 1).unwrap()
    });
    left_alone("another reader of the spectrum", |signal, weights| {
        let all = spectrum(signal);
        let power = all.clone().abs_squared().sum_dim(1).sum_dim(2);
        back(by_elements(all.map(|part| part.narrow(2, 0, MODES)), weights)) + power
    });
}

#[test]
fn the_operation_itself_replays() {
    found("the operation", |signal, weights| spectral_conv(signal, weights).unwrap());
}
