//! Long transforms against SciPy's in extended precision, at some of their outputs.

use burn::tensor::{DType, Device, Tensor};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, fft_with, ifft_with, irfft_with, rfft_with};
use serde::Deserialize;

use crate::common::{tensor, values};
use crate::rows::tolerance;

#[derive(Deserialize)]
struct Fixtures {
    cases: Vec<Case>,
}

/// Transforms of a row of `n` integers; the inverse real one of the first n / 2 + 1.
#[derive(Deserialize)]
struct Case {
    n: usize,
    fft: Outputs,
    ifft: Outputs,
    rfft: Outputs,
    irfft: Outputs,
}

/// Some outputs of a transform.
#[derive(Deserialize)]
struct Outputs {
    /// Largest part of any output, chosen or not.
    largest: f64,
    /// Places of the chosen ones.
    places: Vec<usize>,
    re: Vec<f64>,
    im: Option<Vec<f64>>,
}

impl Outputs {
    /// Checks the parts of a result, of `count` values each.
    fn check(&self, label: &str, count: usize, parts: &[Vec<f64>], tolerance: f64) {
        let expected: Vec<&Vec<f64>> = [&self.re].into_iter().chain(&self.im).collect();
        assert_eq!(parts.len(), expected.len(), "{label}");
        for (part, expected) in parts.iter().zip(expected) {
            assert_eq!((part.len(), expected.len()), (count, self.places.len()), "{label}");
            for (&place, expected) in self.places.iter().zip(expected) {
                let error = (part[place] - expected).abs() / self.largest;
                assert!(error <= tolerance, "{label}, at {place}: relative error {error:.1e} of {tolerance:.1e}");
            }
        }
    }
}

/// Integers from -2048 to 2047 of the generator that the fixtures were made with.
fn integers(seed: usize, count: usize) -> Vec<f64> {
    let mut state = u32::try_from(seed).unwrap();
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 20) - 2048.0
    };
    (0..count).map(next).collect()
}

fn parts(spectrum: ComplexTensor<1>) -> [Vec<f64>; 2] {
    [values(spectrum.re), values(spectrum.im)]
}

impl Case {
    fn check(&self, dtype: DType) {
        let n = self.n;
        let row = |seed| -> Tensor<1> { tensor(&integers(seed, n), [n], &Device::flex(), dtype) };
        let signal = ComplexTensor::new(row(n), row(n + 1));
        let half = signal.clone().map(|part| part.narrow(0, 0, n / 2 + 1));
        let check = |name: &str, outputs: &Outputs, count: usize, parts: &[Vec<f64>]| {
            outputs.check(&format!("{name} of {n} in {dtype:?}"), count, parts, tolerance(n, dtype));
        };
        let norm = Norm::Backward;
        check("fft", &self.fft, n, &parts(fft_with(signal.clone(), None, 0, norm).unwrap()));
        check("ifft", &self.ifft, n, &parts(ifft_with(signal.clone(), None, 0, norm).unwrap()));
        check("rfft", &self.rfft, n / 2 + 1, &parts(rfft_with(signal.re, None, 0, norm).unwrap()));
        check("irfft", &self.irfft, n, &[values(irfft_with(half, Some(n), 0, norm).unwrap())]);
    }
}

pub fn long_transforms_are_those_of_scipy() {
    let fixtures: Fixtures = serde_json::from_str(include_str!("../fixtures/fft_long.json")).unwrap();
    assert_eq!((fixtures.cases.len(), fixtures.cases.last().unwrap().n), (21, 1 << 20));
    for case in &fixtures.cases {
        for dtype in [DType::F32, DType::F64] {
            case.check(dtype);
        }
    }
}
