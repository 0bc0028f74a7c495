//! Gradients against central differences in double precision.

use burn::tensor::{DType, Device, Tensor};

use super::{noise, tensor, values};

const STEP: f64 = 1e-6;

/// Checks the gradient of a weighted sum of an operation's outputs with respect to every element of its input.
pub fn check_gradient<const D: usize, const E: usize>(
    label: &str,
    input: &[f64],
    shape: [usize; D],
    run: impl Fn(Tensor<D>) -> Tensor<E>,
) {
    let sum = |input: Tensor<D>| {
        let output = run(input);
        let weights = noise(output.shape().num_elements(), 60);
        (output.clone() * tensor(&weights, output.dims(), &output.device(), DType::F64)).sum()
    };
    let on = |device: &Device, values: &[f64]| tensor::<D>(values, shape, device, DType::F64);
    let leaf = on(&Device::flex().autodiff(), input).require_grad();
    let gradients = sum(leaf.clone()).backward();
    let gradient = values(leaf.grad(&gradients).expect("the input is tracked"));
    let differences: Vec<f64> = (0..input.len())
        .map(|index| {
            let at = |by: f64| {
                let mut moved = input.to_vec();
                moved[index] += by;
                values(sum(on(&Device::flex(), &moved)))[0]
            };
            (at(STEP) - at(-STEP)) / (2.0 * STEP)
        })
        .collect();
    let largest = differences.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    assert!(largest > 1e-4, "{label}: gradients up to {largest:.1e} are no test");
    for (index, (got, expected)) in gradient.iter().zip(&differences).enumerate() {
        let error = (got - expected).abs();
        assert!(error < 1e-6 * largest + 1e-5 * expected.abs(), "{label}[{index}]: {got} is not {expected}");
    }
}
