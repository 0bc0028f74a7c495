//! Large results are written where earlier ones were: nothing of those may be seen.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::weights::{WeightNumbers, WeightTensors, gained_peaks, gained_psd};
use common::{integers, noise, same, tensor, values};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{WelchOptions, butterfly, welch_peaks, welch_psd};

const N: usize = 64;
/// Enough for every result to have 1 MiB.
const ROWS: usize = 8192;
/// Few enough for none to.
const PART: usize = 256;

/// Results of the operations, and of the transform's backward pass, for a batch, each row by row.
fn results(signal: &Tensor<2>, parameters: &WeightTensors, options: &WelchOptions) -> Vec<Vec<f64>> {
    let bins = options.bins();
    let window = parameters.window.clone();
    let exact = welch_peaks(signal.clone(), window.clone(), options, bins).unwrap();
    let gained = gained_peaks(signal.clone(), parameters, options, bins).unwrap();
    let part = signal.clone().slice([0..signal.dims()[0], 0..N]).autodiff();
    let [re, im] = [part.clone().require_grad(), (part * 0.5).detach().require_grad()];
    let twiddles = parameters.twiddles.clone().autodiff();
    let rows = ComplexTensor::new(re.clone(), im.clone());
    let out = butterfly(rows.clone(), twiddles, None).unwrap();
    let gates = parameters.gates.clone();
    let gated = butterfly(rows.map(Tensor::inner), parameters.twiddles.clone(), Some(gates)).unwrap().re;
    let gradients = (out.re.clone() * out.im.clone()).sum().backward();
    let of_re = re.grad(&gradients).unwrap();
    let of_im = im.grad(&gradients).unwrap();
    let floats = |tensor: Tensor<2>| values(tensor);
    vec![
        floats(welch_psd(signal.clone(), window, options).unwrap()),
        floats(gained_psd(signal.clone(), parameters, options).unwrap()),
        floats(exact.power),
        floats(gained.power),
        integers(exact.bins).into_iter().map(|bin| bin as f64).collect(),
        integers(gained.bins).into_iter().map(|bin| bin as f64).collect(),
        floats(out.re.inner()),
        floats(out.im.inner()),
        floats(gated),
        floats(of_re),
        floats(of_im),
    ]
}

#[test]
fn reused_memory_shows_no_earlier_results() {
    let device = Device::flex();
    let options = WelchOptions::new(N, 2);
    let frame = options.frame();
    for dtype in [DType::F32, DType::F64] {
        let parameters = WeightNumbers::perturbed(&options, 5).rounded().tensors(&options, &device, dtype);
        drop(results(&tensor(&vec![f64::NAN; ROWS * frame], [ROWS, frame], &device, dtype), &parameters, &options));
        let signal = tensor(&noise(ROWS * frame, 9), [ROWS, frame], &device, dtype);
        let whole = results(&signal, &parameters, &options);
        let mut parts = vec![Vec::new(); whole.len()];
        for first in (0..ROWS).step_by(PART) {
            let part = signal.clone().slice([first..first + PART, 0..frame]);
            parts.iter_mut().zip(results(&part, &parameters, &options)).for_each(|(all, part)| all.extend(part));
        }
        for (number, (whole, parts)) in whole.iter().zip(&parts).enumerate() {
            assert!(whole.iter().all(|value| !value.is_nan()), "{dtype:?}, result {number}");
            assert!(same(whole, parts), "{dtype:?}, result {number}");
        }
    }
}
