//! The hand-written backward passes against central finite differences in double precision.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use burn::tensor::{DType, Device, Tensor};
use common::tape::{
    LeafInput, butterfly_inputs, frame, gained_arguments, gained_inputs, gate_choices, gradients, leaves, rows,
    run_butterfly, run_gained, run_psd, taper, tapes, welch_inputs,
};
use common::weights::{WeightNumbers, every_segment};
use common::{integers, noise, settings, values};
use firefly_ops::{Peaks, WelchOptions, welch_peaks};

const EPS: f64 = 1e-6;
const ATOL: f64 = 1e-5;
const RTOL: f64 = 1e-3;
const ROWS: usize = 2;

/// A random linear functional of the outputs that is neither large nor small, whatever their scale.
fn functional(outputs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = outputs.iter().map(Vec::len).sum::<usize>() as f64;
    let mean = outputs.iter().flatten().map(|value| value.abs()).sum::<f64>() / count;
    let coefficients = |(seed, output): (usize, &Vec<f64>)| {
        noise(output.len(), 40 + seed as u64).into_iter().map(|c| c / mean).collect()
    };
    outputs.iter().enumerate().map(coefficients).collect()
}

/// Checks every element of every input's gradient, with and without checkpointing, and returns the largest share of the
/// tolerance that an error took.
fn check(label: &str, inputs: &[LeafInput], run: impl Fn(&[Tensor<1>]) -> Vec<Tensor<2>>) -> f64 {
    let plain = Device::flex();
    let evaluate = |leaves: &[Tensor<1>]| -> Vec<Vec<f64>> { run(leaves).into_iter().map(values).collect() };
    let mut leaves = leaves(inputs, &plain, DType::F64);
    let coefficients = functional(&evaluate(&leaves));
    let mut loss = |which: usize, moved: &[f64]| -> f64 {
        let kept = leaves[which].clone();
        leaves[which] = common::tensor(moved, [moved.len()], &plain, DType::F64);
        let outputs = evaluate(&leaves);
        leaves[which] = kept;
        outputs.iter().flatten().zip(coefficients.iter().flatten()).map(|(output, c)| output * c).sum()
    };
    let mut numeric = Vec::new();
    for (which, LeafInput { name, values }) in inputs.iter().enumerate() {
        let mut moved = values.clone();
        let differences: Vec<f64> = (0..values.len())
            .map(|i| {
                let mut at = |value: f64| {
                    moved[i] = value;
                    loss(which, &moved)
                };
                let difference = (at(values[i] + EPS) - at(values[i] - EPS)) / (2.0 * EPS);
                moved[i] = values[i];
                difference
            })
            .collect();
        let largest = differences.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
        assert!(largest > 1000.0 * ATOL, "{label}, {name}: gradients up to {largest:.1e} are no test");
        numeric.push(differences);
    }
    let mut worst: f64 = 0.0;
    for (device, checkpointing) in tapes().iter().zip([false, true]) {
        let analytic = gradients(inputs, &vec![true; inputs.len()], &coefficients, device, DType::F64, &run);
        for ((LeafInput { name, .. }, analytic), numeric) in inputs.iter().zip(analytic).zip(&numeric) {
            let analytic = analytic.expect("every input is tracked");
            assert_eq!(analytic.len(), numeric.len());
            for (i, (a, n)) in analytic.iter().zip(numeric).enumerate() {
                let share = (a - n).abs() / (ATOL + RTOL * n.abs());
                let place = || format!("{label}, checkpointing {checkpointing}, {name}[{i}]");
                assert!(share <= 1.0, "{}: {a} is not {n}", place());
                worst = worst.max(share);
            }
        }
    }
    worst
}

#[test]
fn welch_psd_matches_finite_differences() {
    let mut worst: f64 = 0.0;
    for (seed, options) in settings(&[8, 16, 64]).into_iter().enumerate() {
        let signal = noise(ROWS * frame(&options), seed as u64);
        let inputs = welch_inputs(&options, signal);
        worst = worst.max(check(&format!("{options:?}"), &inputs, |leaves| run_psd(leaves, &options)));
    }
    println!("at worst {worst:.1e} of the tolerance");
}

