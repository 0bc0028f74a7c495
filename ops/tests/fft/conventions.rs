//! Conventions of the whole family: norms, lengths, dimensions, frequencies and errors.

use burn::tensor::{DType, Device, FloatDType, Tensor};
use firefly_ops::fft::{
    ComplexTensor, dct, fft, fft2, fftfreq, fftn, fftshift, hfft, hfft2, hfftn, ifft, ifft2, ifftn, ifftshift, ihfft,
    ihfft2, ihfftn, irfft, irfft2, irfftn, rfft, rfft2, rfftfreq, rfftn,
};
use firefly_ops::{ArgumentError, Norm};
use serde::Deserialize;

use crate::common::{relative_error, tensor, values};

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Fixture>,
}

/// A case of `fixtures/make_fft.py`.
#[derive(Deserialize)]
struct Fixture {
    name: String,
    /// The library whose output this is.
    library: String,
    norm: String,
    s: Option<Vec<usize>>,
    dims: Option<Vec<isize>>,
    input: FixtureParts,
    output: FixtureParts,
}

#[derive(Deserialize)]
struct FixtureParts {
    shape: Vec<usize>,
    re: Vec<f64>,
    im: Option<Vec<f64>>,
}

impl FixtureParts {
    fn tensor<const D: usize>(&self) -> ComplexTensor<D> {
        let shape: [usize; D] = self.shape.clone().try_into().unwrap();
        let part = |values: &[f64]| tensor(values, shape, &Device::flex(), DType::F64);
        let re = part(&self.re);
        self.im.as_ref().map_or_else(|| re.clone().into(), |im| ComplexTensor::new(re.clone(), part(im)))
    }
}

impl Fixture {
    fn norm(&self) -> Norm {
        match self.norm.as_str() {
            "backward" => Norm::Backward,
            "ortho" => Norm::Ortho,
            _ => Norm::Forward,
        }
    }

    fn run<const D: usize>(&self) -> Result<ComplexTensor<D>, ArgumentError> {
        let (input, norm) = (self.input.tensor::<D>(), self.norm());
        let (s, dims) = (self.s.as_deref(), self.dims.as_deref());
        let (n, dim) = (s.map(|s| s[0]), dims.map_or(-1, |dims| dims[0]));
        let two = |values: &[usize]| [values[0], values[1]];
        let s2 = s.filter(|s| s.len() == 2).map(two);
        let dims2 = dims.filter(|dims| dims.len() == 2).map(|dims| [dims[0], dims[1]]);
        match self.name.as_str() {
            "fft" => fft(input, n, dim, norm),
            "ifft" => ifft(input, n, dim, norm),
            "rfft" => rfft(input.re, n, dim, norm),
            "irfft" => irfft(input, n, dim, norm).map(Into::into),
            "hfft" => hfft(input, n, dim, norm).map(Into::into),
            "ihfft" => ihfft(input.re, n, dim, norm),
            "fftn" => fftn(input, s, dims, norm),
            "ifftn" => ifftn(input, s, dims, norm),
            "rfftn" => rfftn(input.re, s, dims, norm),
            "irfftn" => irfftn(input, s, dims, norm).map(Into::into),
            "hfftn" => hfftn(input, s, dims, norm).map(Into::into),
            "ihfftn" => ihfftn(input.re, s, dims, norm),
            "fft2" => fft2(input, s2, dims2.unwrap(), norm),
            "ifft2" => ifft2(input, s2, dims2.unwrap(), norm),
            "rfft2" => rfft2(input.re, s2, dims2.unwrap(), norm),
            "irfft2" => irfft2(input, s2, dims2.unwrap(), norm).map(Into::into),
            "hfft2" => hfft2(input, s2, dims2.unwrap(), norm).map(Into::into),
            "ihfft2" => ihfft2(input.re, s2, dims2.unwrap(), norm),
            name => panic!("no transform is called {name}"),
        }
    }

    fn check<const D: usize>(&self) {
        let output = self.run::<D>().unwrap();
        let Self { name, library, norm, s, dims, input, .. } = self;
        let label = format!("{name} of {library}, {:?}, s {s:?}, dims {dims:?}, {norm}", input.shape);
        assert_eq!(output.dims().to_vec(), self.output.shape, "{label}");
        let im = self.output.im.clone().unwrap_or_else(|| vec![0.0; self.output.re.len()]);
        let error =
            relative_error(&[values(output.re), values(output.im)].concat(), &[self.output.re.clone(), im].concat());
        assert!(error < 1e-14, "{label}: relative error {error:.1e}");
    }
}

