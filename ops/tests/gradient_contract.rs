//! Contract of gradients besides being right: finite at silence, rows apart, and the same whatever else is tracked.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::tape::{
    LeafInput, butterfly_inputs, frame, gained_arguments, gained_inputs, gate_choices, gradients, leaves, rows,
    run_butterfly, run_gained, run_psd, tapes, welch_inputs,
};
use common::weights::{WeightNumbers, gained_psd};
use common::{noise, same, values};
use firefly_ops::{Detrend, Scaling, WelchOptions, welch_peaks};

const ROWS: usize = 2;

/// Function from an operation's leaves to its outputs.
type Run = dyn Fn(&[Tensor<1>]) -> Vec<Tensor<2>>;

/// One operation with inputs and the length of a row of its first input.
struct Subject {
    name: &'static str,
    inputs: Vec<LeafInput>,
    row: usize,
    run: Box<Run>,
}

/// Every operation on `count` rows of noise.
fn subjects(options: WelchOptions, count: usize) -> Vec<Subject> {
    let (n, row, k) = (options.n_fft, frame(&options), 4);
    let signal = || noise(count * row, 21);
    let gained = || gained_inputs(signal(), WeightNumbers::perturbed(&options, 22).with_products(&options, 23));
    let complex = |gates| butterfly_inputs(count, n, false, gates);
    let soft = || gate_choices(n).remove(1);
    vec![
        Subject {
            name: "welch_psd",
            inputs: welch_inputs(&options, signal()),
            row,
            run: Box::new(move |leaves| run_psd(leaves, &options)),
        },
        Subject {
            name: "welch_peaks",
            inputs: welch_inputs(&options, signal()),
            row,
            run: Box::new(move |leaves| {
                let peaks = welch_peaks(rows(&leaves[0], row), leaves[1].clone(), &options, k);
                vec![peaks.unwrap().power]
            }),
        },
        Subject {
            name: "butterfly",
            inputs: complex(None),
            row: n,
            run: Box::new(move |leaves| run_butterfly(leaves, n)),
        },
        Subject {
            name: "gated butterfly",
            inputs: complex(soft()),
            row: n,
            run: Box::new(move |leaves| run_butterfly(leaves, n)),
        },
        Subject {
            name: "gained_psd",
            inputs: gained(),
            row,
            run: Box::new(move |leaves| run_gained(leaves, &options)),
        },
        Subject {
            name: "gained_peaks",
            inputs: gained(),
            row,
            run: Box::new(move |leaves| {
                let (signal, weights) = gained_arguments(leaves, &options);
                vec![welch_peaks(signal, weights, &options, k).unwrap().power]
            }),
        },
    ]
}

impl Subject {
    /// Gradients in one type and on one tape, `coefficients` being a function of row and index.
    fn gradients(
        &self,
        tracked: &[bool],
        coefficient: impl Fn(usize, usize) -> f64,
        device: &Device,
        dtype: DType,
    ) -> Vec<Option<Vec<f64>>> {
        let shapes = (self.run)(&leaves(&self.inputs, &Device::flex(), dtype)).into_iter().map(|output| output.dims());
        let coefficients: Vec<Vec<f64>> = shapes
            .map(|[rows, length]| (0..rows * length).map(|i| coefficient(i / length, i % length)).collect())
            .collect();
        gradients(&self.inputs, tracked, &coefficients, device, dtype, &self.run)
    }

    fn all(&self, coefficient: impl Fn(usize, usize) -> f64, device: &Device, dtype: DType) -> Vec<Vec<f64>> {
        let tracked = vec![true; self.inputs.len()];
        self.gradients(&tracked, coefficient, device, dtype).into_iter().map(|grad| grad.expect("tracked")).collect()
    }
}

fn plain_options() -> WelchOptions {
    WelchOptions::new(16, 3).with_detrend(Detrend::Constant).with_scaling(Scaling::Spectrum)
}

/// Coefficients without zeros.
fn coefficient(row: usize, index: usize) -> f64 {
    1.0 + ((7 * row + 3 * index) % 5) as f64
}

