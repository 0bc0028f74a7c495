//! Spectral convolutions of separate operations in two and three dimensions, found in captured graphs, rewritten, and
//! replayed on Flex.

use burn::backend::Flex;
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Input, Replay, capture};
use firefly_framework::profile::Preset;
use firefly_framework::rewrite::Rewriter;
use firefly_ops::Norm;
use firefly_ops::fft::{
    ComplexTensor, fft_with, ifft_with, irfft, irfft2, irfft2_with, irfftn_with, rfft, rfft2, rfft2_with, rfftn_with,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BATCH: usize = 2;
const INPUTS: usize = 3;
const OUTPUTS: usize = 4;
const IMAGE: [usize; 4] = [BATCH, INPUTS, 8, 16];
const VOLUME: [usize; 5] = [BATCH, INPUTS, 6, 5, 8];
/// Modes of a corner of an image, and bins of its half spectrum.
const MODES: [usize; 2] = [3, 5];
const BINS: usize = 9;

fn noise<const D: usize>(shape: [usize; D], seed: u64) -> TensorData {
    let mut random = StdRng::seed_from_u64(seed);
    let values = (0..shape.iter().product()).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    TensorData::new(values, shape)
}

fn weights<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> ComplexTensor<D> {
    let [re, im] = [seed, seed + 100].map(|seed| Tensor::from_data(noise(shape, seed), device));
    ComplexTensor::new(re, im)
}

/// Weights of one corner of an image.
fn corner(seed: u64, device: &Device) -> ComplexTensor<4> {
    weights([INPUTS, OUTPUTS, MODES[0], MODES[1]], seed, device)
}

fn rewritten<const D: usize>(shape: [usize; D], model: impl Fn(Tensor<D>) -> Tensor<D>) -> Graph {
    let graph = capture(&[Input::new("signal", shape)], |signal: Tensor<D>, _: &Device| model(signal)).unwrap();
    Rewriter::spectral().run(&graph, &Preset::Cuda.profile()).graph
}

/// Checks that a model becomes one spectral convolution with the same results.
fn found<const D: usize>(name: &str, shape: [usize; D], model: impl Fn(Tensor<D>) -> Tensor<D>) {
    let graph = rewritten(shape, &model);
    assert_eq!(graph.custom_operations().collect::<Vec<_>>(), ["firefly::spectral_conv"], "{name}");
    let signal = noise(shape, 1);
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let [got] = &replay.run(vec![signal.clone()]).unwrap()[..] else { panic!("one output") };
    let expected = model(Tensor::from_data(signal, &Device::flex())).into_data();
    assert_eq!(got.shape(), expected.shape(), "{name}");
    let [got, expected] = [got, &expected].map(|data| data.try_to_vec_as::<f64>().unwrap());
    assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-5), "{name}");
}

/// Checks that a model of images stays as it is.
fn left_alone(name: &str, model: impl Fn(Tensor<4>) -> Tensor<4>) {
    let graph = rewritten(IMAGE, model);
    assert!(!graph.custom_operations().any(|operation| operation == "firefly::spectral_conv"), "{name}");
}

fn spectrum(image: Tensor<4>) -> ComplexTensor<4> {
    rfft2(image).unwrap()
}

fn back(spectrum: ComplexTensor<4>) -> Tensor<4> {
    irfft2(spectrum, [8, 16]).unwrap()
}

fn cut<const D: usize>(all: &ComplexTensor<D>, ranges: [std::ops::Range<usize>; 2]) -> ComplexTensor<D> {
    let [rows, columns] = ranges;
    all.clone().map(|part| part.slice_dim(D - 2, rows.clone()).slice_dim(D - 1, columns.clone()))
}

/// The product element by element, `[batch, in, out, modes…]`, then summed.
fn product<const D: usize, const E: usize>(low: ComplexTensor<D>, weights: ComplexTensor<D>) -> ComplexTensor<D> {
    let product = low.map(|part| part.unsqueeze_dim::<E>(2)) * weights.map(|part| part.unsqueeze_dim::<E>(0));
    product.map(|part| part.sum_dim(1).squeeze_dim::<D>(1))
}

/// The product as matrix products per mode, all modes along one axis.
fn by_matrices(low: ComplexTensor<4>, weights: ComplexTensor<4>) -> ComplexTensor<4> {
    let [batch, inputs, m1, m2] = low.dims();
    let outputs = weights.dims()[1];
    let low = low.map(|part| part.reshape([batch, inputs, m1 * m2]).permute([2, 0, 1]));
    let weights = weights.map(|part| part.reshape([inputs, outputs, m1 * m2]).permute([2, 0, 1]));
    low.matmul(weights).map(|part| part.permute([1, 2, 0]).reshape([batch, outputs, m1, m2]))
}

