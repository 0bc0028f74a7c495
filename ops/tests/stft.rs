//! Short-time Fourier transforms and convolutions: against PyTorch, the definition, and their own adjoints.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::ExitCode;

use burn::tensor::{DType, Device, FloatDType, Tensor, s};
use common::devices::{CpuTest, DeviceTest, Trials, computed, tests};
use common::{noise, relative_error, tensor, values};
use firefly_ops::fft::{
    ComplexTensor, ConvolveMode, fft_convolve, istft, istft_complex, next_fast_len, stft, stft_complex,
};
use firefly_ops::options::SignalPadding;
use firefly_ops::{ArgumentError, StftOptions, Window, WindowSymmetry};
use serde::Deserialize;

fn main() -> ExitCode {
    let on_devices = tests![DeviceTest: conventions_are_those_of_pytorch, convolutions_match_the_definition];
    let on_cpu = tests![CpuTest:
        an_inverse_gives_the_signal_again,
        gradients_are_the_adjoint,
        gradients_of_windows_and_kernels_are_differences,
        kernels_are_repeated_along_leading_dimensions,
        fast_lengths_have_small_factors,
        wrong_arguments_are_refused_by_name,
    ];
    Trials::default().on_devices(on_devices).on_cpu(on_cpu).run()
}

/// A case of `fixtures/make_stft.py`.
#[derive(Deserialize)]
struct Fixture {
    n_fft: usize,
    hop: usize,
    window: Option<String>,
    window_length: usize,
    center: bool,
    pad: String,
    normalized: bool,
    onesided: bool,
    length: Option<usize>,
    complex: bool,
    shape: Vec<usize>,
    /// Real parts; then imaginary ones if the signal is complex.
    signal: Vec<Vec<f64>>,
    spectra_shape: Vec<usize>,
    spectra: [Vec<f64>; 2],
    again: Vec<Vec<f64>>,
}

impl Fixture {
    fn options(&self) -> StftOptions {
        let pad = match self.pad.as_str() {
            "reflect" => SignalPadding::Reflect,
            "replicate" => SignalPadding::Edge,
            "circular" => SignalPadding::Circular,
            "constant" => SignalPadding::Constant(0.0),
            other => panic!("no padding is called {other}"),
        };
        StftOptions::new(self.n_fft)
            .with_hop(self.hop)
            .with_window_length(self.window_length)
            .with_center(self.center)
            .with_pad(pad)
            .with_normalized(self.normalized)
            .with_onesided(self.onesided)
    }

    fn check<const D: usize, const E: usize>(&self, device: &Device, dtype: DType) {
        let label = format!("{:?}, window {:?}, {dtype:?}", self.options(), self.window);
        let shape: [usize; D] = self.shape.clone().try_into().unwrap();
        let parts: Vec<_> = self.signal.iter().map(|part| tensor::<D>(part, shape, device, dtype)).collect();
        let window = self.window.as_ref().map(|name| {
            let values = name.parse::<Window>().unwrap().coefficients(self.window_length, WindowSymmetry::Periodic);
            tensor::<1>(&values, [self.window_length], device, dtype)
        });
        let options = self.options();
        let spectra = match <[_; 2]>::try_from(parts.clone()) {
            Ok([re, im]) => stft_complex::<D, E>(ComplexTensor::new(re, im), window.clone(), &options).unwrap(),
            Err(_) => stft::<D, E>(parts[0].clone(), window.clone(), &options).unwrap(),
        };
        assert_eq!(spectra.dims().to_vec(), self.spectra_shape, "{label}");
        let got = [values(spectra.re.clone()), values(spectra.im.clone())].concat();
        let tolerance = if dtype == DType::F64 { 1e-13 } else { 5e-6 };
        let error = relative_error(&got, &self.spectra.concat());
        assert!(error < tolerance, "{label}: relative error {error:.1e}");
        let again = if self.complex {
            let again = istft_complex::<E, D>(spectra, window, &options, self.length).unwrap();
            [values(again.re), values(again.im)].concat()
        } else {
            values(istft::<E, D>(spectra, window, &options, self.length).unwrap())
        };
        let error = relative_error(&again, &self.again.concat());
        assert!(error < tolerance, "{label}: relative error of the inverse {error:.1e}");
    }
}

