//! Gradients: the transforms are linear, so their gradients are their adjoints.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::{
    ComplexTensor, czt, dct_with, dst_with, fft_with, fft2_with, fftshift, hfft_with, hfftn_with, hilbert, idct_with,
    idst_with, ifft_with, ifftshift_with, ihfft_with, ihfftn_with, irfft_with, irfftn_with, rfft_with, rfft2_with,
    zoom_fft,
};
use firefly_ops::options::FftForm;
use firefly_ops::{ArgumentError, Direction, Norm};

use crate::common::devices::is_software;
use crate::common::{noise, relative_error, same, tensor, transform_tolerance, values};
use crate::interleaved::interleaved;

/// A transform from real and imaginary parts `[4, 5, 6]` to any number of outputs.
struct TransformSubject {
    name: &'static str,
    run: fn(ComplexTensor<3>) -> Result<Vec<Tensor<3>>, ArgumentError>,
}

fn parts<const D: usize>(spectrum: ComplexTensor<D>) -> Vec<Tensor<D>> {
    vec![spectrum.re, spectrum.im]
}

const SUBJECTS: &[TransformSubject] = &[
    TransformSubject { name: "fft", run: |x| fft_with(x, None, 1, Norm::Backward).map(parts) },
    TransformSubject { name: "padded fft", run: |x| fft_with(x, Some(9), 2, Norm::Ortho).map(parts) },
    TransformSubject { name: "ifft", run: |x| ifft_with(x, None, 0, Norm::Backward).map(parts) },
    TransformSubject { name: "cut ifft", run: |x| ifft_with(x, Some(3), 1, Norm::Forward).map(parts) },
    TransformSubject { name: "fft of real", run: |x| fft_with(x.re, None, 1, Norm::Backward).map(parts) },
    TransformSubject { name: "rfft", run: |x| rfft_with(x.re, None, 1, Norm::Ortho).map(parts) },
    TransformSubject { name: "padded rfft", run: |x| rfft_with(x.re, Some(8), 1, Norm::Ortho).map(parts) },
    TransformSubject { name: "cut rfft", run: |x| rfft_with(x.re, Some(4), 2, Norm::Forward).map(parts) },
    TransformSubject { name: "irfft", run: |x| irfft_with(x, None, 1, Norm::Ortho).map(|x| vec![x]) },
    TransformSubject { name: "odd irfft", run: |x| irfft_with(x, Some(7), 0, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "padded irfft", run: |x| irfft_with(x, Some(20), 1, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "cut irfft", run: |x| irfft_with(x, Some(4), 2, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "irfft of one", run: |x| irfft_with(x, Some(1), 2, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "hfft", run: |x| hfft_with(x, None, 2, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "ihfft", run: |x| ihfft_with(x.re, None, 2, Norm::Backward).map(parts) },
    TransformSubject { name: "fft2", run: |x| fft2_with(x, Some([6, 4]), [0, 2], Norm::Backward).map(parts) },
    TransformSubject { name: "rfft2", run: |x| rfft2_with(x.re, None, [-2, -1], Norm::Backward).map(parts) },
    TransformSubject { name: "irfftn", run: |x| irfftn_with(x, None, &[0, 1, 2], Norm::Ortho).map(|x| vec![x]) },
    TransformSubject { name: "hfftn", run: |x| hfftn_with(x, None, &[0, 1, 2], Norm::Ortho).map(|x| vec![x]) },
    TransformSubject { name: "ihfftn", run: |x| ihfftn_with(x.re, None, &[0, 1, 2], Norm::Ortho).map(parts) },
    TransformSubject { name: "dct", run: |x| dct_with(x.re, 2, 1, Norm::Backward).map(|x| vec![x]) },
    TransformSubject { name: "idct", run: |x| idct_with(x.re, 2, 2, Norm::Ortho).map(|x| vec![x]) },
    TransformSubject {
        name: "cosine transforms",
        run: |x| Ok(vec![dct_with(x.re, 1, 1, Norm::Ortho)?, idct_with(x.im, 4, 0, Norm::Backward)?]),
    },
    TransformSubject {
        name: "sine transforms",
        run: |x| Ok(vec![dst_with(x.re, 1, 1, Norm::Forward)?, idst_with(x.im, 4, 1, Norm::Backward)?]),
    },
    TransformSubject {
        name: "transposed sine transforms",
        run: |x| Ok(vec![dst_with(x.re, 2, 1, Norm::Ortho)?, idst_with(x.im, 2, 2, Norm::Backward)?]),
    },
    TransformSubject {
        name: "transforms of even lengths",
        run: |x| Ok(vec![dct_with(x.re.clone(), 2, 2, Norm::Forward)?, dst_with(x.re, 2, 0, Norm::Ortho)?]),
    },
    TransformSubject {
        name: "transposed transforms of even lengths",
        run: |x| Ok(vec![idst_with(x.re, 2, 2, Norm::Ortho)?, dst_with(x.im, 4, 2, Norm::Ortho)?]),
    },
    TransformSubject { name: "czt", run: |x| czt(x, Some(7), Some([0.6, 0.8]), Some([1.0, 0.2]), 1).map(parts) },
    TransformSubject { name: "zoom_fft", run: |x| zoom_fft(x.re, [0.1, 0.2], Some(3), 1.0, true, 0).map(parts) },
    TransformSubject { name: "hilbert", run: |x| hilbert(x.re, None, 2).map(parts) },
    TransformSubject { name: "padded hilbert", run: |x| hilbert(x.re, Some(9), 1).map(parts) },
    TransformSubject {
        name: "parts side by side",
        run: |x| {
            let complex = interleaved(x.clone(), FftForm::Complex, 9, Direction::Inverse);
            Ok([parts(complex), parts(interleaved(x, FftForm::Columns, 5, Direction::Forward))].concat())
        },
    },
    TransformSubject {
        name: "real values of parts side by side",
        run: |x| {
            let spectrum = interleaved(x.clone(), FftForm::Real, 8, Direction::Forward);
            Ok([parts(spectrum), vec![interleaved(x, FftForm::InverseReal, 7, Direction::Inverse).re]].concat())
        },
    },
    TransformSubject { name: "shifts", run: |x| Ok(vec![fftshift(x.re), ifftshift_with(x.im, &[1])?]) },
];

const SHAPE: [usize; 3] = [4, 5, 6];

/// Gradients of Σ weight · output with respect to real and imaginary parts, where they are tracked.
fn gradients(
    subject: &TransformSubject,
    input: [&[f64]; 2],
    tracked: [bool; 2],
    device: &Device,
    dtype: DType,
) -> [Vec<f64>; 2] {
    let mut leaves = input.map(|part| tensor::<3>(part, SHAPE, device, dtype));
    for (leaf, tracked) in leaves.iter_mut().zip(tracked) {
        if tracked {
            *leaf = leaf.clone().require_grad();
        }
    }
    let [re, im] = &leaves;
    let outputs = (subject.run)(ComplexTensor::new(re.clone(), im.clone())).unwrap();
    let terms = outputs.into_iter().enumerate().map(|(index, output)| {
        let weights = noise(output.shape().num_elements(), 60 + index as u64);
        (output.clone() * tensor(&weights, output.dims(), device, dtype)).sum()
    });
    let gradients = terms.reduce(|a, b| a + b).unwrap().backward();
    leaves.map(|leaf| leaf.grad(&gradients).map_or_else(|| vec![0.0; 120], values))
}

/// Σ weight · output.
fn functional(subject: &TransformSubject, input: [&[f64]; 2]) -> f64 {
    let [re, im] = input.map(|part| tensor::<3>(part, SHAPE, &Device::flex(), DType::F64));
    let outputs = (subject.run)(ComplexTensor::new(re, im)).unwrap().into_iter().enumerate();
    outputs
        .map(|(index, output)| {
            let output = values(output);
            let weights = noise(output.len(), 60 + index as u64);
            output.iter().zip(weights).map(|(output, weight)| output * weight).sum::<f64>()
        })
        .sum()
}

/// The functional is linear, so it is the product of any input with its gradient, wherever that was taken.
pub fn gradients_are_the_adjoint() {
    let at = [noise(120, 1), noise(120, 2)];
    for device in [Device::flex().autodiff(), Device::flex().autodiff().gradient_checkpointing()] {
        for subject in SUBJECTS {
            let [re, im] = gradients(subject, [&at[0], &at[1]], [true; 2], &device, DType::F64);
            for seed in 0..20 {
                let [x, y] = [noise(120, 100 + seed), noise(120, 200 + seed)];
                let product: f64 = re.iter().zip(&x).chain(im.iter().zip(&y)).map(|(gradient, x)| gradient * x).sum();
                let expected = functional(subject, [&x, &y]);
                let error = (product - expected).abs();
                assert!(error < 1e-11 * (1.0 + expected.abs()), "{}: {product} is not {expected}", subject.name);
            }
            // One part alone.
            let [alone, none] = gradients(subject, [&at[0], &at[1]], [true, false], &device, DType::F64);
            assert!(same(&alone, &re) && none == [0.0; 120], "{}", subject.name);
        }
    }
}

pub fn gradients_match_those_in_float64(device: &Device) {
    let at = [noise(120, 1), noise(120, 2)];
    for subject in SUBJECTS {
        let on = |device: &Device, dtype| gradients(subject, [&at[0], &at[1]], [true; 2], device, dtype);
        let expected = on(&Device::flex().autodiff(), DType::F64).concat();
        let got = on(&device.clone().autodiff(), DType::F32).concat();
        let error = relative_error(&got, &expected);
        assert!(error < 1e-5, "{}: relative error {error:.1e}", subject.name);
    }
}

/// Points of long rows: powers of two, products of small primes, and primes, in one launch and in several on devices.
const LONG: [usize; 7] = [456, 1009, 4095, 4096, 10_007, 65_536, 100_003];
/// The same on a software device, which takes seconds to compile a kernel.
const LONG_ON_SOFTWARE: [usize; 2] = [456, 8192];

/// The transforms of long rows, of real and imaginary parts `[2, n]`.
const OF_ROWS: &[(&str, OfRows)] = &[
    ("fft", |x, _| parts(fft_with(x, None, 1, Norm::Backward).unwrap())),
    ("rfft", |x, _| parts(rfft_with(x.re, None, 1, Norm::Backward).unwrap())),
    ("irfft", |x, n| {
        let bins = x.map(|part| part.narrow(1, 0, n / 2 + 1));
        vec![irfft_with(bins, Some(n), 1, Norm::Forward).unwrap()]
    }),
];
type OfRows = fn(ComplexTensor<2>, usize) -> Vec<Tensor<2>>;

/// Gradients of the transforms of two rows of `n` points in both parts, and the weighted sum that they are of.
fn of_long_rows(run: OfRows, n: usize, device: &Device, dtype: DType) -> (Vec<f64>, f64) {
    let [re, im] = [1, 2].map(|seed| tensor::<2>(&noise(2 * n, seed), [2, n], device, dtype).require_grad());
    let outputs = run(ComplexTensor::new(re.clone(), im.clone()), n).into_iter().enumerate();
    let terms = outputs.map(|(index, output)| {
        let weights = noise(output.shape().num_elements(), 60 + index as u64);
        (output.clone() * tensor(&weights, output.dims(), device, dtype)).sum()
    });
    let sum = terms.reduce(|a, b| a + b).unwrap();
    let gradients = sum.backward();
    let parts = [re, im].map(|leaf| leaf.grad(&gradients).map_or_else(|| vec![0.0; 2 * n], values));
    (parts.concat(), values(sum)[0])
}

/// The weighted sum is linear in the rows, so it is their product with its gradient.
pub fn gradients_of_long_rows_are_the_adjoint() {
    for n in LONG {
        let rows = [1, 2].map(|seed| noise(2 * n, seed)).concat();
        for &(name, run) in OF_ROWS {
            let (gradient, sum) = of_long_rows(run, n, &Device::flex().autodiff(), DType::F64);
            let product: f64 = gradient.iter().zip(&rows).map(|(gradient, value)| gradient * value).sum();
            // Rounding is of the sizes of all terms, not of their sum.
            let size: f64 = gradient.iter().zip(&rows).map(|(gradient, value)| (gradient * value).abs()).sum();
            assert!((product - sum).abs() < 1e-13 * size, "{name} of {n}: {product} is not {sum}");
        }
    }
}

pub fn gradients_of_long_rows_match_those_in_float64(device: &Device) {
    let lengths: &[usize] = if is_software(device) { &LONG_ON_SOFTWARE } else { &LONG };
    for &n in lengths {
        for &(name, run) in OF_ROWS {
            let (expected, _) = of_long_rows(run, n, &Device::flex().autodiff(), DType::F64);
            let (got, _) = of_long_rows(run, n, &device.clone().autodiff(), DType::F32);
            let error = relative_error(&got, &expected);
            assert!(error < 2.0 * transform_tolerance(n), "{name} of {n}: relative error {error:.1e}");
        }
    }
}
