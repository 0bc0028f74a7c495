//! Fourier transforms of any length: against the definition, SciPy, and their own adjoints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData, f16};
use common::devices::{CpuTest, DeviceTest, Trials, computed, is_software, tests};
use common::{noise, relative_error, same, tensor, transform_tolerance, values};
use firefly_ops::fft::{
    ComplexTensor, fft, fft2, fftfreq, fftn, fftshift, hfft, hfft2, hfftn, ifft, ifft2, ifftn, ifftshift, ihfft,
    ihfft2, ihfftn, irfft, irfft2, irfftn, rfft, rfft2, rfftfreq, rfftn,
};
use firefly_ops::{ArgumentError, Norm};
use firefly_reference::Complex;
use firefly_reference::dft::dft_bins;
use firefly_reference::fft::FftDefinition;
use rustfft::FftPlanner;
use serde::Deserialize;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest:
        lengths_up_to_512_match_the_definition,
        any_number_of_rows_is_right_to_the_last,
        rows_are_cut_and_padded,
        gradients_match_those_in_float64,
        small_floats_compute_in_f32,
    ];
    let on_cpu = tests![CpuTest:
        primes_match_the_definition,
        long_lengths_match_float64,
        conventions_are_those_of_scipy,
        gradients_are_the_adjoint,
        a_spoilt_row_disturbs_no_other,
        transposed_input_is_the_same,
        no_rows_give_no_rows,
        frequencies_are_those_of_scipy,
        shifts_put_frequency_0_in_the_middle,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// Largest error of a row, relative to its largest value. Lengths with a large prime factor take a convolution.
fn tolerance(n: usize, dtype: DType) -> f64 {
    let factor = if largest_factor(n) > 13 { 2.0 } else { 1.0 };
    factor
        * match dtype {
            DType::F64 => 5e-15 + 5e-16 * (n as f64).log10(),
            _ => transform_tolerance(n),
        }
}

fn largest_factor(mut n: usize) -> usize {
    let mut largest = 1;
    let mut factor = 2;
    while factor * factor <= n {
        while n.is_multiple_of(factor) {
            (n, largest) = (n / factor, factor);
        }
        factor += 1;
    }
    largest.max(n)
}

/// Complex rows and their parts as tensors.
struct Rows {
    re: Vec<f64>,
    im: Vec<f64>,
    width: usize,
}

impl Rows {
    fn noise(rows: usize, width: usize) -> Self {
        let seed = (rows * 1000 + width) as u64;
        Self { re: noise(rows * width, seed), im: noise(rows * width, seed + 1), width }
    }

    fn tensor(&self, device: &Device, dtype: DType) -> ComplexTensor<2> {
        let part = |part: &[f64]| tensor(part, [part.len() / self.width, self.width], device, dtype);
        ComplexTensor::new(part(&self.re), part(&self.im))
    }

    fn row(&self, row: usize) -> Vec<Complex> {
        let range = row * self.width..(row + 1) * self.width;
        self.re[range.clone()].iter().zip(&self.im[range]).map(|(&re, &im)| Complex::new(re, im)).collect()
    }

    fn real(&self, row: usize) -> &[f64] {
        &self.re[row * self.width..(row + 1) * self.width]
    }
}

/// Real and imaginary parts of a row, one after the other.
fn flat(row: &[Complex]) -> Vec<f64> {
    row.iter().map(|z| z.re).chain(row.iter().map(|z| z.im)).collect()
}

/// Checks row `row` of a spectrum.
fn check(label: &str, got: &[Vec<f64>], row: usize, expected: &[f64], tolerance: f64) {
    let length = expected.len() / got.len();
    let got: Vec<f64> = got.iter().flat_map(|part| part[row * length..(row + 1) * length].to_vec()).collect();
    let error = relative_error(&got, expected);
    assert!(error <= tolerance, "{label}, row {row}: relative error {error:.1e} of {tolerance:.1e}");
}

fn both(spectrum: ComplexTensor<2>) -> Vec<Vec<f64>> {
    vec![values(spectrum.re), values(spectrum.im)]
}

/// The four kinds of transforms of `rows` rows of `n` values against the definition, in the rows `checked`.
fn check_kinds(device: &Device, dtype: DType, rows: usize, n: usize, checked: &[usize]) {
    let full = Rows::noise(rows, n);
    let half = Rows::noise(rows, n / 2 + 1);
    let definition =
        |forward| FftDefinition { n, forward, scale: if forward { 1.0 } else { 1.0 / n as f64 }, interior: 1.0 };
    let tolerance = tolerance(n, dtype);
    let input = full.tensor(device, dtype);
    let forward = both(fft(input.clone(), None, 1, Norm::Backward).unwrap());
    let inverse = both(ifft(input.clone(), None, 1, Norm::Backward).unwrap());
    let real = both(rfft(input.re.clone(), None, 1, Norm::Backward).unwrap());
    let inverse_real = irfft(half.tensor(device, dtype), Some(n), 1, Norm::Backward).unwrap();
    assert_eq!(inverse_real.dtype(), dtype);
    let inverse_real = vec![values(inverse_real)];
    for &row in checked {
        let label = |kind: &str| format!("{kind} of {n} in {dtype:?}, {rows} rows");
        check(&label("fft"), &forward, row, &flat(&definition(true).complex(&full.row(row))), tolerance);
        check(&label("ifft"), &inverse, row, &flat(&definition(false).complex(&full.row(row))), tolerance);
        check(&label("rfft"), &real, row, &flat(&definition(true).real(full.real(row))), tolerance);
        check(&label("irfft"), &inverse_real, row, &definition(false).inverse_real(&half.row(row)), tolerance);
    }
}

fn lengths_up_to_512_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for n in (1..=512).filter(|n| !is_software(device) || [1, 2, 15, 16, 97, 360].contains(n)) {
            check_kinds(device, dtype, 3, n, &[0, 2]);
        }
    }
}

