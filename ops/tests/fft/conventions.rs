//! Conventions of the whole family: norms, lengths, dimensions, frequencies and errors.

use burn::tensor::{DType, Device, FloatDType, Tensor};
use firefly_ops::fft::{
    ComplexTensor, dct, dct_with, fft, fft_with, fft2, fft2_with, fftfreq, fftn, fftn_with, fftshift, fftshift_with,
    hfft, hfft_with, hfft2, hfft2_with, hfftn, hfftn_with, idct, idct_with, ifft, ifft_with, ifft2, ifft2_with, ifftn,
    ifftn_with, ifftshift, ifftshift_with, ihfft, ihfft_with, ihfft2, ihfft2_with, ihfftn, ihfftn_with, irfft,
    irfft_with, irfft2, irfft2_with, irfftn, irfftn_with, rfft, rfft_with, rfft2, rfft2_with, rfftfreq, rfftn,
    rfftn_with,
};
use firefly_ops::{ArgumentError, Norm};
use serde::Deserialize;

use crate::common::{noise, relative_error, tensor, values};

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
        let s = self.s.as_deref();
        let last = D as isize - s.map_or(D, <[_]>::len) as isize;
        let dims = &self.dims.clone().unwrap_or_else(|| (last..D as isize).collect())[..];
        let (n, dim) = (s.map(|s| s[0]), dims[0]);
        let s2 = s.filter(|s| s.len() == 2).map(|s| [s[0], s[1]]);
        let dims2 = <[isize; 2]>::try_from(dims);
        match self.name.as_str() {
            "fft" => fft_with(input, n, dim, norm),
            "ifft" => ifft_with(input, n, dim, norm),
            "rfft" => rfft_with(input.re, n, dim, norm),
            "irfft" => irfft_with(input, n, dim, norm).map(Into::into),
            "hfft" => hfft_with(input, n, dim, norm).map(Into::into),
            "ihfft" => ihfft_with(input.re, n, dim, norm),
            "fftn" => fftn_with(input, s, dims, norm),
            "ifftn" => ifftn_with(input, s, dims, norm),
            "rfftn" => rfftn_with(input.re, s, dims, norm),
            "irfftn" => irfftn_with(input, s, dims, norm).map(Into::into),
            "hfftn" => hfftn_with(input, s, dims, norm).map(Into::into),
            "ihfftn" => ihfftn_with(input.re, s, dims, norm),
            "fft2" => fft2_with(input, s2, dims2.unwrap(), norm),
            "ifft2" => ifft2_with(input, s2, dims2.unwrap(), norm),
            "rfft2" => rfft2_with(input.re, s2, dims2.unwrap(), norm),
            "irfft2" => irfft2_with(input, s2, dims2.unwrap(), norm).map(Into::into),
            "hfft2" => hfft2_with(input, s2, dims2.unwrap(), norm).map(Into::into),
            "ihfft2" => ihfft2_with(input.re, s2, dims2.unwrap(), norm),
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
    let shifted = fftshift(numbers.clone());
    assert_eq!(values(shifted.clone()), [5.0, 3.0, 4.0, 2.0, 0.0, 1.0]);
    assert_eq!(values(ifftshift(shifted)), values(numbers.clone()));
    let rows = fftshift_with(numbers.clone(), &[-1]).unwrap();
    assert_eq!(values(rows.clone()), [2.0, 0.0, 1.0, 5.0, 3.0, 4.0]);
    assert_eq!(values(ifftshift_with(rows, &[1]).unwrap()), values(numbers));
}