fn conventions_are_those_of_pytorch(device: &Device) {
    let fixtures: Vec<Fixture> = serde_json::from_str(include_str!("fixtures/stft.json")).unwrap();
    assert_eq!(fixtures.iter().filter(|case| case.complex).count(), 3);
    assert_eq!(fixtures.len(), 13);
    for case in &fixtures {
        for &dtype in computed(device) {
            match case.shape.len() {
                1 => case.check::<1, 2>(device, dtype),
                _ => case.check::<2, 3>(device, dtype),
            }
        }
    }
}

fn hann(n: usize) -> Tensor<1> {
    Window::Hann.tensor(n, WindowSymmetry::Periodic, FloatDType::F64, &Device::flex())
}

fn an_inverse_gives_the_signal_again() {
    for (n_fft, hop, samples) in [(16, 4, 100), (15, 5, 77), (400, 160, 1000), (7, 1, 30), (12, 5, 12)] {
        for onesided in [true, false] {
            let options = StftOptions::new(n_fft).with_hop(hop).with_onesided(onesided).with_normalized(onesided);
            let signal = noise(6 * samples, n_fft as u64);
            let input = tensor::<3>(&signal, [2, 3, samples], &Device::flex(), DType::F64);
            let spectra = stft::<3, 4>(input, Some(hann(n_fft)), &options).unwrap();
            // Samples past the middle of the last frame but one are in its second half alone.
            let covered = samples.min((spectra.dims()[3] - 1) * hop);
            let again = istft::<4, 3>(spectra, Some(hann(n_fft)), &options, Some(covered)).unwrap();
            let expected: Vec<f64> = signal.chunks(samples).flat_map(|row| row[..covered].to_vec()).collect();
            let error = relative_error(&values(again), &expected);
            assert!(error < 1e-12, "n_fft {n_fft}, hop {hop}: relative error {error:.1e}");
        }
    }
}

/// y_j = Σ_i kernel_i signal_(j−i), all of it.
fn full(signal: &[f64], kernel: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; signal.len() + kernel.len() - 1];
    for (i, x) in signal.iter().enumerate() {
        for (j, k) in kernel.iter().enumerate() {
            sums[i + j] += x * k;
        }
    }
    sums
}

fn convolutions_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for (n, k) in [(1, 1), (5, 3), (9, 4), (100, 31), (4, 4)] {
            let (signal, kernel) = (noise(n, 1), noise(k, 2));
            let all = full(&signal, &kernel);
            let mut circular = vec![0.0; n];
            all.iter().enumerate().for_each(|(j, value)| circular[j % n] += value);
            for (mode, expected) in [
                (ConvolveMode::Full, &all[..]),
                (ConvolveMode::Same, &all[(k - 1) / 2..][..n]),
                (ConvolveMode::Valid, &all[k - 1..n]),
                (ConvolveMode::Circular, &circular[..]),
            ] {
                let [x, y] = [&signal, &kernel].map(|row| tensor::<1>(row, [row.len()], device, dtype));
                let got = values(fft_convolve(x, y, mode).unwrap());
                let error = relative_error(&got, expected);
                let tolerance = if dtype == DType::F64 { 1e-13 } else { 1e-5 };
                assert!(error < tolerance, "{mode:?} of {n} and {k} in {dtype:?}: relative error {error:.1e}");
            }
        }
    }
    let short = Tensor::<1>::ones([3], device);
    let longer = fft_convolve(short.clone(), Tensor::ones([5], device), ConvolveMode::Same).unwrap();
    assert_eq!(longer.dims(), [3]);
    assert!(relative_error(&values(longer), &[3.0, 3.0, 3.0]) < 1e-5);
}

