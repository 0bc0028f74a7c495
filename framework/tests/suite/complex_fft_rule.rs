//! Complex transforms of Burn, found in captured graphs, rewritten, and replayed on Flex.

use burn::backend::Flex;
use burn::signal::{cfft, rfft};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_framework::graph::{CustomOperations, Graph, Input, Replay, capture};
use firefly_framework::profile::Preset;
use firefly_framework::rewrite::Rewriter;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

type Parts<const D: usize> = [Tensor<D>; 2];

fn noise<const D: usize>(shape: [usize; D], seed: u64) -> TensorData {
    let mut random = StdRng::seed_from_u64(seed);
    let values = (0..shape.iter().product()).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    TensorData::new(values, shape)
}

fn captured<const D: usize>(shape: [usize; D], model: impl Fn(Parts<D>) -> Parts<D>) -> Graph {
    let inputs = [Input::new("re", shape), Input::new("im", shape)];
    capture(&inputs, |parts: (Tensor<D>, Tensor<D>), _: &Device| {
        let [re, im] = model([parts.0, parts.1]);
        (re, im)
    })
    .unwrap()
}

/// Checks that a model becomes these operations with the same results.
fn found<const D: usize>(shape: [usize; D], operations: &[&str], model: impl Fn(Parts<D>) -> Parts<D>) {
    let graph = Rewriter::spectral().run(&captured(shape, &model), &Preset::Cuda.profile()).graph;
    assert_eq!(graph.custom_operations().collect::<Vec<_>>(), operations, "{shape:?}");
    let data = [noise(shape, 1), noise(shape, 2)];
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    let got = replay.run(data.to_vec()).unwrap();
    let expected = model(data.map(|data| Tensor::from_data(data, &Device::flex())));
    for (got, expected) in got.iter().zip(expected) {
        let expected = expected.into_data();
        assert_eq!(got.shape(), expected.shape(), "{shape:?}");
        let [got, expected] = [got, &expected].map(|data| data.try_to_vec_as::<f64>().unwrap());
        assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-5), "{shape:?}");
    }
}

fn left_alone(name: &str, model: impl Fn(Parts<2>) -> Parts<2>) {
    let graph = Rewriter::spectral().run(&captured([3, 16], model), &Preset::Cuda.profile()).graph;
    assert!(!graph.custom_operations().any(|operation| operation == "firefly::complex_fft"), "{name}");
}

fn forward<const D: usize>([re, im]: Parts<D>, dim: usize) -> Parts<D> {
    cfft(re, im, dim, None).into()
}

/// Both parts of the spectra of 16 points, from those of the half spectra.
fn mirrored(re: Tensor<2>, im: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let image = |part: Tensor<2>| part.narrow(1, 1, 7).flip([1]);
    (Tensor::cat(vec![re.clone(), image(re)], 1), Tensor::cat(vec![im.clone(), -image(im)], 1))
}

#[test]
fn complex_transforms_along_any_axis_are_found() {
    const ROWS: [&str; 1] = ["firefly::complex_fft"];
    const COLUMNS: [&str; 1] = ["firefly::complex_fft_columns"];
    found([3, 16], &ROWS, |parts| forward(parts, 1));
    found([3, 2], &ROWS, |parts| forward(parts, 1));
    found([16, 3], &COLUMNS, |parts| forward(parts, 0));
    found([2, 5, 8], &ROWS, |parts| forward(parts, 2));
    found([2, 8, 5], &COLUMNS, |parts| forward(parts, 1));
    found([4, 3, 2, 5], &COLUMNS, |parts| forward(parts, 0));
    found([16], &ROWS, |parts| forward(parts, 0));
    found([3, 1], &ROWS, |parts| forward(parts, 1));
    found([3, 4], &ROWS, |parts| forward(parts, 1));
    found([3, 16], &ROWS, |[re, _]| cfft(re.clone(), re, 1, None).into());
    // The sum before the difference.
    found([3, 16], &ROWS, |[re, im]| {
        let (xr, xi) = rfft(re, 1, None);
        let (yr, yi) = rfft(im, 1, None);
        let ((xr, xi), (yr, yi)) = (mirrored(xr, xi), mirrored(yr, yi));
        let im = yr + xi;
        [xr - yi, im]
    });
}

#[test]
fn conjugated_transforms_are_inverse_ones() {
    let inverse = |[re, im]: Parts<2>| {
        let [re, im] = forward([re, -im], 1);
        [re / 16.0, -im / 16.0]
    };
    found([3, 16], &["firefly::complex_fft"], inverse);
    let both = |parts| inverse(forward(parts, 1));
    found([3, 16], &["firefly::complex_fft"; 2], both);
    // Both parts come back.
    let data = [noise([3, 16], 5), noise([3, 16], 6)];
    let graph = Rewriter::spectral().run(&captured([3, 16], both), &Preset::Cuda.profile()).graph;
    let mut replay = Replay::new(&graph, &Default::default(), &CustomOperations::<Flex>::spectral()).unwrap();
    for (got, expected) in replay.run(data.to_vec()).unwrap().iter().zip(&data) {
        let [got, expected] = [got, expected].map(|data| data.try_to_vec_as::<f64>().unwrap());
        assert!(got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() < 1e-5));
    }
}

#[test]
fn near_misses_of_complex_transforms_are_left_alone() {
    left_alone("half spectra that something else reads", |[re, im]| {
        let (xr, xi) = rfft(re, 1, None);
        let (yr, yi) = rfft(im, 1, None);
        let half = xr.clone().sum();
        let ((xr, xi), (yr, yi)) = (mirrored(xr, xi), mirrored(yr, yi));
        [xr - yi + half.unsqueeze(), xi + yr]
    });
    left_alone("the difference of both transforms", |[re, im]| {
        let (xr, xi) = rfft(re, 1, None);
        let (yr, yi) = rfft(im, 1, None);
        let ((xr, xi), (yr, yi)) = (mirrored(xr, xi), mirrored(yr, yi));
        [xr - yi, xi - yr]
    });
    left_alone("images that are not conjugated", |[re, im]| {
        let whole = |part: Tensor<2>| Tensor::cat(vec![part.clone(), part.narrow(1, 1, 7).flip([1])], 1);
        let (xr, xi) = rfft(re, 1, None);
        let (yr, yi) = rfft(im, 1, None);
        [whole(xr) - whole(yi), whole(xi) + whole(yr)]
    });
    left_alone("images that are not reversed", |[re, im]| {
        let whole = |part: Tensor<2>| Tensor::cat(vec![part.clone(), part.narrow(1, 1, 7)], 1);
        let conjugated = |part: Tensor<2>| Tensor::cat(vec![part.clone(), -part.narrow(1, 1, 7)], 1);
        let (xr, xi) = rfft(re, 1, None);
        let (yr, yi) = rfft(im, 1, None);
        [whole(xr) - conjugated(yi), conjugated(xi) + whole(yr)]
    });
    left_alone("padded rows", |[re, im]| cfft(re, im, 1, Some(32)).into());
    left_alone("a real input", |[re, _]| {
        let (xr, xi) = rfft(re, 1, None);
        mirrored(xr, xi).into()
    });
}
