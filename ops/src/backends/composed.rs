//! Operations composed of others, for backends without a kernel for them.

use std::f64::consts::PI;

use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Slice;

use crate::op::{Kernels, inputs};
use crate::options::{Direction, FftOptions};

/// [`Kernels::complex_fft_columns`] of tensors that no kernel takes as they are: the matrices are transposed, their rows
/// transformed, and the results transposed back.
pub(super) fn columns_as_rows<B: Kernels>(
    inputs: inputs::ComplexFftColumns<FloatTensor<B>>,
    options: FftOptions,
) -> [FloatTensor<B>; 2] {
    let shape = inputs.re.shape();
    let [matrices, points, width] = [shape[0], shape[1], shape[2]];
    let rows = |part| B::float_reshape(B::float_swap_dims(part, 1, 2), [matrices * width, points].into());
    let columns = |part| B::float_swap_dims(B::float_reshape(part, [matrices, width, points].into()), 1, 2);
    B::complex_fft(inputs::ComplexFft { re: rows(inputs.re), im: rows(inputs.im) }, options).map(columns)
}

/// [`Kernels::dct`] by real Fourier transforms of twice the length. `constant` makes a tensor `[1, n]` of n factors, of
/// the type of the rows and on their device.
pub(super) fn dct<B: Kernels>(
    inputs: inputs::Dct<FloatTensor<B>>,
    is_transposed: bool,
    scale: f64,
    first: f64,
    constant: impl Fn(Vec<f64>) -> FloatTensor<B>,
) -> [FloatTensor<B>; 1] {
    let [rows, n] = inputs.rows.shape().dims();
    if rows == 0 {
        return [inputs.rows];
    }
    // Half a sample's shift, from the first sample to the middle between a row and its mirror image: with the angle
    // πk/2n, y_k = Re(exp(-i·angle) X_k), of the transform X of a row padded with n zeros.
    let table = |part: fn(f64) -> f64| {
        let factor = |k: usize| scale * if k == 0 { first } else { 1.0 };
        constant((0..n).map(|k| factor(k) * part(PI * k as f64 / (2 * n) as f64)).collect())
    };
    let [cosines, sines] = [table(f64::cos), table(f64::sin)];
    let first_n = |part| B::float_slice(part, &[Slice::from(0..rows), Slice::from(0..n)]);
    if is_transposed {
        // The sum over both sides of the spectrum counts interior bins twice.
        let options = FftOptions::new(2 * n, Direction::Inverse).with_interior(0.5);
        let [re, im] = [cosines, sines].map(|factors| B::float_mul(inputs.rows.clone(), factors));
        return B::inverse_real_fft(inputs::InverseRealFft { re, im }, options).map(first_n);
    }
    let options = FftOptions::new(2 * n, Direction::Forward);
    let [re, im] = B::real_fft(inputs::RealFft { signal: inputs.rows }, options).map(first_n);
    [B::float_add(B::float_mul(re, cosines), B::float_mul(im, sines))]
}
