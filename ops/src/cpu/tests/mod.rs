//! Tests of the kernels against their definitions in double precision, and of gradients against differences.

mod butterfly;
mod gained;
mod independence;
mod psd;
mod top_k;
mod transform;

use std::f64::consts::TAU;

use firefly_reference::Complex;
pub(in crate::cpu) use firefly_reference::butterfly::exact_twiddles;
use firefly_reference::butterfly::gated_butterfly;
use firefly_reference::welch::{PowerScaling, WelchDefinition, one_sided_factor, power_scale, tapered_segment};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::cpu::Real;
use crate::cpu::top_k::top_k_row;
use crate::options::{Detrend, Scaling, WelchOptions};

const SCALINGS: [Scaling; 3] = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }];
const DETRENDS: [Detrend; 2] = [Detrend::None, Detrend::Constant];

/// `lengths`, under Miri only the first and those up to 16: it interprets, a thousand times slower than code runs.
pub(in crate::cpu) fn lengths(lengths: &[usize]) -> impl Iterator<Item = usize> {
    let (first, others) = lengths.split_first().expect("a length");
    std::iter::once(*first).chain(others.iter().copied().filter(|&n| !cfg!(miri) || n <= 16))
}

/// `count`, or `under_miri`.
pub(in crate::cpu) const fn reduced(count: usize, under_miri: usize) -> usize {
    if cfg!(miri) { under_miri } else { count }
}

/// Uniform values between -1 and 1.
pub(in crate::cpu) fn noise(len: usize, seed: u64) -> Vec<f64> {
    uniform(len, seed, -1.0, 1.0)
}

fn uniform(len: usize, seed: u64, low: f64, high: f64) -> Vec<f64> {
    let mut rng = StdRng::seed_from_u64(seed);
    (0..len).map(|_| rng.random_range(low..high)).collect()
}

pub(in crate::cpu) fn single(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// A Hann window, a little uneven, so that no symmetry hides a mistake.
pub(in crate::cpu) fn window(n: usize) -> Vec<f64> {
    let noise = noise(n, 99);
    (0..n).map(|j| 0.5 - 0.5 * (TAU * j as f64 / n as f64).cos() + 0.05 * noise[j]).collect()
}

pub(in crate::cpu) fn perturbed_twiddles(n: usize, seed: u64) -> Vec<f64> {
    let exact = exact_twiddles(n);
    let noise = noise(exact.len(), seed);
    exact.iter().zip(noise).map(|(w, noise)| w + 0.2 * noise).collect()
}

pub(in crate::cpu) fn random_gates(n: usize, seed: u64) -> Vec<f64> {
    uniform(n.ilog2() as usize * n / 2, seed, 0.05, 0.95)
}

/// The gated butterfly transform by its definition, as (re, im).
pub(in crate::cpu) fn defined_butterfly(
    re: &[f64],
    im: &[f64],
    twiddles: &[f64],
    gates: Option<&[f64]>,
) -> (Vec<f64>, Vec<f64>) {
    let input: Vec<Complex> = re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect();
    gated_butterfly(&input, twiddles, gates).into_iter().map(|z| (z.re, z.im)).unzip()
}

/// The options of a Welch estimate as its definition has them.
fn definition(options: &WelchOptions) -> WelchDefinition {
    let scaling = match options.scaling {
        Scaling::Power => PowerScaling::Raw,
        Scaling::Spectrum => PowerScaling::Spectrum,
        Scaling::Density { sample_rate } => PowerScaling::Density { sample_rate },
    };
    let WelchOptions { n_fft, hop, segments, detrend, .. } = *options;
    WelchDefinition { n_fft, hop, segments, scaling, remove_mean: detrend == Detrend::Constant }
}

/// The windowed samples of one segment, by the definition.
pub(in crate::cpu) fn naive_windowed(
    frame: &[f64],
    window: &[f64],
    options: &WelchOptions,
    segment: usize,
) -> Vec<f64> {
    tapered_segment(frame, window, &definition(options), segment).into_iter().map(|z| z.re).collect()
}

/// Factor on |X\[k\]|² for one segment, by the definition: scale and one-sidedness.
pub(in crate::cpu) fn naive_factor(window: &[f64], options: &WelchOptions, bin: usize) -> f64 {
    power_scale(window, definition(options).scaling) * one_sided_factor(bin, options.n_fft)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The largest difference relative to the largest value.
pub(in crate::cpu) fn relative_error(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |max: f64, v| max.max(v.abs()));
    let difference = largest(&mut got.iter().zip(expected).map(|(a, b)| if a.is_nan() { f64::MAX } else { a - b }));
    difference / largest(&mut expected.iter().copied())
}

/// The contract's bound on the relative error of a transform in single precision.
pub(in crate::cpu) fn single_tolerance(n: usize) -> f64 {
    2e-6 + 5e-7 * (n as f64).log10()
}

/// Compares a gradient with central differences of `loss` in each of `values`.
fn assert_gradient(what: &str, gradient: &[f64], values: &[f64], loss: impl Fn(&[f64]) -> f64) {
    assert_gradient_at(what, 0..values.len(), gradient, values, loss);
}

/// As [`assert_gradient`] at some of the values.
fn assert_gradient_at(
    what: &str,
    indices: impl IntoIterator<Item = usize>,
    gradient: &[f64],
    values: &[f64],
    loss: impl Fn(&[f64]) -> f64,
) {
    assert_eq!(gradient.len(), values.len());
    let eps = 1e-6;
    let mut moved = values.to_vec();
    for i in indices {
        moved[i] = values[i] + eps;
        let above = loss(&moved);
        moved[i] = values[i] - eps;
        let below = loss(&moved);
        moved[i] = values[i];
        let expected = (above - below) / (2.0 * eps);
        let off = (gradient[i] - expected).abs();
        assert!(off <= 1e-5 + 1e-3 * expected.abs(), "{what}[{i}]: {} for {expected}", gradient[i]);
    }
}

/// The `k` strongest bins of every row of `power` [rows, bins], and their power.
fn top_k_of<T: Real>(power: &[T], bins: usize, k: usize) -> (Vec<i64>, Vec<T>) {
    let rows = power.len() / bins;
    let (mut peak_bins, mut peak_power) = (vec![7; rows * k], vec![T::zero(); rows * k]);
    let mut keys = vec![T::Key::default(); bins];
    let outputs = peak_bins.chunks_exact_mut(k).zip(peak_power.chunks_exact_mut(k));
    for (power, (peak_bins, peak_power)) in power.chunks_exact(bins).zip(outputs) {
        top_k_row(power, &mut keys, peak_bins, peak_power);
    }
    (peak_bins, peak_power)
}