/// Both corners times their weights, at `high` from the row where the upper one is cut.
fn corners(all: &ComplexTensor<4>, high: usize) -> [ComplexTensor<4>; 2] {
    let device = all.re.device();
    let low = product::<4, 5>(cut(all, [0..3, 0..5]), corner(1, &device));
    [low, product::<4, 5>(cut(all, [high..high + 3, 0..5]), corner(2, &device))]
}

/// Corners assigned into zeros, from these rows on.
fn assigned(corners: [ComplexTensor<4>; 2], rows: [usize; 2]) -> ComplexTensor<4> {
    let [low, high] = corners;
    let part = |low: Tensor<4>, high: Tensor<4>| {
        let [batch, outputs, count, modes] = low.dims();
        let zeros = Tensor::zeros([batch, outputs, 8, BINS], &low.device());
        let place = |row: usize, count| [0..batch, 0..outputs, row..row + count, 0..modes];
        let upper = high.dims()[2];
        zeros.slice_assign(place(rows[0], count), low).slice_assign(place(rows[1], upper), high)
    };
    ComplexTensor::new(part(low.re, high.re), part(low.im, high.im))
}

/// Corners with zeros between them, and none behind.
fn joined(corners: [ComplexTensor<4>; 2]) -> ComplexTensor<4> {
    let [low, high] = corners;
    let part = |low: Tensor<4>, high: Tensor<4>| {
        let [batch, outputs, count, modes] = low.dims();
        let zeros = Tensor::zeros([batch, outputs, 8 - 2 * count, modes], &low.device());
        Tensor::cat(vec![low, zeros, high], 2)
    };
    ComplexTensor::new(part(low.re, high.re), part(low.im, high.im))
}

fn layer(image: Tensor<4>) -> Tensor<4> {
    back(assigned(corners(&spectrum(image), 5), [0, 5]))
}

#[test]
fn layers_of_images_in_several_formulations_are_found() {
    found("a tensor of weights per corner, assigned into zeros", IMAGE, layer);
    found("zeros between corners", IMAGE, |image| back(joined(corners(&spectrum(image), 5))));
    found("zeros between and behind corners", IMAGE, |image| {
        let product = joined(corners(&spectrum(image), 5));
        let zeros = Tensor::zeros([BATCH, OUTPUTS, 8, BINS - MODES[1]], &product.re.device());
        back(product.map(|part| Tensor::cat(vec![part, zeros.clone()], 3)))
    });
    found("one tensor of weights for both corners", IMAGE, |image| {
        let all = spectrum(image);
        let [low, high] = [cut(&all, [0..3, 0..5]), cut(&all, [5..8, 0..5])];
        let kept = ComplexTensor::new(Tensor::cat(vec![low.re, high.re], 2), Tensor::cat(vec![low.im, high.im], 2));
        let weights = weights([INPUTS, OUTPUTS, 6, 5], 1, &kept.re.device());
        let product = product::<4, 5>(kept, weights);
        back(assigned([cut(&product, [0..3, 0..5]), cut(&product, [3..6, 0..5])], [0, 5]))
    });
    found("dimension by dimension", IMAGE, |image| {
        let low = rfft(image).unwrap().map(|part| part.narrow(3, 0, MODES[1]));
        let all = fft_with(low, None, 2, Norm::Backward).unwrap();
        let rows = ifft_with(joined(corners(&all, 5)), None, 2, Norm::Backward).unwrap();
        irfft(rows, 16).unwrap()
    });
    found("matrices", IMAGE, |image| {
        let all = spectrum(image);
        let device = all.re.device();
        let low = by_matrices(cut(&all, [0..3, 0..5]), corner(1, &device));
        back(assigned([low, by_matrices(cut(&all, [5..8, 0..5]), corner(2, &device))], [0, 5]))
    });
    found("weights in front of matrices", IMAGE, |image| {
        let all = spectrum(image);
        let device = all.re.device();
        let multiply = |low: ComplexTensor<4>, weights: ComplexTensor<4>| {
            let low = low.map(|part| part.permute([2, 3, 1, 0]));
            let weights = weights.map(|part| part.permute([2, 3, 1, 0]));
            weights.matmul(low).map(|part| part.permute([3, 2, 0, 1]))
        };
        let low = multiply(cut(&all, [0..3, 0..5]), corner(1, &device));
        back(assigned([low, multiply(cut(&all, [5..8, 0..5]), corner(2, &device))], [0, 5]))
    });
    found("orthonormal", IMAGE, |image| {
        let all = rfft2_with(image, None, [2, 3], Norm::Ortho).unwrap();
        irfft2_with(assigned(corners(&all, 5), [0, 5]), Some([8, 16]), [2, 3], Norm::Ortho).unwrap()
    });
    found("Burn's transforms of real rows", IMAGE, |image| {
        let (re, im) = burn::signal::rfft(image, 3, None);
        let all = fft_with(ComplexTensor::new(re, im), None, 2, Norm::Backward).unwrap();
        let rows = ifft_with(assigned(corners(&all, 5), [0, 5]), None, 2, Norm::Backward).unwrap();
        burn::signal::irfft(rows.re, rows.im, 3, Some(16))
    });
    // The inverse transform of columns as the conjugate of that of the conjugate.
    found("Burn's transforms alone", IMAGE, |image| {
        let (re, im) = burn::signal::rfft(image, 3, None);
        let (re, im) = burn::signal::cfft(re, im, 2, None);
        let low = assigned(corners(&ComplexTensor::new(re, im), 5), [0, 5]);
        let (re, im) = burn::signal::cfft(low.re, -low.im, 2, None);
        burn::signal::irfft(re / 8.0, -im / 8.0, 3, Some(16))
    });
}

