//! Transforms composed of others: chirp-z transforms, analytic signals, cepstra and convolutions by blocks.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::fft::{
    ComplexTensor, ConvolveMode, OverlapSave, czt, envelope, fft_convolve, hilbert, minimum_phase, real_cepstrum,
    zoom_fft,
};
use firefly_ops::{ArgumentError, Norm};
use firefly_reference::{Complex, dft};
use serde::Deserialize;

use crate::common::devices::computed;
use crate::common::differences::check_gradient;
use crate::common::{noise, relative_error, tensor, values};
use crate::cosine::TRANSFORMS;
use crate::rows::{FftRows, both, check, flat, tolerance};

fn refused<T>(result: Result<T, ArgumentError>, beginning: &str) {
    let message = result.err().unwrap().to_string();
    assert!(message.starts_with(beginning), "{message}");
}

/// A case of `fixtures/make_transforms.py`.
#[derive(Deserialize)]
struct Case {
    name: String,
    kind: Option<usize>,
    norm: Option<String>,
    m: Option<usize>,
    w: Option<[f64; 2]>,
    a: Option<[f64; 2]>,
    band: Option<[f64; 2]>,
    sample_rate: Option<f64>,
    endpoint: Option<bool>,
    n: Option<usize>,
    input: Vec<Vec<f64>>,
    output: Vec<Vec<f64>>,
}

/// Transforms of `fixtures/transforms.json` as columns; its resampled signals are for the test `resampling`.
pub fn composed_transforms_are_those_of_scipy() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/transforms.json")).unwrap();
    let mut count = 0;
    for case in cases.iter().filter(|case| !case.name.starts_with("resample")) {
        count += 1;
        let part = |values: &[f64]| tensor::<2>(values, [values.len(), 1], &Device::flex(), DType::F64);
        let re = part(&case.input[0]);
        let input = case.input.get(1).map_or_else(|| re.clone().into(), |im| ComplexTensor::new(re.clone(), part(im)));
        let got: Vec<f64> = match case.name.as_str() {
            "czt" => both(czt(input, case.m, case.w, case.a, 0).unwrap()).concat(),
            "zoom_fft" => {
                let (rate, endpoint) = (case.sample_rate.unwrap(), case.endpoint.unwrap());
                both(zoom_fft(input, case.band.unwrap(), case.m, rate, endpoint, 0).unwrap()).concat()
            }
            "hilbert" => both(hilbert(re, case.n, 0).unwrap()).concat(),
            name => {
                let transform = TRANSFORMS.iter().find(|(of, _)| *of == name).unwrap().1;
                let norm = match case.norm.as_deref() {
                    Some("ortho") => Norm::Ortho,
                    Some("forward") => Norm::Forward,
                    _ => Norm::Backward,
                };
                values(transform(re, case.kind.unwrap(), 0, norm).unwrap())
            }
        };
        let expected: Vec<f64> = case.output.concat();
        let error = relative_error(&got, &expected);
        assert!(error < 1e-12, "{} of {} values: {error:.1e}", case.name, case.input[0].len());
    }
    assert_eq!(count, 48 + 5 + 4 + 6);
}

pub fn chirp_z_transforms_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for (n, m) in [(1, 1), (5, 9), (64, 64), (100, 31)] {
            let rows = FftRows::noise(2, n);
            let input = rows.tensor(device, dtype);
            // A spiral, and an arc.
            let growth = (2.0 / (n.max(m) as f64).powi(2)).exp();
            // The angle of w is rounded, by an error that a product of two places multiplies.
            let tolerance = 20.0 * tolerance(1009, dtype) + (n * m) as f64 * f64::EPSILON;
            for (size, turn, start) in [(growth, -0.01, 0.9), (1.0, 0.3, 1.0), (1.0 / growth, -2.0, 1.01)] {
                let (w, a) = ([size * f64::cos(turn), size * f64::sin(turn)], [start * 0.6, start * -0.8]);
                let got = both(czt(input.clone(), Some(m), Some(w), Some(a), -1).unwrap());
                for row in 0..2 {
                    let points = [w, a].map(|[re, im]| Complex::new(re, im));
                    let expected = flat(&dft::czt(&rows.row(row), m, points[0], points[1]));
                    let label = format!("{m} points of {n} values in {dtype:?}");
                    check(&label, &got, row, &expected, tolerance);
                }
            }
        }
    }
}

pub fn analytic_signals_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for n in [1, 2, 3, 8, 15, 97, 128] {
            let rows = noise(2 * n, n as u64);
            let input = tensor::<2>(&rows, [2, n], device, dtype);
            let got = both(hilbert(input.clone(), None, 1).unwrap());
            let envelopes = vec![values(envelope(input, -1).unwrap())];
            for row in 0..2 {
                let expected = dft::hilbert(&rows[row * n..(row + 1) * n]);
                let label = format!("{n} samples in {dtype:?}");
                check(&label, &got, row, &flat(&expected), 3.0 * tolerance(n, dtype));
                let sizes: Vec<f64> = expected.iter().map(|z| z.norm_sqr().sqrt()).collect();
                check(&label, &envelopes, row, &sizes, 3.0 * tolerance(n, dtype));
            }
        }
    }
}

