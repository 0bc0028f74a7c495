//! Operations work along the last dimension of tensors of any rank, with the bits that rank 2 has.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::weights::{WeightNumbers, WeightTensors, gained_peaks, gained_psd};
use common::{integers, noise, same, tensor, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{LocalMaximaOptions, WelchOptions, butterfly, local_maxima, top_k, welch_peaks, welch_psd};

const K: usize = 5;

fn options() -> WelchOptions {
    WelchOptions::new(32, 3)
}

/// Every operation on a signal: dimensions and numbers of each output.
fn outputs<const D: usize>(signal: Tensor<D>, parameters: &WeightTensors) -> Vec<(Vec<usize>, Vec<f64>)> {
    let (options, n) = (options(), options().n_fft);
    let exact = welch_peaks(signal.clone(), parameters.window.clone(), &options, K).unwrap();
    let gained = gained_peaks(signal.clone(), parameters, &options, K).unwrap();
    let largest = top_k(signal.clone(), K).unwrap();
    let maxima = local_maxima(signal.clone(), &LocalMaximaOptions::new(), K).unwrap();
    let part = signal.clone().narrow(D - 1, 0, n);
    let rows = ComplexTensor::new(part.clone(), part);
    let out = butterfly(rows, parameters.twiddles.clone(), Some(parameters.gates.clone())).unwrap();
    let floats = [
        welch_psd(signal.clone(), parameters.window.clone(), &options).unwrap(),
        gained_psd(signal, parameters, &options).unwrap(),
        exact.power,
        gained.power,
        largest.power,
        maxima.power,
        maxima.prominence,
        maxima.offset,
        out.re,
        out.im,
    ];
    let bins = [exact.bins, gained.bins, largest.bins, maxima.bins];
    let floats = floats.into_iter().map(|tensor| (tensor.dims().to_vec(), values(tensor)));
    let bins = bins.into_iter().map(|tensor| {
        let dims = tensor.dims().to_vec();
        (dims, integers(tensor).into_iter().map(|bin| bin as f64).collect())
    });
    floats.chain(bins).collect()
}

#[test]
fn every_rank_has_the_bits_of_rank_two() {
    let (device, options) = (Device::flex(), options());
    let frame = options.frame() + 3;
    let parameters = WeightNumbers::perturbed(&options, 4).tensors(&options, &device, DType::F32);
    let samples = noise(6 * frame, 1);
    let signal = tensor(&samples, [6, frame], &device, DType::F32);
    let expected = outputs(signal.clone(), &parameters);
    let check = |label: &str, leading: &[usize], found: Vec<(Vec<usize>, Vec<f64>)>| {
        for (place, ((dims, found), (rows, expected))) in found.iter().zip(&expected).enumerate() {
            assert_eq!(dims, &[leading, &rows[1..]].concat(), "{label}, output {place}");
            assert!(same(found, expected), "{label}, output {place}");
        }
    };
    check("rank 3", &[2, 3], outputs(signal.clone().reshape([2, 3, frame]), &parameters));
    check("rank 4", &[3, 1, 2], outputs(signal.clone().reshape([3, 1, 2, frame]), &parameters));
    let strided = signal.clone().reshape([2, 3, frame]).swap_dims(0, 1);
    let strided = tensor(&values(strided), [3, 2, frame], &device, DType::F32).swap_dims(0, 1);
    check("rank 3, strided", &[2, 3], outputs(strided, &parameters));

    let first = outputs(signal.clone().narrow(0, 0, 1), &parameters);
    let alone = outputs(signal.narrow(0, 0, 1).reshape([frame]), &parameters);
    for ((dims, alone), (rows, first)) in alone.iter().zip(&first) {
        assert_eq!(dims[..], rows[1..]);
        assert!(same(alone, first));
    }
    for (dims, none) in outputs(Tensor::<3>::zeros([2, 0, frame], &device), &parameters) {
        assert!(none.is_empty() && dims[..2] == [2, 0], "{dims:?}");
    }
}

#[test]
fn gradients_have_the_shape_of_their_input() {
    let (device, options) = (Device::flex().autodiff(), options());
    let frame = options.frame();
    let window = WeightNumbers::exact(&options).tensors(&options, &device, DType::F32).window;
    let samples = tensor(&noise(4 * frame, 2), [4, frame], &device, DType::F32);
    let [flat, deep] = [samples.clone().require_grad(), samples.clone().require_grad()];
    let loss = welch_psd(flat.clone(), window.clone(), &options).unwrap().log().sum();
    let expected = values(flat.grad(&loss.backward()).unwrap());
    let power = welch_psd(deep.clone().reshape([2, 2, frame]), window, &options).unwrap();
    let gradient = deep.grad(&power.log().sum().backward()).unwrap();
    assert_eq!(gradient.dims(), [4, frame]);
    assert!(same(&values(gradient), &expected));
}