#[test]
fn layers_of_other_shapes_are_found() {
    found("an odd number of modes", IMAGE, |image| {
        let all = spectrum(image);
        let device = all.re.device();
        let low = product::<4, 5>(cut(&all, [0..3, 0..5]), corner(1, &device));
        let high = product::<4, 5>(cut(&all, [6..8, 0..5]), weights([INPUTS, OUTPUTS, 2, 5], 2, &device));
        back(assigned([low, high], [0, 6]))
    });
    found("every row of bins", IMAGE, |image| {
        let low = spectrum(image).map(|part| part.narrow(3, 0, MODES[1]));
        let weights = weights([INPUTS, OUTPUTS, 8, MODES[1]], 1, &low.re.device());
        back(product::<4, 5>(low, weights))
    });
    found("one column of bins", IMAGE, |image| {
        let all = spectrum(image);
        let weights = |seed| weights([INPUTS, OUTPUTS, 3, 1], seed, &all.re.device());
        let low = product::<4, 5>(cut(&all, [0..3, 0..1]), weights(1));
        back(assigned([low, product::<4, 5>(cut(&all, [5..8, 0..1]), weights(2))], [0, 5]))
    });
    found("one image of one channel", [1, 1, 8, 16], |image| {
        let all = spectrum(image);
        let weights = |seed| weights([1, 1, 3, 5], seed, &all.re.device());
        let low = product::<4, 5>(cut(&all, [0..3, 0..5]), weights(1));
        back(assigned([low, product::<4, 5>(cut(&all, [5..8, 0..5]), weights(2))], [0, 5]))
    });
    found("between views of other layouts", [BATCH, 8, 16, INPUTS], |pixels| {
        let image = layer(pixels.permute([0, 3, 1, 2]) * 2.0);
        image.reshape([BATCH, OUTPUTS, 8 * 16]).swap_dims(1, 2).reshape([BATCH, 8, 16, OUTPUTS]).exp()
    });
}

/// A layer of volumes: four corners times `weights`, assigned into zeros.
fn volume_layer(volume: Tensor<5>) -> Tensor<5> {
    let all = rfftn_with(volume, None, &[2, 3, 4], Norm::Forward).unwrap();
    let device = all.re.device();
    let places = [[0..2, 0..2], [4..6, 0..2], [0..2, 3..5], [4..6, 3..5]];
    let [mut re, mut im] = [0, 1].map(|_| Tensor::<5>::zeros([BATCH, OUTPUTS, 6, 5, 5], &device));
    for (seed, [rows, columns]) in places.into_iter().enumerate() {
        let place = |channels| [0..BATCH, 0..channels, rows.clone(), columns.clone(), 0..3];
        let kept = all.clone().map(|part| part.slice(place(INPUTS)));
        let product = product::<5, 6>(kept, weights([INPUTS, OUTPUTS, 2, 2, 3], seed as u64, &device));
        (re, im) = (re.slice_assign(place(OUTPUTS), product.re), im.slice_assign(place(OUTPUTS), product.im));
    }
    irfftn_with(ComplexTensor::new(re, im), Some(&[6, 5, 8]), &[2, 3, 4], Norm::Forward).unwrap()
}

#[test]
fn layers_of_volumes_are_found() {
    found("a tensor of weights per corner", VOLUME, volume_layer);
    found("one tensor of weights", VOLUME, |volume| {
        let all = rfftn_with(volume, None, &[2, 3, 4], Norm::Backward).unwrap();
        let around = |part: Tensor<5>, dim, low, high| {
            let rest = part.dims()[dim] - high;
            Tensor::cat(vec![part.clone().narrow(dim, 0, low), part.narrow(dim, rest, high)], dim)
        };
        let kept = all.map(|part| around(around(part.narrow(4, 0, 3), 2, 2, 1), 3, 1, 1));
        let device = kept.re.device();
        let product = product::<5, 6>(kept, weights([INPUTS, OUTPUTS, 3, 2, 3], 1, &device));
        let apart = |part: Tensor<5>, dim: usize, low, points| {
            let [mut zeros, count] = [part.dims(), [part.dims()[dim]; 5]];
            zeros[dim] = points - count[0];
            let [low, high] = [part.clone().narrow(dim, 0, low), part.narrow(dim, low, count[0] - low)];
            Tensor::cat(vec![low, Tensor::zeros(zeros, &device), high], dim)
        };
        let whole = product.map(|part| apart(apart(part, 3, 1, 5), 2, 2, 6));
        irfftn_with(whole, Some(&[6, 5, 8]), &[2, 3, 4], Norm::Backward).unwrap()
    });
}