fn any_number_of_rows_is_right_to_the_last(device: &Device) {
    for &dtype in computed(device) {
        for rows in [1, 2, 7, 8, 9, 16, 17, 33, 70] {
            for n in [1, 2, 3, 6, 14, 35, 60, 121, 128, 210, 360, 1000, 1024] {
                if !is_software(device) || (rows, n) == (9, 60) {
                    check_kinds(device, dtype, rows, n, &[0, rows / 2, rows - 1]);
                }
            }
        }
    }
}

fn primes_match_the_definition() {
    let primes = (513..=2011).filter(|&n| largest_factor(n) == n);
    for (index, n) in primes.enumerate() {
        let dtype = [DType::F32, DType::F64][index % 2];
        check_kinds(&Device::flex(), dtype, 2, n, &[1]);
    }
}

/// Lengths whose definition takes too long: against rustfft in float64, which is checked against the definition at some
/// bins.
fn long_lengths_match_float64() {
    let smooth = (513..=20_000).filter(|&n| largest_factor(n) <= 7);
    let powers = (15..=20).map(|power| 1 << power);
    let mut planner = FftPlanner::<f64>::new();
    for (index, n) in smooth.chain(powers).chain([19_999, 65_537, 100_003]).enumerate() {
        let dtype = [DType::F32, DType::F64][index % 2];
        let rows = if n > 2048 { 1 } else { [1, 18][index % 5 / 4] };
        let full = Rows::noise(rows, n);
        let last = rows - 1;
        let mut expected: Vec<_> =
            full.row(last).iter().map(|z| rustfft::num_complex::Complex::new(z.re, z.im)).collect();
        planner.plan_fft_forward(n).process(&mut expected);
        let expected: Vec<Complex> = expected.iter().map(|z| Complex::new(z.re, z.im)).collect();
        let bins = [0, 1, n / 3, n - 1];
        let defined = dft_bins(&full.row(last), &bins);
        let picked: Vec<Complex> = bins.iter().map(|&bin| expected[bin]).collect();
        assert!(relative_error(&flat(&picked), &flat(&defined)) < 1e-12, "rustfft, {n}");

        let tolerance = tolerance(n, dtype);
        let input = full.tensor(&Device::flex(), dtype);
        let spectrum = fft(input.clone(), None, 1, Norm::Backward).unwrap();
        check(&format!("fft of {n} in {dtype:?}"), &both(spectrum.clone()), last, &flat(&expected), tolerance);
        // One back from the other: as much error again.
        let again = both(ifft(spectrum, None, 1, Norm::Backward).unwrap());
        let signal = flat(&full.row(last));
        check(&format!("ifft of {n} in {dtype:?}"), &again, last, &signal, 2.0 * tolerance);
        let half = rfft(input.re.clone(), None, 1, Norm::Backward).unwrap();
        let mirrored: Vec<Complex> = (0..=n / 2)
            .map(|k| {
                let (a, b) = (expected[k], expected[(n - k) % n]);
                Complex::new(0.0, 0.0) + 0.5 * Complex::new(a.re + b.re, a.im - b.im)
            })
            .collect();
        check(&format!("rfft of {n} in {dtype:?}"), &both(half.clone()), last, &flat(&mirrored), 1.5 * tolerance);
        let again = vec![values(irfft(half, Some(n), 1, Norm::Backward).unwrap())];
        check(&format!("irfft of {n} in {dtype:?}"), &again, last, full.real(last), 2.0 * tolerance);
    }
}