fn kernels_are_repeated_along_leading_dimensions() {
    let device = Device::flex();
    let signal = tensor::<3>(&noise(60, 3), [2, 3, 10], &device, DType::F64);
    let kernel = tensor::<3>(&noise(12, 4), [1, 3, 4], &device, DType::F64);
    let got = fft_convolve(signal.clone(), kernel.clone(), ConvolveMode::Full).unwrap();
    assert_eq!(got.dims(), [2, 3, 13]);
    let (signal, kernel, got) = (values(signal), values(kernel), values(got));
    for row in 0..6 {
        let expected = full(&signal[10 * row..][..10], &kernel[4 * (row % 3)..][..4]);
        assert!(relative_error(&got[13 * row..][..13], &expected) < 1e-13);
    }
}

fn fast_lengths_have_small_factors() {
    let expected = [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 12, 14, 14];
    assert_eq!((0..15).map(next_fast_len).collect::<Vec<_>>(), expected);
    assert_eq!(next_fast_len(65_537), 65_610);
}

type Run = fn(Tensor<2>) -> Result<Vec<Tensor<2>>, ArgumentError>;

/// Linear functions of 2 rows of 30 samples.
const SUBJECTS: &[(&str, Run)] = &[
    ("stft", |x| {
        let spectra = stft::<2, 3>(x, Some(hann(9)), &StftOptions::new(9).with_hop(4))?;
        Ok(vec![spectra.re.reshape([2, -1]), spectra.im.reshape([2, -1])])
    }),
    ("stft without centring", |x| {
        let options = StftOptions::new(8).with_hop(11).with_center(false).with_onesided(false);
        let spectra = stft::<2, 3>(x, None, &options)?;
        Ok(vec![spectra.re.reshape([2, -1]), spectra.im.reshape([2, -1])])
    }),
    ("istft", |x| {
        let spectra = x.reshape([2, 5, 6]);
        let options = StftOptions::new(8).with_hop(3);
        Ok(vec![istft::<3, 2>(spectra.into(), Some(hann(8)), &options, None)?])
    }),
    ("stft of a circular signal", |x| {
        let spectra = stft::<2, 3>(x, None, &StftOptions::new(9).with_hop(4).with_pad(SignalPadding::Circular))?;
        Ok(vec![spectra.re.reshape([2, -1]), spectra.im.reshape([2, -1])])
    }),
    ("stft of a complex signal, and back", |x| {
        let [re, im] = [x.clone().narrow(1, 0, 15), x.narrow(1, 15, 15)];
        let options = StftOptions::new(6).with_hop(2).with_onesided(false);
        let spectra = stft_complex::<2, 3>(ComplexTensor::new(re, im), Some(hann(6)), &options)?;
        let filtered = spectra.map(|part| part.slice_fill(s![.., 2..4, ..], 0.0));
        let signal = istft_complex::<3, 2>(filtered, Some(hann(6)), &options, None)?;
        Ok(vec![signal.re, signal.im])
    }),
    ("convolution", |x| Ok(vec![fft_convolve(x.clone(), x.ones_like().narrow(1, 0, 7), ConvolveMode::Same)?])),
];

/// Σ weight · output is linear, so it is the product of any input with its gradient, wherever that was taken.
fn gradients_are_the_adjoint() {
    for (name, run) in SUBJECTS {
        let functional = |x: Tensor<2>| {
            let outputs = run(x).unwrap().into_iter().enumerate();
            let terms = outputs.map(|(index, output)| {
                let device = output.device().inner();
                let weights = noise(output.shape().num_elements(), 60 + index as u64);
                (output.clone() * tensor(&weights, output.dims(), &device, DType::F64)).sum()
            });
            terms.reduce(|a, b| a + b).unwrap()
        };
        let input = |seed, device: &Device| tensor::<2>(&noise(60, seed), [2, 30], device, DType::F64);
        let leaf = input(1, &Device::flex().autodiff()).require_grad();
        let gradient = values(leaf.grad(&functional(leaf.clone()).backward()).unwrap());
        for seed in 2..10 {
            let x = input(seed, &Device::flex());
            let expected = values(functional(x.clone()))[0];
            let product: f64 = gradient.iter().zip(values(x)).map(|(gradient, x)| gradient * x).sum();
            assert!((product - expected).abs() < 1e-11 * (1.0 + expected.abs()), "{name}: {product} is not {expected}");
        }
    }
}

