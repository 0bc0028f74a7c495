//! Transforms of values whose real and imaginary parts are side by side: against those of parts of their own.

use burn::backend::Dispatch;
use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::{ComplexTensor, fft_with, ifft_with, irfft_with, rfft_with};
use firefly_ops::op::inputs;
use firefly_ops::options::{FftForm, FftOptions};
use firefly_ops::{Direction, Norm};

use crate::common::devices::is_software;
use crate::common::{noise, relative_error, tensor, transform_tolerance, values};

/// The transform of `[a, b, c]` by the operation of values side by side: of `n` points along the last dimension, or of
/// all along the middle one.
pub fn interleaved(z: ComplexTensor<3>, form: FftForm, n: usize, direction: Direction) -> ComplexTensor<3> {
    let [a, b, c] = z.dims();
    let pairs: Tensor<4> = Tensor::stack(vec![z.re.clone(), z.im], 3);
    let values = match form {
        FftForm::Columns => pairs.into_dispatch(),
        FftForm::Real => z.re.reshape([a * b, c]).into_dispatch(),
        FftForm::Complex | FftForm::InverseReal => pairs.reshape([a * b, c, 2]).into_dispatch(),
    };
    let scale = if direction == Direction::Inverse { 1.0 / n as f64 } else { 1.0 };
    let options = FftOptions::new(n, direction).with_scale(scale);
    let [found] = inputs::InterleavedFft { values }.apply::<Dispatch>(form, options);
    let pairs: Tensor<4> = match form {
        FftForm::Columns => Tensor::from_dispatch(found),
        FftForm::Real | FftForm::Complex => Tensor::<3>::from_dispatch(found).reshape([a as i64, b as i64, -1, 2]),
        FftForm::InverseReal => {
            let re = Tensor::<2>::from_dispatch(found).reshape([a, b, n]);
            return ComplexTensor { im: re.zeros_like(), re };
        }
    };
    let part = |part| pairs.clone().narrow(3, part, 1).squeeze_dim(3);
    ComplexTensor { re: part(0), im: part(1) }
}

pub fn parts_side_by_side_have_the_transforms_of_parts(device: &Device) {
    // All values, some, and more; in one pass, in several, and as a convolution. A program takes seconds per kernel.
    let sizes = [(5, 9), (6, 6), (6, 4), (60, 60), (67, 67), (30, 134)];
    for &(len, n) in &sizes[..if is_software(device) { 1 } else { sizes.len() }] {
        let part = |seed| tensor(&noise(3 * len * 5, seed), [3, 5, len], device, DType::F32);
        let z = ComplexTensor { re: part(1), im: part(2) };
        let (forward, inverse, norm) = (Direction::Forward, Direction::Inverse, Norm::Backward);
        let turned = ComplexTensor { re: z.re.clone().swap_dims(1, 2), im: z.im.clone().swap_dims(1, 2) };
        let real = |re: Tensor<3>| ComplexTensor { im: re.zeros_like(), re };
        let cases = [
            (interleaved(z.clone(), FftForm::Complex, n, forward), fft_with(z.clone(), Some(n), 2, norm)),
            (interleaved(z.clone(), FftForm::Complex, n, inverse), ifft_with(z.clone(), Some(n), 2, norm)),
            (interleaved(turned.clone(), FftForm::Columns, len, forward), fft_with(turned.clone(), None, 1, norm)),
            (interleaved(turned.clone(), FftForm::Columns, len, inverse), ifft_with(turned, None, 1, norm)),
            (interleaved(z.clone(), FftForm::Real, n, forward), rfft_with(z.re.clone(), Some(n), 2, norm)),
            (interleaved(z.clone(), FftForm::InverseReal, n, inverse), irfft_with(z, Some(n), 2, norm).map(real)),
        ];
        for (case, (found, expected)) in cases.into_iter().enumerate() {
            let expected = expected.unwrap();
            assert_eq!(found.dims(), expected.dims());
            let [found, expected] = [found, expected].map(|z| [values(z.re), values(z.im)].concat());
            let error = relative_error(&found, &expected);
            assert!(error <= transform_tolerance(n), "case {case} of {len} values, n {n}: {error:e}");
        }
    }
}