fn rows_are_cut_and_padded(device: &Device) {
    for &dtype in computed(device) {
        for (rows, width, n) in [(3, 10, 16), (3, 20, 12), (20, 50, 64), (20, 100, 60), (20, 9, 60), (17, 3, 128)] {
            if is_software(device) && n != 60 {
                continue;
            }
            let input = Rows::noise(rows, width);
            let definition = |forward| FftDefinition { n, forward, scale: 1.0, interior: 1.0 };
            let tensor = input.tensor(device, dtype);
            let spectrum = both(fft(tensor.clone(), Some(n), -1, Norm::Backward).unwrap());
            let real = both(rfft(tensor.re.clone(), Some(n), -1, Norm::Backward).unwrap());
            let inverse = vec![values(irfft(tensor, Some(n), -1, Norm::Forward).unwrap())];
            for row in [0, rows - 1] {
                let label = format!("{width} values as {n}");
                let tolerance = tolerance(n, dtype);
                check(&label, &spectrum, row, &flat(&definition(true).complex(&input.row(row))), tolerance);
                check(&label, &real, row, &flat(&definition(true).real(input.real(row))), tolerance);
                check(&label, &inverse, row, &definition(false).inverse_real(&input.row(row)), tolerance);
            }
        }
    }
}

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Fixture>,
}

/// A case of `fixtures/make_fft.py`.
#[derive(Deserialize)]
struct Fixture {
    name: String,
    norm: String,
    s: Option<Vec<usize>>,
    dims: Option<Vec<isize>>,
    input: Parts,
    output: Parts,
}

#[derive(Deserialize)]
struct Parts {
    shape: Vec<usize>,
    re: Vec<f64>,
    im: Option<Vec<f64>>,
}

impl Parts {
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
        let label =
            format!("{} of {:?}, s {:?}, dims {:?}, {}", self.name, self.input.shape, self.s, self.dims, self.norm);
        assert_eq!(output.dims().to_vec(), self.output.shape, "{label}");
        let im = self.output.im.clone().unwrap_or_else(|| vec![0.0; self.output.re.len()]);
        let error =
            relative_error(&[values(output.re), values(output.im)].concat(), &[self.output.re.clone(), im].concat());
        assert!(error < 1e-14, "{label}: relative error {error:.1e}");
    }
}

fn conventions_are_those_of_scipy() {
    let fixtures: Fixtures = serde_json::from_str(include_str!("fixtures/fft.json")).unwrap();
    assert!(fixtures.cases.len() >= 70);
    for case in &fixtures.cases {
        match case.input.shape.len() {
            1 => case.check::<1>(),
            2 => case.check::<2>(),
            3 => case.check::<3>(),
            _ => case.check::<4>(),
        }
    }
}

/// A transform from real and imaginary parts `[4, 5, 6]` to any number of outputs.
struct Subject {
    name: &'static str,
    run: fn(ComplexTensor<3>) -> Result<Vec<Tensor<3>>, ArgumentError>,
}

fn parts(spectrum: ComplexTensor<3>) -> Vec<Tensor<3>> {
    vec![spectrum.re, spectrum.im]
}