/// Samples whose squares are no numbers of their type, and rows of zeros.
pub fn envelopes_keep_the_scale_and_have_finite_gradients() {
    let device = Device::flex().autodiff();
    for (scale, dtype) in [(1e-30, DType::F32), (1.0, DType::F32), (1e30, DType::F32), (1e-290, DType::F64)] {
        let samples: Vec<f64> = noise(16, 1).into_iter().map(|x| x * scale).chain([0.0; 16]).collect();
        let leaf = tensor::<2>(&samples, [2, 16], &device, dtype).require_grad();
        let envelope = envelope(leaf.clone(), 1).unwrap();
        let gradients = envelope.clone().sum().backward();
        let gradient = values(leaf.grad(&gradients).unwrap());
        assert!(gradient.iter().all(|value| value.is_finite()), "{gradient:?}");
        let (got, zeros) = (&values(envelope)[..16], &gradient[16..]);
        let expected: Vec<f64> = dft::hilbert(&noise(16, 1)).iter().map(|z| z.norm_sqr().sqrt() * scale).collect();
        assert!(relative_error(got, &expected) < 1e-5 && zeros == [0.0; 16]);
    }
}

pub fn cepstra_match_the_definition_and_undo_each_other() {
    let device = Device::flex();
    for n in [1, 2, 5, 16, 27] {
        let row = noise(n, n as u64);
        let got = values(real_cepstrum(tensor::<1>(&row, [n], &device, DType::F64), None, 0).unwrap());
        let complex = |row: &[f64]| row.iter().map(|&x| Complex::from(x)).collect::<Vec<_>>();
        let logarithms: Vec<f64> = dft::dft(&complex(&row)).iter().map(|bin| bin.norm_sqr().ln() / 2.0).collect();
        // The inverse transform of an even sequence is the forward one over n.
        let expected: Vec<f64> = dft::dft(&complex(&logarithms)).iter().map(|bin| bin.re / n as f64).collect();
        assert!(relative_error(&got, &expected) < 1e-12, "{n} samples: {got:?}, not {expected:?}");
        // In any unit, also below the range of f32: its logarithm is added to the first value.
        let small: Vec<f64> = row.iter().map(|value| value * 1e-290).collect();
        let got = values(real_cepstrum(tensor::<1>(&small, [n], &device, DType::F64), None, 0).unwrap());
        let shifted = [&[expected[0] + 1e-290f64.ln()], &expected[1..]].concat();
        assert!(relative_error(&got, &shifted) < 1e-12, "{n} samples: {got:?}, not {shifted:?}");
    }
    // All zeros within the unit circle: minimum phase.
    let signal: Vec<f64> = (0..64).map(|j| 0.7f64.powi(j) * if j % 3 == 0 { 2.0 } else { 1.0 }).collect();
    for n in [256, 255] {
        let input = tensor::<1>(&signal, [64], &device, DType::F64);
        let cepstrum = real_cepstrum(input.clone(), Some(n), -1).unwrap();
        let again = minimum_phase(cepstrum.clone(), -1).unwrap();
        assert!(relative_error(&values(again.clone())[..64], &signal) < 1e-9, "{n} points");
        // Of any signal, the magnitudes are kept.
        let other = tensor::<1>(&noise(n, 8), [n], &device, DType::F64);
        let cepstrum = real_cepstrum(other, None, 0).unwrap();
        let kept = real_cepstrum(minimum_phase(cepstrum.clone(), 0).unwrap(), None, 0).unwrap();
        assert!(relative_error(&values(kept), &values(cepstrum)) < 1e-9);
    }
    // Bins of 0 count as the smallest magnitude.
    let silence = values(real_cepstrum(tensor::<1>(&[1.0, 1.0], [2], &device, DType::F32), None, 0).unwrap());
    assert!(silence.iter().all(|value| value.is_finite()), "{silence:?}");
}

pub fn blocks_have_the_convolution_of_the_whole(device: &Device) {
    for &dtype in computed(device) {
        for (taps, rows) in [(1, 1), (2, 3), (9, 1), (40, 3)] {
            let kernel = tensor::<2>(&noise(rows * taps, 1), [rows, taps], device, dtype);
            let signal = tensor::<2>(&noise(3 * 60, 2), [3, 60], device, dtype);
            let expected = values(fft_convolve(signal.clone(), kernel.clone(), ConvolveMode::Full).unwrap());
            for lengths in [vec![60], vec![1, 20, 3, 3, 33], vec![30, 30]] {
                let mut stream = OverlapSave::new(kernel.clone());
                let zeros = (taps > 1).then(|| Tensor::zeros([3, taps - 1], (device, dtype)));
                let starts = lengths.iter().scan(0, |start, length| Some(std::mem::replace(start, *start + length)));
                let blocks = starts.zip(&lengths).map(|(start, length)| signal.clone().narrow(1, start, *length));
                let results = blocks.chain(zeros).map(|block| stream.forward(block).unwrap()).collect();
                let got = values(Tensor::cat(results, 1));
                let error = relative_error(&got, &expected);
                let most = if dtype == DType::F64 { 1e-13 } else { 1e-5 };
                assert!(error < most, "{taps} taps, {lengths:?} in {dtype:?}: {error:.1e}");
            }
        }
    }
}