/// Short forms, and dimensions of several types of integers.
pub fn short_forms_are_those_of_the_last_dimensions() {
    let part = |seed| tensor(&noise(24, seed), [2, 3, 4], &Device::flex(), DType::F64);
    let (z, norm) = (|| ComplexTensor::<3>::new(part(1), part(2)), Norm::Backward);
    type Spectrum = Result<ComplexTensor<3>, ArgumentError>;
    let same = |short: Spectrum, long: Spectrum| {
        let [short, long] = [short, long].map(Result::unwrap);
        assert_eq!((short.dims(), values(short.re), values(short.im)), (long.dims(), values(long.re), values(long.im)));
    };
    same(fft(z()), fft_with(z(), None, -1, norm));
    same(ifft(z()), ifft_with(z(), None, -1, norm));
    same(rfft(z().re), rfft_with(z().re, None, -1, norm));
    same(irfft(z(), None).map(Into::into), irfft_with(z(), None, -1, norm).map(Into::into));
    same(irfft(z(), 7).map(Into::into), irfft_with(z(), Some(7), -1, norm).map(Into::into));
    same(hfft(z(), None).map(Into::into), hfft_with(z(), None, -1, norm).map(Into::into));
    same(hfft(z(), 7).map(Into::into), hfft_with(z(), Some(7), -1, norm).map(Into::into));
    same(ihfft(z().re), ihfft_with(z().re, None, -1, norm));
    same(fft2(z()), fft2_with(z(), None, [-2, -1], norm));
    same(ifft2(z()), ifft2_with(z(), None, [-2, -1], norm));
    same(rfft2(z().re), rfft2_with(z().re, None, [-2, -1], norm));
    same(irfft2(z(), None).map(Into::into), irfft2_with(z(), None, [-2, -1], norm).map(Into::into));
    same(irfft2(z(), [3, 7]).map(Into::into), irfft2_with(z(), Some([3, 7]), [-2, -1], norm).map(Into::into));
    same(hfft2(z(), None).map(Into::into), hfft2_with(z(), None, [-2, -1], norm).map(Into::into));
    same(hfft2(z(), [3, 7]).map(Into::into), hfft2_with(z(), Some([3, 7]), [-2, -1], norm).map(Into::into));
    same(ihfft2(z().re), ihfft2_with(z().re, None, [-2, -1], norm));
    same(fftn(z()), fftn_with(z(), None, &[0, 1, 2], norm));
    same(ifftn(z()), ifftn_with(z(), None, &[0, 1, 2], norm));
    same(rfftn(z().re), rfftn_with(z().re, None, &[0, 1, 2], norm));
    same(irfftn(z(), None).map(Into::into), irfftn_with(z(), None, &[0, 1, 2], norm).map(Into::into));
    same(irfftn(z(), [2, 3, 7]).map(Into::into), irfftn_with(z(), Some(&[2, 3, 7]), &[0, 1, 2], norm).map(Into::into));
    same(hfftn(z(), None).map(Into::into), hfftn_with(z(), None, &[0, 1, 2], norm).map(Into::into));
    same(hfftn(z(), [2, 3, 7]).map(Into::into), hfftn_with(z(), Some(&[2, 3, 7]), &[0, 1, 2], norm).map(Into::into));
    same(ihfftn(z().re), ihfftn_with(z().re, None, &[0, 1, 2], norm));
    same(dct(z().re).map(Into::into), dct_with(z().re, 2, 2u8, norm).map(Into::into));
    same(idct(z().re).map(Into::into), idct_with(z().re, 2, 2u8, norm).map(Into::into));
    same(fft_with(z(), None, 1usize, norm), fft_with(z(), None, -2i64, norm));
    same(fftn_with(z(), None, &[2u32, 0], norm), fftn_with(z(), None, &[-1i8, -3], norm));
}

fn refused<T>(result: Result<T, ArgumentError>, message: &str) {
    assert_eq!(result.err().unwrap().to_string(), message);
}

pub fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let input = || Tensor::<2>::zeros([3, 4], &device);
    let norm = Norm::Backward;
    let expected = "dct: `input` is [3, 0], but must be a tensor with at least 1 value along dimension 1";
    refused(dct_with(Tensor::<2>::zeros([3, 0], &device), 2, 1, norm), expected);
    refused(fft_with(input(), Some(0), 1, norm), "fft: `n` is 0, but must be at least 1 point");
    refused(
        rfft_with(input(), None, 2, norm),
        "rfft: `dim` is 2, but must be from -2 to 1 for a tensor of 2 dimensions",
    );
    refused(
        ihfft_with(input(), None, -3, norm),
        "ihfft: `dim` is -3, but must be from -2 to 1 for a tensor of 2 dimensions",
    );
    let one = ComplexTensor::from(Tensor::<2>::zeros([3, 1], &device));
    refused(irfft(one, None), "irfft: `n` is 0, but must be at least 1 point");
    let none = Tensor::<2>::zeros([3, 0], &device);
    let expected = "fft: `input` is [3, 0], but must be a tensor with at least 1 value along dimension 1";
    refused(fft_with(none, Some(4), 1, norm), expected);
    let uneven = ComplexTensor::new(input(), Tensor::zeros([3, 5], &device));
    refused(ifft_with(uneven, None, 1, norm), "ifft: `input.im` is [3, 5], but must be [3, 4]");
    let expected = "rfftn: `s` is 1 lengths, but must be a length for each of 2 dimensions";
    refused(rfftn_with(input(), Some(&[4]), &[0, 1], norm), expected);
    refused(
        fft2_with(input(), None, [1, -1], norm),
        "fft2: `dims` is dimension 1 twice, but must be a dimension once each",
    );
    refused(fftn_with(input(), None, &[0; 0], norm), "fftn: `dims` is empty, but must be at least one dimension");
    refused(
        fftfreq(4, 0.0, FloatDType::F32, &device),
        "fftfreq: `spacing` is 0, but must be a finite number that is not 0",
    );
    refused(
        fftshift_with(input(), &[4]),
        "fftshift: `dim` is 4, but must be from -2 to 1 for a tensor of 2 dimensions",
    );
}