const SUBJECTS: &[Subject] = &[
    Subject { name: "fft", run: |x| fft(x, None, 1, Norm::Backward).map(parts) },
    Subject { name: "padded fft", run: |x| fft(x, Some(9), 2, Norm::Ortho).map(parts) },
    Subject { name: "ifft", run: |x| ifft(x, None, 0, Norm::Backward).map(parts) },
    Subject { name: "cut ifft", run: |x| ifft(x, Some(3), 1, Norm::Forward).map(parts) },
    Subject { name: "fft of real", run: |x| fft(x.re, None, 1, Norm::Backward).map(parts) },
    Subject { name: "rfft", run: |x| rfft(x.re, None, 1, Norm::Ortho).map(parts) },
    Subject { name: "padded rfft", run: |x| rfft(x.re, Some(8), 1, Norm::Ortho).map(parts) },
    Subject { name: "cut rfft", run: |x| rfft(x.re, Some(4), 2, Norm::Forward).map(parts) },
    Subject { name: "irfft", run: |x| irfft(x, None, 1, Norm::Ortho).map(|x| vec![x]) },
    Subject { name: "odd irfft", run: |x| irfft(x, Some(7), 0, Norm::Backward).map(|x| vec![x]) },
    Subject { name: "padded irfft", run: |x| irfft(x, Some(20), 1, Norm::Backward).map(|x| vec![x]) },
    Subject { name: "cut irfft", run: |x| irfft(x, Some(4), 2, Norm::Backward).map(|x| vec![x]) },
    Subject { name: "irfft of one", run: |x| irfft(x, Some(1), 2, Norm::Backward).map(|x| vec![x]) },
    Subject { name: "hfft", run: |x| hfft(x, None, 2, Norm::Backward).map(|x| vec![x]) },
    Subject { name: "ihfft", run: |x| ihfft(x.re, None, 2, Norm::Backward).map(parts) },
    Subject { name: "fft2", run: |x| fft2(x, Some([6, 4]), [0, 2], Norm::Backward).map(parts) },
    Subject { name: "rfft2", run: |x| rfft2(x.re, None, [-2, -1], Norm::Backward).map(parts) },
    Subject { name: "irfftn", run: |x| irfftn(x, None, None, Norm::Ortho).map(|x| vec![x]) },
    Subject { name: "hfftn", run: |x| hfftn(x, None, None, Norm::Ortho).map(|x| vec![x]) },
    Subject { name: "ihfftn", run: |x| ihfftn(x.re, None, None, Norm::Ortho).map(parts) },
    Subject { name: "shifts", run: |x| Ok(vec![fftshift(x.re, None)?, ifftshift(x.im, Some(&[1]))?]) },
];

const SHAPE: [usize; 3] = [4, 5, 6];

