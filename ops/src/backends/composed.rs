//! Operations composed of others, for backends without a kernel for them.

use std::f64::consts::PI;

use burn::backend::TensorMetadata;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Slice;

use crate::op::{Kernels, Needed, inputs};
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

/// [`Kernels::dct`] by real Fourier transforms of twice the length, of type 4 four times. `constant` makes a tensor
/// `[1, n]` of n factors, of the type of the rows and on their device.
pub(super) fn dct<B: Kernels>(
    inputs: inputs::Dct<FloatTensor<B>>,
    (kind, sines): (usize, bool),
    [scale, first]: [f64; 2],
    constant: impl Fn(Vec<f64>) -> FloatTensor<B>,
) -> [FloatTensor<B>; 1] {
    let [rows, n] = inputs.rows.shape().dims();
    if rows == 0 {
        return [inputs.rows];
    }
    if sines {
        let alternating = |x| B::float_mul(x, constant((0..n).map(|j| 1.0 - 2.0 * (j % 2) as f64).collect()));
        let reversed = |x| B::float_flip(x, &[1]);
        let rows = if kind == 2 { alternating(inputs.rows) } else { reversed(inputs.rows) };
        let cosines = B::dct(inputs::Dct { rows }, kind, false, scale, first);
        return cosines.map(|rows| if kind == 2 { reversed(rows) } else { alternating(rows) });
    }
    // Half a sample's shift, from the first sample to the middle between a row and its mirror image: with the angle
    // πk/2n, y_k = Re(exp(-i·angle) X_k), of the transform X of a row padded with n zeros. Type 4 has the coefficients
    // of odd numbers of twice as many.
    let (points, step) = if kind == 4 { (4 * n, 2) } else { (2 * n, 1) };
    let table = |part: fn(f64) -> f64| {
        let factor = |k: usize| scale * if k == 0 && kind < 4 { first } else { 1.0 };
        constant((0..n).map(|k| factor(k) * part(PI * (step * k + step - 1) as f64 / points as f64)).collect())
    };
    let [cosines, sines] = [table(f64::cos), table(f64::sin)];
    let columns = |part, columns| B::float_slice(part, &[Slice::from(0..rows), columns]);
    if kind == 3 {
        // The sum over both sides of the spectrum counts interior bins twice.
        let options = FftOptions::new(points, Direction::Inverse).with_interior(0.5);
        let [re, im] = [cosines, sines].map(|factors| B::float_mul(inputs.rows.clone(), factors));
        return B::inverse_real_fft(inputs::InverseRealFft { re, im }, options)
            .map(|part| columns(part, Slice::from(0..n)));
    }
    let options = FftOptions::new(points, Direction::Forward);
    let bins = Slice::new(step as isize - 1, Some((step * n) as isize), step as isize);
    let [re, im] = B::real_fft(inputs::RealFft { signal: inputs.rows }, options).map(|part| columns(part, bins));
    [B::float_add(B::float_mul(re, cosines), B::float_mul(im, sines))]
}

/// Orders of the dimensions of `[batch, x, y, bins]`: matrices per bin, their transposes, and from matrices back.
const MATRICES: [usize; 4] = [0, 3, 1, 2];
const TRANSPOSES: [usize; 4] = [0, 3, 2, 1];
const BACK: [usize; 4] = [0, 2, 3, 1];

/// [`Kernels::cross_spectra`] by matrix products.
pub(super) fn cross_spectra<B: Kernels>(inputs: inputs::CrossSpectra<FloatTensor<B>>) -> [FloatTensor<B>; 2] {
    let first = [inputs.first_re, inputs.first_im].map(|part| B::float_permute(part, &MATRICES));
    let second = [inputs.second_re, inputs.second_im].map(|part| B::float_permute(part, &MATRICES));
    conjugate_products::<B>(first, second)
}

/// [`Kernels::cross_spectra_backward`] by matrix products: with first_i* second_j = s_ij, the gradients are g_ij* second_j
/// and g_ij first_i.
pub(super) fn cross_spectra_backward<B: Kernels>(
    inputs: inputs::CrossSpectraBackward<FloatTensor<B>>,
    needed: Needed,
) -> Vec<FloatTensor<B>> {
    let inputs::CrossSpectraBackward { first_re, first_im, second_re, second_im, grad_re, grad_im } = inputs;
    let [first, second] = [[first_re, first_im], [second_re, second_im]]
        .map(|parts| parts.map(|part| B::float_permute(part, &TRANSPOSES)));
    let of_first = (needed.has(0) || needed.has(1)).then(|| {
        let grad = [grad_re.clone(), grad_im.clone()].map(|part| B::float_permute(part, &MATRICES));
        conjugate_products::<B>(grad, second)
    });
    let of_second = (needed.has(2) || needed.has(3)).then(|| {
        let grad = [grad_re, B::float_neg(grad_im)].map(|part| B::float_permute(part, &TRANSPOSES));
        conjugate_products::<B>(grad, first)
    });
    let [a, b] = of_first.map_or([None, None], |of| of.map(Some));
    let [c, d] = of_second.map_or([None, None], |of| of.map(Some));
    [a, b, c, d].into_iter().enumerate().filter_map(|(input, of)| of.filter(|_| needed.has(input))).collect()
}

/// Σ_t left_it* right_jt of complex matrices `[batch, bins, i, t]` and `[batch, bins, j, t]`, as `[batch, i, j, bins]`.
fn conjugate_products<B: Kernels>(left: [FloatTensor<B>; 2], [re, im]: [FloatTensor<B>; 2]) -> [FloatTensor<B>; 2] {
    let left = B::float_cat(left.into(), 3);
    [vec![re.clone(), im.clone()], vec![im, B::float_neg(re)]].map(|right| {
        let right = B::float_swap_dims(B::float_cat(right, 3), 2, 3);
        B::float_permute(B::float_matmul(left.clone(), right), &BACK)
    })
}