/// Operations of their second argument, `[2, 8]`: windows of rows, and kernels.
const SECOND: &[SecondArgument] = &[
    ("window of stft", |window| {
        let signal = tensor::<2>(&noise(60, 7), [2, 30], &window.device().inner(), DType::F64);
        let window = Some(window.narrow(0, 0, 1).squeeze_dim::<1>(0));
        let spectra = stft::<2, 3>(signal, window, &StftOptions::new(8).with_hop(3)).unwrap();
        vec![spectra.re, spectra.im]
    }),
    ("window of istft", |window| {
        let part = |seed| tensor::<3>(&noise(50, seed), [1, 5, 10], &window.device().inner(), DType::F64);
        let spectra = firefly_ops::fft::ComplexTensor::new(part(7), part(8));
        // Away from 0, where the sum of squares is divided by.
        let window = Some(window.narrow(0, 0, 1).squeeze_dim::<1>(0) + 3.0);
        let signal: Tensor<2> = istft::<3, 2>(spectra, window, &StftOptions::new(8).with_hop(3), None).unwrap();
        vec![signal.unsqueeze_dim(0)]
    }),
    ("kernel of fft_convolve", |kernel| {
        let signal = tensor::<2>(&noise(60, 7), [2, 30], &kernel.device().inner(), DType::F64);
        vec![fft_convolve(signal, kernel, ConvolveMode::Full).unwrap().unsqueeze_dim(0)]
    }),
];
type SecondArgument = (&'static str, fn(Tensor<2>) -> Vec<Tensor<3>>);

fn gradients_of_windows_and_kernels_are_differences() {
    for (name, run) in SECOND {
        let functional = |x: Tensor<2>| {
            let device = x.device().inner();
            let terms = run(x).into_iter().enumerate().map(|(index, output)| {
                let weights = noise(output.shape().num_elements(), 60 + index as u64);
                (output.clone() * tensor(&weights, output.dims(), &device, DType::F64)).sum()
            });
            terms.reduce(|a, b| a + b).unwrap()
        };
        let at = |values: &[f64], device: &Device| tensor::<2>(values, [2, 8], device, DType::F64);
        let point = noise(16, 1);
        let leaf = at(&point, &Device::flex().autodiff()).require_grad();
        let gradient = values(leaf.grad(&functional(leaf.clone()).backward()).unwrap());
        for (place, gradient) in gradient.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut moved = point.clone();
                moved[place] += by;
                values(functional(at(&moved, &Device::flex())))[0]
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient - difference).abs() < 1e-7, "{name}, {place}: {gradient} is not {difference}");
        }
    }
}

fn refused<T>(result: Result<T, ArgumentError>, message: &str) {
    assert_eq!(result.err().unwrap().to_string(), message);
}