/// Gradients of Σ weight · output with respect to real and imaginary parts, where they are tracked.
fn gradients(
    subject: &Subject,
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
fn functional(subject: &Subject, input: [&[f64]; 2]) -> f64 {
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
fn gradients_are_the_adjoint() {
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

fn gradients_match_those_in_float64(device: &Device) {
    let at = [noise(120, 1), noise(120, 2)];
    for subject in SUBJECTS {
        let on = |device: &Device, dtype| gradients(subject, [&at[0], &at[1]], [true; 2], device, dtype);
        let expected = on(&Device::flex().autodiff(), DType::F64).concat();
        let got = on(&device.clone().autodiff(), DType::F32).concat();
        let error = relative_error(&got, &expected);
        assert!(error < 1e-5, "{}: relative error {error:.1e}", subject.name);
    }
}

fn small_floats_compute_in_f32(device: &Device) {
    let rows = Rows::noise(3, 60);
    for dtype in [DType::F16, DType::BF16].into_iter().filter(|&dtype| device.supports_dtype(dtype)) {
        let small = rows.tensor(device, dtype);
        let wide = small.clone().map(|part| part.cast(DType::F32));
        let (a, b) =
            (fft(small.clone(), None, 1, Norm::Backward).unwrap(), fft(wide.clone(), None, 1, Norm::Backward).unwrap());
        assert_eq!((a.re.dtype(), a.im.dtype()), (DType::F32, DType::F32));
        assert!(same(&both(a).concat(), &both(b).concat()), "{dtype:?}");
        let (a, b) =
            (rfft(small.re, None, 1, Norm::Backward).unwrap(), rfft(wide.re, None, 1, Norm::Backward).unwrap());
        assert!(same(&both(a).concat(), &both(b).concat()), "{dtype:?}");
    }
    if !device.supports_dtype(DType::F16) {
        return;
    }
    let exact = TensorData::new(vec![f16::from_f32(0.5); 4], [4]);
    let spectrum = rfft(Tensor::<1>::from_data(exact, (device, DType::F16)), None, 0, Norm::Backward).unwrap();
    assert_eq!(values(spectrum.re), [2.0, 0.0, 0.0]);
}

fn a_spoilt_row_disturbs_no_other() {
    for n in [7, 60, 64, 97, 100] {
        for rows in [2, 20] {
            let clean = Rows::noise(rows, n);
            let mut spoilt = Rows::noise(rows, n);
            spoilt.re[n + 1] = f64::NAN;
            spoilt.im[n + 2] = f64::INFINITY;
            let run = |rows: &Rows| {
                let input = rows.tensor(&Device::flex(), DType::F32);
                let half = input.clone().map(|part| part.narrow(1, 0, n / 2 + 1));
                let mut all = both(fft(input.clone(), None, 1, Norm::Backward).unwrap());
                all.extend(both(rfft(input.re, None, 1, Norm::Backward).unwrap()));
                all.push(values(irfft(half, Some(n), 1, Norm::Backward).unwrap()));
                all
            };
            for (clean, spoilt) in run(&clean).iter().zip(run(&spoilt)) {
                let length = clean.len() / rows;
                for row in (0..rows).filter(|&row| row != 1) {
                    let range = row * length..(row + 1) * length;
                    assert!(same(&clean[range.clone()], &spoilt[range]), "n {n}, {rows} rows, row {row}");
                }
                assert!(spoilt[length..2 * length].iter().any(|value| !value.is_finite()));
            }
        }
    }
}

fn transposed_input_is_the_same() {
    let rows = Rows::noise(20, 36);
    let input = rows.tensor(&Device::flex(), DType::F32);
    let expected = both(fft(input.clone(), None, 1, Norm::Backward).unwrap());
    let turned = input.map(|part| part.swap_dims(0, 1));
    let along_0 = fft(turned.clone(), None, 0, Norm::Backward).unwrap().map(|part| part.swap_dims(0, 1));
    assert!(same(&both(along_0).concat(), &expected.concat()));
    let view = fft(turned.map(|part| part.swap_dims(0, 1)), None, 1, Norm::Backward).unwrap();
    assert!(same(&both(view).concat(), &expected.concat()));
}

fn no_rows_give_no_rows() {
    let none = Tensor::<2>::zeros([0, 12], &Device::flex());
    assert_eq!(rfft(none.clone(), None, 1, Norm::Backward).unwrap().dims(), [0, 7]);
    assert_eq!(fft(none.clone(), Some(5), 1, Norm::Backward).unwrap().dims(), [0, 5]);
    assert_eq!(irfft(none.into(), Some(9), 1, Norm::Backward).unwrap().dims(), [0, 9]);
}

fn frequencies_are_those_of_scipy() {
    let device = Device::flex();
    let all = |tensor: Result<Tensor<1>, ArgumentError>| values(tensor.unwrap());
    assert_eq!(all(fftfreq(6, 0.5, FloatDType::F64, &device)), [0.0, 1.0, 2.0, -3.0, -2.0, -1.0].map(|k| k / 3.0));
    assert_eq!(all(fftfreq(1, 0.5, FloatDType::F64, &device)), [0.0]);
    assert_eq!(all(rfftfreq(5, 2.0, FloatDType::F64, &device)), [0.0, 0.1, 0.2]);
    assert_eq!(all(rfftfreq(6, 1.0, FloatDType::F64, &device)), [0.0, 1.0, 2.0, 3.0].map(|k| k / 6.0));
}

fn shifts_put_frequency_0_in_the_middle() {
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

fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let input = || Tensor::<2>::zeros([3, 4], &device);
    let norm = Norm::Backward;
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
