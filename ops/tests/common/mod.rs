//! Shared parts of the integration tests: seeded numbers, tensors from them and back, and parameters of operations.
#![allow(dead_code, reason = "every test binary uses a part of it")]
#![allow(clippy::print_stdout, reason = "a test says what it ran on")]

pub mod case;
pub mod devices;
pub mod differences;
pub mod fixtures;
pub mod maxima_cases;
pub mod samples;
pub mod tape;
pub mod weights;

use std::ops::Range;

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use firefly_ops::{Detrend, Scaling, WelchOptions};
use firefly_reference::welch::{PowerScaling, WelchDefinition};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// `count` numbers from `range`, exact in f32, so that every precision reads the same input.
pub fn uniform(count: usize, range: Range<f64>, seed: u64) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..count).map(|_| f64::from(random.random_range(range.clone()) as f32)).collect()
}

/// `count` numbers from -1 to 1, exact in f32.
pub fn noise(count: usize, seed: u64) -> Vec<f64> {
    uniform(count, -1.0..1.0, seed)
}

/// The nearest f32 to each number.
pub fn rounded(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|value| f64::from(value as f32)).collect()
}

/// A tensor of type `dtype` on `device`.
pub fn tensor<const D: usize>(values: &[f64], shape: [usize; D], device: &Device, dtype: DType) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), (device, dtype))
}

/// A tensor's numbers, row-major.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.try_into_vec_as().expect("the tensor is of floats")
}

/// A tensor's whole numbers, row-major.
pub fn integers<const D: usize>(tensor: Tensor<D, Int>) -> Vec<i64> {
    tensor.try_into_vec_as().expect("the tensor is of whole numbers")
}

/// Whether two runs gave the same bits, any NaN being the same as any other.
pub fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

/// The design's relative L∞ tolerance of an f32 transform of length `n`.
pub fn transform_tolerance(n: usize) -> f64 {
    2e-6 + 5e-7 * (n as f64).log10()
}

/// max |actual − expected| / max |expected|.
pub fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(actual.len(), expected.len());
    let maximum = expected.iter().fold(0.0, |maximum: f64, value| maximum.max(value.abs()));
    let error = actual.iter().zip(expected).fold(0.0, |error: f64, (a, e)| {
        // `max` would drop a NaN.
        if (a - e).is_nan() { f64::INFINITY } else { error.max((a - e).abs()) }
    });
    error / maximum
}

/// [`relative_error`] of each row of `length` numbers, the largest.
pub fn worst_row_error(actual: &[f64], expected: &[f64], length: usize) -> f64 {
    assert_eq!(actual.len(), expected.len());
    let rows = actual.chunks(length).zip(expected.chunks(length));
    rows.map(|(actual, expected)| relative_error(actual, expected)).fold(0.0, f64::max)
}

/// The options of a Welch estimate as its definition has them.
pub fn definition(options: &WelchOptions) -> WelchDefinition {
    let scaling = match options.scaling {
        Scaling::Power => PowerScaling::Raw,
        Scaling::Spectrum => PowerScaling::Spectrum,
        Scaling::Density { sample_rate } => PowerScaling::Density { sample_rate },
    };
    let WelchOptions { n_fft, hop, segments, detrend, .. } = *options;
    assert_ne!(detrend, Detrend::Linear, "the definition subtracts means alone");
    WelchDefinition { n_fft, hop, segments, scaling, remove_mean: detrend == Detrend::Constant }
}

/// Settings in which every `n` of `lengths` meets one, two and three segments, and the hops, scalings and detrendings
/// alternate.
pub fn settings(lengths: &[usize]) -> Vec<WelchOptions> {
    let scalings = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }];
    let mut settings = Vec::new();
    for (i, &n_fft) in lengths.iter().enumerate() {
        for segments in 1..=3 {
            for (j, scaling) in scalings.into_iter().enumerate() {
                for (l, detrend) in [Detrend::None, Detrend::Constant].into_iter().enumerate() {
                    let hop = [n_fft / 2, n_fft / 4, n_fft + 3, 3, n_fft][(i + segments + j + 2 * l) % 5];
                    let options = WelchOptions::new(n_fft, segments).with_hop(hop);
                    settings.push(options.with_scaling(scaling).with_detrend(detrend));
                }
            }
        }
    }
    settings
}