pub fn conventions_are_those_of_scipy_numpy_and_pytorch() {
    let fixtures: Fixtures = serde_json::from_str(include_str!("../fixtures/fft.json")).unwrap();
    for library in ["scipy", "numpy", "torch"] {
        assert!(fixtures.cases.iter().filter(|case| case.library == library).count() >= 20, "{library}");
    }
    for case in &fixtures.cases {
        match case.input.shape.len() {
            1 => case.check::<1>(),
            2 => case.check::<2>(),
            3 => case.check::<3>(),
            _ => case.check::<4>(),
        }
    }
}

pub fn frequencies_are_those_of_scipy() {
    let device = Device::flex();
    let all = |tensor: Result<Tensor<1>, ArgumentError>| values(tensor.unwrap());
    assert_eq!(all(fftfreq(6, 0.5, FloatDType::F64, &device)), [0.0, 1.0, 2.0, -3.0, -2.0, -1.0].map(|k| k / 3.0));
    assert_eq!(all(fftfreq(1, 0.5, FloatDType::F64, &device)), [0.0]);
    assert_eq!(all(rfftfreq(5, 2.0, FloatDType::F64, &device)), [0.0, 0.1, 0.2]);
    assert_eq!(all(rfftfreq(6, 1.0, FloatDType::F64, &device)), [0.0, 1.0, 2.0, 3.0].map(|k| k / 6.0));
}

pub fn shifts_put_frequency_0_in_the_middle() {
    let device = Device::flex();
    let numbers = Tensor::<2>::from_floats([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], &device);
    let shifted = fftshift(numbers.clone(), None).unwrap();
    assert_eq!(values(shifted.clone()), [5.0, 3.0, 4.0, 2.0, 0.0, 1.0]);
    assert_eq!(values(ifftshift(shifted, None).unwrap()), values(numbers.clone()));
    assert_eq!(values(fftshift(numbers, Some(&[-1])).unwrap()), [2.0, 0.0, 1.0, 5.0, 3.0, 4.0]);
}

fn refused<T>(result: Result<T, ArgumentError>, message: &str) {
    assert_eq!(result.err().unwrap().to_string(), message);
}

pub fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let input = || Tensor::<2>::zeros([3, 4], &device);
    let norm = Norm::Backward;
    let expected = "dct: `input` is [3, 0], but must be a tensor with at least 1 value along dimension 1";
    refused(dct(Tensor::<2>::zeros([3, 0], &device), 1, norm), expected);
    refused(fft(input(), Some(0), 1, norm), "fft: `n` is 0, but must be at least 1 point");
    refused(rfft(input(), None, 2, norm), "rfft: `dim` is 2, but must be from -2 to 1 for a tensor of 2 dimensions");
    refused(
        ihfft(input(), None, -3, norm),
        "ihfft: `dim` is -3, but must be from -2 to 1 for a tensor of 2 dimensions",
    );
    let one = ComplexTensor::from(Tensor::<2>::zeros([3, 1], &device));
    refused(irfft(one, None, 1, norm), "irfft: `n` is 0, but must be at least 1 point");
    let none = Tensor::<2>::zeros([3, 0], &device);
    let expected = "fft: `input` is [3, 0], but must be a tensor with at least 1 value along dimension 1";
    refused(fft(none, Some(4), 1, norm), expected);
    let uneven = ComplexTensor::new(input(), Tensor::zeros([3, 5], &device));
    refused(ifft(uneven, None, 1, norm), "ifft: `input.im` is [3, 5], but must be [3, 4]");
    let expected = "fftn: `s` is 3 lengths, but must be at most 2 lengths for a tensor of 2 dimensions";
    refused(fftn(input(), Some(&[1, 2, 3]), None, norm), expected);
    let expected = "rfftn: `s` is 1 lengths, but must be a length for each of 2 dimensions";
    refused(rfftn(input(), Some(&[4]), Some(&[0, 1]), norm), expected);
    refused(fft2(input(), None, [1, -1], norm), "fft2: `dims` is dimension 1 twice, but must be a dimension once each");
    refused(fftn(input(), None, Some(&[]), norm), "fftn: `dims` is empty, but must be at least one dimension");
    refused(
        fftfreq(4, 0.0, FloatDType::F32, &device),
        "fftfreq: `spacing` is 0, but must be a finite number that is not 0",
    );
    refused(
        fftshift(input(), Some(&[4])),
        "fftshift: `dim` is 4, but must be from -2 to 1 for a tensor of 2 dimensions",
    );
}