#[test]
fn silence_and_denormals_have_finite_gradients() {
    // Zero; denormals; samples whose power is denormal or underflows.
    let amplitudes = [(DType::F32, [0.0, 1e-40, 1e-20, 1e-23]), (DType::F64, [0.0, 5e-310, 1e-155, 1e-162])];
    for (dtype, amplitudes) in amplitudes {
        for amplitude in amplitudes {
            for detrend in [Detrend::None, Detrend::Constant] {
                for mut subject in subjects(plain_options().with_detrend(detrend), 2) {
                    let complex = subject.name.contains("butterfly");
                    for signal in &mut subject.inputs[..if complex { 2 } else { 1 }] {
                        signal.values.iter_mut().for_each(|value| *value *= amplitude);
                    }
                    for device in tapes() {
                        let gradients = subject.all(coefficient, &device, dtype);
                        for (LeafInput { name, .. }, gradient) in subject.inputs.iter().zip(gradients) {
                            let finite = gradient.iter().all(|g| g.is_finite());
                            assert!(finite, "{}, {dtype:?}, amplitude {amplitude}, {name}", subject.name);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_row_of_nan_disturbs_no_other() {
    const SPOILT: usize = 1;
    for dtype in [DType::F32, DType::F64] {
        for (mut subject, clean) in subjects(plain_options(), 3).into_iter().zip(subjects(plain_options(), 3)) {
            let (name, row) = (subject.name, subject.row);
            subject.inputs[0].values[SPOILT * row..(SPOILT + 1) * row].fill(f64::NAN);
            let spoilt = SPOILT * row..(SPOILT + 1) * row;
            for device in tapes() {
                let expected = clean.all(coefficient, &device, dtype);
                let gradients = subject.all(coefficient, &device, dtype);
                for (which, (gradient, expected)) in gradients.iter().zip(&expected).enumerate() {
                    if gradient.len() != 3 * row {
                        continue;
                    }
                    for i in (0..gradient.len()).filter(|i| !spoilt.contains(i)) {
                        assert!(same(&[gradient[i]], &[expected[i]]), "{name}, input {which}, element {i}");
                    }
                }
                // Without a gradient of its own the row leaves everything else alone. Peaks have none there anyway.
                let without = |row: usize, index: usize| if row == SPOILT { 0.0 } else { coefficient(row, index) };
                let expected = clean.all(without, &device, dtype);
                let quiet = subject.all(without, &device, dtype);
                let cases = if name.contains("peaks") { vec![gradients, quiet] } else { vec![quiet] };
                for (LeafInput { name: input, .. }, (which, expected)) in
                    subject.inputs.iter().zip(expected.iter().enumerate())
                {
                    for gradients in &cases {
                        assert!(same(&gradients[which], expected), "{name}, {dtype:?}, {input}");
                    }
                }
            }
        }
    }
}

#[test]
fn gradients_do_not_depend_on_which_inputs_are_tracked() {
    for subject in subjects(plain_options(), 3) {
        let count = subject.inputs.len();
        for device in tapes() {
            let expected = subject.all(coefficient, &device, DType::F64);
            for subset in 1..1usize << count {
                let tracked: Vec<bool> = (0..count).map(|which| subset >> which & 1 == 1).collect();
                let gradients = subject.gradients(&tracked, coefficient, &device, DType::F64);
                for (which, gradient) in gradients.into_iter().enumerate() {
                    let label = format!("{}, tracked {tracked:?}, input {which}", subject.name);
                    assert_eq!(gradient.is_some(), tracked[which], "{label}");
                    assert!(gradient.is_none_or(|gradient| same(&gradient, &expected[which])), "{label}");
                }
            }
        }
    }
}

/// Data come from a device without a tape, parameters live on one.
#[test]
fn a_signal_off_the_tape_meets_parameters_on_it() {
    let options = plain_options();
    let samples = noise(ROWS * options.frame(), 31);
    let weights = WeightNumbers::perturbed(&options, 32);
    for device in tapes() {
        let gradient = |data: &Device| {
            let signal = common::tensor(&samples, [ROWS, options.frame()], data, DType::F64);
            let mut parameters = weights.tensors(&options, &device, DType::F64);
            parameters.gain = parameters.gain.require_grad();
            let gain = parameters.gain.clone();
            let power = gained_psd(signal, &parameters, &options).unwrap();
            values(gain.grad(&power.sum().backward()).unwrap())
        };
        assert!(same(&gradient(&Device::flex()), &gradient(&device)));
    }
}
