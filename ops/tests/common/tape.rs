//! Operations on flat leaves, as gradient tests take them: each input is a leaf of its own, reshaped on the tape.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{WelchOptions, WelchWeights, butterfly, welch_psd};
use firefly_reference::butterfly::exact_twiddles;
use firefly_reference::window::{Symmetry, WindowShape, window};

use super::weights::WeightNumbers;
use super::{noise, tensor, uniform, values};

/// An input of an operation, row-major.
pub struct LeafInput {
    pub name: &'static str,
    pub values: Vec<f64>,
}

pub fn input(name: &'static str, values: Vec<f64>) -> LeafInput {
    LeafInput { name, values }
}

/// Devices that gradients are taken on: with and without checkpointing.
pub fn tapes() -> [Device; 2] {
    [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()]
}

pub fn leaves(inputs: &[LeafInput], device: &Device, dtype: DType) -> Vec<Tensor<1>> {
    inputs.iter().map(|input| tensor(&input.values, [input.values.len()], device, dtype)).collect()
}

/// Gradients of Σ coefficients · outputs, for the inputs that are `tracked`.
pub fn gradients(
    inputs: &[LeafInput],
    tracked: &[bool],
    coefficients: &[Vec<f64>],
    device: &Device,
    dtype: DType,
    run: impl Fn(&[Tensor<1>]) -> Vec<Tensor<2>>,
) -> Vec<Option<Vec<f64>>> {
    let leaves: Vec<Tensor<1>> = leaves(inputs, device, dtype)
        .into_iter()
        .zip(tracked)
        .map(|(leaf, &tracked)| if tracked { leaf.require_grad() } else { leaf })
        .collect();
    let terms = run(&leaves).into_iter().zip(coefficients).map(|(output, coefficients)| {
        let coefficients = tensor(coefficients, output.dims(), device, dtype);
        (output * coefficients).sum()
    });
    let loss = terms.reduce(|a, b| a + b).expect("an operation has an output");
    let gradients = loss.backward();
    leaves.iter().map(|leaf| leaf.grad(&gradients).map(values)).collect()
}

pub fn hann(n: usize) -> Vec<f64> {
    window(WindowShape::Hann, Symmetry::Periodic, n)
}

/// A taper without zeros or symmetry.
pub fn taper(n: usize) -> Vec<f64> {
    hann(n).iter().zip(noise(n, 3)).map(|(w, noise)| w + 0.2 * noise).collect()
}

pub fn welch_inputs(options: &WelchOptions, signal: Vec<f64>) -> Vec<LeafInput> {
    vec![input("signal", signal), input("window", taper(options.n_fft))]
}

pub fn rows(leaf: &Tensor<1>, length: usize) -> Tensor<2> {
    let [count] = leaf.dims();
    leaf.clone().reshape([count / length, length])
}

/// A frame of every test has samples that no segment takes.
pub fn frame(options: &WelchOptions) -> usize {
    options.frame() + 2
}

pub fn run_psd(leaves: &[Tensor<1>], options: &WelchOptions) -> Vec<Tensor<2>> {
    vec![welch_psd(rows(&leaves[0], frame(options)), leaves[1].clone(), options).expect("the arguments fit")]
}

pub fn gained_inputs(signal: Vec<f64>, weights: WeightNumbers) -> Vec<LeafInput> {
    vec![input("signal", signal), input("window", weights.window), input("gain", weights.gain)]
}

/// The signal, and window and gain, of leaves in the order of [`gained_inputs`].
pub fn gained_arguments(leaves: &[Tensor<1>], options: &WelchOptions) -> (Tensor<2>, WelchWeights) {
    let gain = leaves[2].clone().reshape([options.bins() as i32, -1]);
    (rows(&leaves[0], frame(options)), WelchWeights::new(leaves[1].clone()).with_gain(Some(gain)))
}

pub fn run_gained(leaves: &[Tensor<1>], options: &WelchOptions) -> Vec<Tensor<2>> {
    let (signal, weights) = gained_arguments(leaves, options);
    vec![welch_psd(signal, weights, options).expect("the arguments fit")]
}

pub fn butterfly_inputs(rows: usize, n: usize, exact: bool, gates: Option<Vec<f64>>) -> Vec<LeafInput> {
    let mut twiddles = exact_twiddles(n);
    if !exact {
        let noise = noise(twiddles.len(), 17);
        twiddles.iter_mut().zip(noise).for_each(|(w, noise)| *w += 0.3 * noise);
    }
    let mut inputs =
        vec![input("re", noise(rows * n, 11)), input("im", noise(rows * n, 12)), input("twiddles", twiddles)];
    inputs.extend(gates.map(|gates| input("gates", gates)));
    inputs
}

pub fn run_butterfly(leaves: &[Tensor<1>], n: usize) -> Vec<Tensor<2>> {
    let stages = n.ilog2() as usize;
    let twiddles = leaves[2].clone().reshape([stages, n / 2, 2]);
    let gates = leaves.get(3).map(|gates| gates.clone().reshape([stages, n / 2]));
    let input = ComplexTensor::new(rows(&leaves[0], n), rows(&leaves[1], n));
    let out = butterfly(input, twiddles, gates).expect("the arguments fit");
    vec![out.re, out.im]
}

/// No gates, gates in (0, 1), gates of 1, and gates of 0 and 1.
pub fn gate_choices(n: usize) -> Vec<Option<Vec<f64>>> {
    let count = n.ilog2() as usize * n / 2;
    let soft = uniform(count, 0.05..0.95, 13);
    let hard = soft.iter().map(|&gate| f64::from(gate > 0.5)).collect();
    vec![None, Some(soft), Some(vec![1.0; count]), Some(hard)]
}