#[test]
fn two_layers_are_both_found() {
    let graph = rewritten([BATCH, 4, 8, 16], |image| {
        let weights = |seed| weights([4, 4, 3, 5], seed, &image.device());
        let (first, second) = ([weights(1), weights(2)], [weights(3), weights(4)]);
        [first, second].into_iter().fold(image, |image, [low, high]| {
            let all = spectrum(image);
            let low = product::<4, 5>(cut(&all, [0..3, 0..5]), low);
            back(assigned([low, product::<4, 5>(cut(&all, [5..8, 0..5]), high)], [0, 5])).tanh()
        })
    });
    assert_eq!(graph.custom_operations().collect::<Vec<_>>(), ["firefly::spectral_conv"; 2]);
}

#[test]
fn near_misses_of_images_are_left_alone() {
    left_alone("the lower corner alone", |image| {
        let [low, _] = corners(&spectrum(image), 5);
        let zeros = Tensor::zeros([BATCH, OUTPUTS, 5, MODES[1]], &low.re.device());
        back(low.map(|part| Tensor::cat(vec![part, zeros.clone()], 2)))
    });
    left_alone("another corner", |image| back(assigned(corners(&spectrum(image), 4), [0, 5])));
    left_alone("another place", |image| back(assigned(corners(&spectrum(image), 5), [0, 4])));
    left_alone("corners exchanged", |image| back(assigned(corners(&spectrum(image), 5), [5, 0])));
    left_alone("corners of other sizes", |image| {
        let all = spectrum(image);
        let low = product::<4, 5>(cut(&all, [0..3, 0..5]), corner(1, &all.re.device()));
        let weights = weights([INPUTS, OUTPUTS, 1, 5], 2, &all.re.device());
        back(assigned([low, product::<4, 5>(cut(&all, [7..8, 0..5]), weights)], [0, 7]))
    });
    left_alone("corners with fewer columns", |image| {
        let all = spectrum(image);
        let low = product::<4, 5>(cut(&all, [0..3, 0..5]), corner(1, &all.re.device()));
        let weights = weights([INPUTS, OUTPUTS, 3, 4], 2, &all.re.device());
        let high = product::<4, 5>(cut(&all, [5..8, 0..4]), weights);
        back(assigned([low, high.map(|part| part.pad([(0, 1)], 0.0))], [0, 5]))
    });
    left_alone("another norm", |image| {
        let product = assigned(corners(&spectrum(image), 5), [0, 5]);
        irfft2_with(product, Some([8, 16]), [-2, -1], Norm::Forward).unwrap()
    });
    left_alone("other points", |image| {
        let product = assigned(corners(&spectrum(image), 5), [0, 5]);
        irfft2(product, [8, 14]).unwrap()
    });
    left_alone("more rows", |image| {
        let product = assigned(corners(&spectrum(image), 5), [0, 5]);
        irfft2(product, [16, 16]).unwrap()
    });
    left_alone("a factor for one corner", |image| {
        let [low, high] = corners(&spectrum(image), 5);
        back(assigned([low, high.scale_scalar(2.0)], [0, 5]))
    });
    left_alone("the conjugate of one corner", |image| {
        let [low, high] = corners(&spectrum(image), 5);
        back(assigned([low, high.conj()], [0, 5]))
    });
    left_alone("no inverse along the first dimension", |image| {
        irfft(assigned(corners(&spectrum(image), 5), [0, 5]), 16).unwrap()
    });
    left_alone("a forward transform in place of the inverse one", |image| {
        let product = assigned(corners(&spectrum(image), 5), [0, 5]);
        irfft(fft_with(product, None, 2, Norm::Forward).unwrap(), 16).unwrap()
    });
    left_alone("another reader of the spectrum", |image| {
        let all = spectrum(image);
        let power = all.clone().abs_squared().sum_dim(1).sum_dim(2).sum_dim(3);
        back(assigned(corners(&all, 5), [0, 5])) + power
    });
    left_alone("bins added to a corner", |image| {
        let [low, high] = corners(&spectrum(image), 5);
        back(assigned([low.clone() + high.clone(), high], [0, 5]))
    });
}
