//! Signals and comparisons that the tests share.

use burn::tensor::{Device, Distribution, Tensor, TensorData};

/// Tones in noise, by a linear congruential generator.
pub fn samples(count: usize, seed: u32) -> Vec<f64> {
    let mut state = seed;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX) - 0.5
    };
    (0..count).map(|index| (0.7 * index as f64).sin() + 0.4 * (2.1 * index as f64).cos() + noise()).collect()
}

/// Values as a tensor of f32.
pub fn tensor<const D: usize>(values: &[f64], shape: [usize; D], device: &Device) -> Tensor<D> {
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Values of a tensor of floats.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().convert::<f64>().try_to_vec().unwrap()
}

/// Asserts that values differ by at most `tolerance`, relative to the greatest of the expected ones.
pub fn assert_close(what: &str, values: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(values.len(), expected.len(), "{what}: number of values");
    let scale = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    for (place, (value, expected)) in values.iter().zip(expected).enumerate() {
        let holds = (value - expected).abs() <= tolerance * scale;
        assert!(holds, "{what}, value {place}: {value} and not {expected}");
    }
}

/// Uniform values from −1 to 1.
pub fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Uniform(-1.0, 1.0), &Device::flex())
}

/// Asserts that tensors have one shape and the same values, as far as f32 sums in another order do.
pub fn assert_equal<const D: usize>(what: &str, got: Tensor<D>, expected: Tensor<D>) {
    assert_eq!(got.dims(), expected.dims(), "{what}");
    assert_close(what, &values(got), &values(expected), 2e-5);
}