pub fn gradients_of_compositions_match_finite_differences() {
    let row = noise(12, 3);
    let kernel = |row: &Tensor<1>| tensor::<1>(&noise(4, 5), [4], &row.device(), DType::F64);
    check_gradient("envelope", &row, [12], |row: Tensor<1>| envelope(row, 0).unwrap());
    check_gradient("real_cepstrum", &row, [12], |row: Tensor<1>| real_cepstrum(row, Some(15), 0).unwrap());
    check_gradient("minimum_phase", &row, [12], |row: Tensor<1>| minimum_phase(row, 0).unwrap());
    check_gradient("blocks", &row, [12], |row: Tensor<1>| {
        let mut stream = OverlapSave::new(kernel(&row));
        let blocks = [(0, 5), (5, 1), (6, 6)].map(|(start, length)| row.clone().narrow(0, start, length));
        Tensor::cat(blocks.map(|block| stream.forward(block).unwrap()).to_vec(), 0)
    });
    check_gradient("kernel of blocks", &noise(4, 5), [4], |kernel: Tensor<1>| {
        let row = tensor::<1>(&row, [12], &kernel.device(), DType::F64);
        let mut stream = OverlapSave::new(kernel);
        let blocks = [(0, 5), (5, 7)].map(|(start, length)| row.clone().narrow(0, start, length));
        Tensor::cat(blocks.map(|block| stream.forward(block).unwrap()).to_vec(), 0)
    });
}

pub fn wrong_arguments_of_compositions_are_refused_by_name() {
    let device = Device::flex();
    let input = || Tensor::<2>::ones([3, 4], &device);
    let one = || Tensor::<2>::ones([3, 1], &device);
    let none = || Tensor::<2>::zeros([3, 0], &device);
    for (name, transform) in TRANSFORMS {
        refused(transform(input(), 4, 2, Norm::Ortho), &format!("{name}: `dim` is 2, but must be from -2 to 1"));
        refused(transform(none(), 1, 1, Norm::Ortho), &format!("{name}: `input` is [3, 0], but must be"));
    }
    refused(TRANSFORMS[0].1(one(), 1, 1, Norm::Ortho), "dct: `input` is [3, 1], but must be a tensor with at least 2");
    assert!(TRANSFORMS[2].1(one(), 1, 1, Norm::Ortho).is_ok());
    refused(czt(input(), Some(0), None, None, 1), "czt: `m` is 0, but must be at least 1 point");
    refused(czt(input(), None, Some([0.0, 0.0]), None, 1), "czt: `w` is 0 + 0i, but must be a finite complex number");
    refused(czt(input(), None, None, Some([f64::NAN, 0.0]), 1), "czt: `a` is NaN + 0i, but must be");
    refused(czt(input(), Some(100), Some([0.9, 0.0]), None, 1), "czt: `w` is 0.9");
    let uneven = ComplexTensor::new(input(), one());
    refused(czt(uneven, None, None, None, 1), "czt: `input.im` is [3, 1], but must be [3, 4]");
    refused(czt(none(), None, None, None, 1), "czt: `m` is 0");
    refused(czt(none(), Some(2), None, None, 1), "czt: `input` is [3, 0]");
    let zoom = |band, m, rate| zoom_fft(input(), band, m, rate, true, 1);
    refused(zoom([0.0, f64::INFINITY], None, 1.0), "zoom_fft: `band` is [0.0, inf], but must be two finite");
    refused(zoom([0.0, 0.1], None, 0.0), "zoom_fft: `sample_rate` is 0, but must be positive");
    refused(zoom([0.0, 0.1], Some(1), 1.0), "zoom_fft: `m` is 1, but must be at least 2 with an endpoint");
    refused(hilbert(input(), Some(0), 1), "hilbert: `n` is 0, but must be at least 1 point");
    refused(envelope(none(), 1), "envelope: `input` is [3, 0]");
    refused(real_cepstrum(input(), None, -3), "real_cepstrum: `dim` is -3");
    refused(minimum_phase(none(), 1), "minimum_phase: `input` is [3, 0]");
    refused(OverlapSave::new(none()).forward(input()), "OverlapSave: `kernel` is 0 samples per row, but must be");
    refused(TRANSFORMS[0].1(input(), 5, 1, Norm::Ortho), "dct: `kind` is 5, but must be from 1 to 4");
    let mut stream = OverlapSave::new(input());
    refused(stream.forward(none()), "OverlapSave: `block` is [3, 0], but must be at least one sample");
    refused(stream.forward(Tensor::ones([2, 4], &device)), "OverlapSave: `kernel` is [3, 4], but must be");
    stream.forward(input()).unwrap();
    refused(stream.forward(Tensor::ones([2, 4], &device)), "OverlapSave: `block` is [2, 4], but must be rows as those");
}