/// The first signal, from seed 0 on, whose `bins` powers `power` are too far apart in every row for a step of the
/// finite differences to change the order of the strongest `k`.
fn well_ranked(options: &WelchOptions, k: usize, power: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let apart = |row: &[f64]| {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        sorted.windows(2).take(k).all(|pair| pair[0] - pair[1] > 2e-4 * sorted[0].abs())
    };
    (0..1000)
        .map(|seed| noise(ROWS * frame(options), seed))
        .find(|signal| power(signal).chunks(options.bins()).all(apart))
        .expect("some signal has its peaks apart")
}

/// Peaks of the bins and powers that `run` gives, checked to keep their order while the finite differences are taken.
fn check_peaks(label: &str, inputs: &[LeafInput], run: impl Fn(&[Tensor<1>]) -> Peaks<2>) -> f64 {
    let expected = integers(run(&leaves(inputs, &Device::flex(), DType::F64)).bins);
    check(label, inputs, |leaves| {
        let peaks = run(leaves);
        assert_eq!(integers(peaks.bins), expected, "{label}: the peaks changed places");
        vec![peaks.power]
    })
}

#[test]
fn welch_peaks_match_finite_differences() {
    let mut worst: f64 = 0.0;
    for (i, options) in settings(&[8, 16, 64]).into_iter().enumerate() {
        let k = [1, 3, options.bins().min(9)][i % 3];
        let power = |signal: &[f64]| {
            let leaves = leaves(&welch_inputs(&options, signal.to_vec()), &Device::flex(), DType::F64);
            values(run_psd(&leaves, &options).remove(0))
        };
        let inputs = welch_inputs(&options, well_ranked(&options, k, power));
        worst = worst.max(check_peaks(&format!("k {k}, {options:?}"), &inputs, |leaves| {
            welch_peaks(rows(&leaves[0], frame(&options)), leaves[1].clone(), &options, k).unwrap()
        }));
    }
    println!("at worst {worst:.1e} of the tolerance");
}

#[test]
fn butterfly_matches_finite_differences() {
    let mut worst: f64 = 0.0;
    for n in [8, 16, 64] {
        for exact in [true, false] {
            for (choice, gates) in gate_choices(n).into_iter().enumerate() {
                let inputs = butterfly_inputs(ROWS, n, exact, gates);
                let label = format!("n {n}, exact {exact}, gates {choice}");
                worst = worst.max(check(&label, &inputs, |leaves| run_butterfly(leaves, n)));
            }
        }
    }
    println!("at worst {worst:.1e} of the tolerance");
}

/// Gains of three and of five factors, of all segments and of every second one.
fn gained_choices(options: &WelchOptions, seed: u64) -> Vec<(WelchOptions, WeightNumbers)> {
    let perturbed = WeightNumbers::perturbed(options, seed);
    let own = WeightNumbers { window: taper(options.n_fft), ..WeightNumbers::exact(options) };
    let products = perturbed.clone().with_products(options, seed + 5);
    [own, perturbed, products]
        .into_iter()
        .flat_map(|weights| [1, 2].map(|step| (every_segment(step, options), weights.clone())))
        .collect()
}

#[test]
fn gained_psd_matches_finite_differences() {
    let mut worst: f64 = 0.0;
    for (seed, options) in settings(&[8, 16, 64]).into_iter().enumerate() {
        for (options, weights) in gained_choices(&options, 50 * seed as u64) {
            let inputs = gained_inputs(noise(ROWS * frame(&options), seed as u64), weights);
            worst = worst.max(check(&format!("{options:?}"), &inputs, |leaves| run_gained(leaves, &options)));
        }
    }
    println!("at worst {worst:.1e} of the tolerance");
}

#[test]
fn gained_peaks_match_finite_differences() {
    let mut worst: f64 = 0.0;
    for (i, options) in settings(&[8, 16, 64]).into_iter().enumerate() {
        let k = [1, 3, options.bins().min(9)][i % 3];
        for (options, weights) in gained_choices(&options, 50 * i as u64) {
            let power = |signal: &[f64]| {
                let leaves = leaves(&gained_inputs(signal.to_vec(), weights.clone()), &Device::flex(), DType::F64);
                values(run_gained(&leaves, &options).remove(0))
            };
            let inputs = gained_inputs(well_ranked(&options, k, power), weights.clone());
            worst = worst.max(check_peaks(&format!("k {k}, {options:?}"), &inputs, |leaves| {
                let (signal, weights) = gained_arguments(leaves, &options);
                welch_peaks(signal, weights, &options, k).unwrap()
            }));
        }
    }
    println!("at worst {worst:.1e} of the tolerance");
}