fn wrong_arguments_are_refused_by_name() {
    let device = Device::flex();
    let run = |samples: usize, window: Option<usize>, options: StftOptions| {
        let window = window.map(|length| Tensor::ones([length], &device));
        stft::<2, 3>(Tensor::zeros([2, samples], &device), window, &options)
    };
    let options = StftOptions::new(16);
    refused(run(50, None, StftOptions::new(0)), "stft: `n_fft` is 0, but must be at least 1");
    refused(run(50, None, options.with_hop(0)), "stft: `hop` is 0, but must be at least 1");
    let expected = "stft: `window_length` is 17, but must be from 1 to n_fft, 16";
    refused(run(50, None, options.with_window_length(17)), expected);
    refused(run(50, Some(15), options), "stft: `window` is [15], but must be [16]");
    let expected = "stft: `signal` is 8 samples per row, but must be at least 9, to be padded by 8 on both sides";
    refused(run(8, None, options), expected);
    let expected = "stft: `signal` is 15 samples per row, but must be at least a frame of 16 samples";
    refused(run(15, None, options.with_center(false)), expected);
    let expected = "stft: `signal` is 7 samples per row, but must be at least 8, to be padded by 8 on both sides";
    refused(run(7, None, options.with_pad(SignalPadding::Circular)), expected);
    let complex = |samples: [usize; 2], options: &StftOptions| {
        let [re, im] = samples.map(|samples| Tensor::<2>::zeros([2, samples], &device));
        stft_complex::<2, 3>(ComplexTensor { re, im }, None, options)
    };
    let two_sided = options.with_onesided(false);
    refused(complex([50, 50], &options), "stft_complex: `onesided` is true, but must be false for complex signals");
    refused(complex([50, 49], &two_sided), "stft_complex: `signal.im` is [2, 49], but must be [2, 50]");
    assert_eq!(complex([50, 50], &two_sided).unwrap().dims(), [2, 16, 13]);

    let spectra = |bins: usize, frames: usize| Tensor::<3>::ones([2, bins, frames], &device).into();
    let expected = "istft: `spectra` is [2, 8, 3], but must be 9 bins and at least 1 frame in the last two dimensions";
    refused(istft::<3, 2>(spectra(8, 3), None, &options, None), expected);
    let expected = "istft: `length` is 0, but must be at least 1 sample: one frame that is centred has none without a length \
                    if n_fft is even";
    refused(istft::<3, 2>(spectra(9, 1), Some(hann(16)), &options, None), expected);
    let error = istft::<3, 2>(spectra(9, 3), Some(hann(16)), &options.with_center(false), None).err().unwrap();
    assert_eq!((error.operation, error.argument), ("istft", "window"));
    let expected = "istft: `hop` is 17, but must be at most n_fft, 16, where there are several frames";
    refused(istft::<3, 2>(spectra(9, 3), Some(hann(16)), &options.with_hop(17), None), expected);
    let expected = "istft: `hop` is 18446744073709551615, but must be small enough for samples to be counted";
    refused(istft::<3, 2>(spectra(9, 3), Some(hann(16)), &options.with_hop(usize::MAX), None), expected);
    let uneven = || ComplexTensor { re: Tensor::<3>::ones([2, 9, 3], &device), im: Tensor::ones([2, 3, 9], &device) };
    let expected = "istft: `spectra.im` is [2, 3, 9], but must be [2, 9, 3]";
    refused(istft::<3, 2>(uneven(), Some(hann(16)), &options, None), expected);
    let expected = "istft_complex: `onesided` is true, but must be false for complex signals";
    refused(istft_complex::<3, 2>(uneven(), None, &options, None), expected);
    let expected =
        "istft_complex: `spectra` is [2, 9, 3], but must be 16 bins and at least 1 frame in the last two dimensions";
    refused(istft_complex::<3, 2>(uneven(), None, &two_sided, None), expected);
    // A single frame has any hop, and takes no more memory for it.
    let single = StftOptions::new(16).with_center(false).with_hop(1 << 40);
    let spectra = run(16, None, single).unwrap();
    assert_eq!(spectra.dims(), [2, 9, 1]);
    assert_eq!(istft::<3, 2>(spectra, None, &single, None).unwrap().dims(), [2, 16]);
    assert_eq!((StftOptions::new(2).hop, StftOptions::new(2).with_hop(0).frames(9)), (1, 0));

    let row = |length: usize| Tensor::<2>::ones([2, length], &device);
    let expected =
        "fft_convolve: `kernel` is 5 samples per row, but must be at most as long as the signal, 4, in this mode";
    refused(fft_convolve(row(4), row(5), ConvolveMode::Valid), expected);
    refused(
        fft_convolve(row(4), row(0), ConvolveMode::Full),
        "fft_convolve: `kernel` is 0 samples per row, but must be at least 1",
    );
    let expected = "fft_convolve: `kernel` is [3, 4], but must be a shape whose leading dimensions are those of the \
                    signal, [2, 4], or 1";
    refused(fft_convolve(row(4), Tensor::ones([3, 4], &device), ConvolveMode::Full), expected);
}
