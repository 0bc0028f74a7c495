//! Quality of estimates of clean signals: ratios of energies, and the difference of spectra at several resolutions.

use burn::tensor::{FloatDType, Tensor};
use firefly_ops::fft::stft;
use firefly_ops::{ArgumentError, StftOptions, Window, WindowSymmetry};

/// Added to energies before they are divided, as a share of the energy of the clean signal.
const OFFSET: f64 = 1e-8;

/// Samples per frame of each resolution; frames are a quarter of that apart.
const RESOLUTIONS: [usize; 3] = [128, 256, 512];
/// Added to power before its root, relative to the mean power of the clean spectra.
const POWER_OFFSET: f64 = 1e-6;

/// Scale-invariant signal-to-noise ratio in decibels: energy of the part of the estimate that is proportional to the
/// clean signal, divided by the energy of the rest; both signals without their mean (Luo and Mesgarani, "TasNet", 2018;
/// Le Roux et al., "SDR – half-baked or well done?", 2019). None for a clean signal without power.
pub fn si_snr(estimate: &[f32], clean: &[f32]) -> Option<f64> {
    let centred = |signal: &[f32]| -> Vec<f64> {
        let mean = signal.iter().copied().map(f64::from).sum::<f64>() / signal.len() as f64;
        signal.iter().map(|sample| f64::from(*sample) - mean).collect()
    };
    let (estimate, clean) = (centred(estimate), centred(clean));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (energy, common) = (product(&clean, &clean), product(&estimate, &clean));
    // As decibels of finite numbers: an estimate of zeros has the ratio of the offset.
    let target = common * common / energy;
    let offset = OFFSET * energy;
    let rest = (product(&estimate, &estimate) - target).max(0.0);
    (energy > 0.0).then(|| decibels((target + offset) / (rest + offset)))
}

/// Signal-to-noise ratio in decibels: energy of the clean signal divided by the energy of the error. None for a clean
/// signal without power.
pub fn snr(estimate: &[f32], clean: &[f32]) -> Option<f64> {
    let energy: f64 = clean.iter().map(|sample| f64::from(*sample).powi(2)).sum();
    let error: f64 = estimate.iter().zip(clean).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    (energy > 0.0).then(|| decibels(energy / (error + OFFSET * energy)))
}

fn decibels(ratio: f64) -> f64 {
    10.0 * ratio.log10()
}

/// Scale-invariant signal-to-noise ratio of each row of `estimate` and `clean`, `[rows, samples]`, in decibels:
/// `[rows, 1]`. A clean row without power counts as one of energy 1 that the estimate has nothing of: 0 for an estimate
/// without power, else a negative ratio.
pub fn si_snr_rows(estimate: Tensor<2>, clean: Tensor<2>) -> Tensor<2> {
    let centred = |signal: Tensor<2>| signal.clone() - signal.mean_dim(1);
    let (estimate, clean) = (centred(estimate), centred(clean));
    let energy = clean.clone().square().sum_dim(1);
    // A row of zeros is divided by 1.
    let divisor = energy.clone() + energy.clone().equal_elem(0.0).float();
    let share = (estimate.clone() * clean.clone()).sum_dim(1) / divisor.clone();
    let target = share * clean;
    let rest = (estimate - target.clone()).square().sum_dim(1);
    let offset = divisor * OFFSET;
    let ratio = (target.square().sum_dim(1) + offset.clone()) / (rest + offset);
    ratio.log() * (10.0 / 10f64.ln())
}

/// Mean over the resolutions of the spectral convergence and of the mean difference of log amplitudes, `[1]` (Yamamoto
/// et al., "Parallel WaveGAN", 2020). Resolutions longer than the rows of `[rows, samples]` are left out. An error if
/// all of them are.
pub fn spectral_difference(estimate: Tensor<2>, clean: Tensor<2>) -> Result<Tensor<1>, ArgumentError> {
    let [_, samples] = clean.dims();
    let mut terms: Vec<Tensor<1>> = Vec::new();
    for n_fft in RESOLUTIONS.into_iter().filter(|n_fft| *n_fft <= samples) {
        let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &clean.device());
        let power = |signal: Tensor<2>| -> Result<Tensor<3>, ArgumentError> {
            Ok(stft::<2, 3>(signal, Some(window.clone()), &StftOptions::new(n_fft))?.abs_squared())
        };
        let (estimate, clean) = (power(estimate.clone())?, power(clean.clone())?);
        let offset = clean.clone().mean() * POWER_OFFSET + f64::from(f32::MIN_POSITIVE);
        let amplitude = |power: Tensor<3>| (power + offset.clone().reshape([1, 1, 1])).sqrt();
        let (estimate, clean) = (amplitude(estimate), amplitude(clean));
        let difference = (clean.clone() - estimate.clone()).square().sum();
        // The root has no gradient at 0.
        terms.push((difference / clean.clone().square().sum() + POWER_OFFSET).sqrt());
        terms.push((clean.log() - estimate.log()).abs().mean());
    }
    let resolutions = terms.len() as f64 / 2.0;
    let sum = terms.into_iter().reduce(|sum, term| sum + term);
    let expected = format!("at least {} samples per row", RESOLUTIONS[0]);
    sum.map(|sum| sum / resolutions)
        .ok_or_else(|| ArgumentError::new("spectral_difference", "clean", format!("{samples} samples"), expected))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution, TensorData};

    use super::*;

    fn signals() -> (Vec<f32>, Vec<f32>) {
        let clean: Vec<f32> = (0..200).map(|index| (index as f32 * 0.3).sin()).collect();
        let estimate =
            clean.iter().enumerate().map(|(index, clean)| clean + 0.1 * (index as f32 * 2.9).cos()).collect();
        (estimate, clean)
    }

    #[test]
    fn ratios_have_the_values_of_their_definitions() {
        // The error is a tenth of the signal and orthogonal to it.
        let clean = [1.0, -1.0, 1.0, -1.0];
        let estimate = [1.1, -0.9, 0.9, -1.1];
        assert!((si_snr(&estimate, &clean).unwrap() - 20.0).abs() < 1e-4);
        assert!((snr(&estimate, &clean).unwrap() - 20.0).abs() < 1e-4);
        assert_eq!(si_snr(&estimate, &[0.0; 4]), None);
    }

    #[test]
    fn scale_and_mean_count_for_the_ratio_to_the_error_alone() {
        let (estimate, clean) = signals();
        let other: Vec<f32> = estimate.iter().map(|sample| 3.0 * sample + 0.5).collect();
        assert!((si_snr(&other, &clean).unwrap() - si_snr(&estimate, &clean).unwrap()).abs() < 1e-3);
        assert!(snr(&other, &clean).unwrap() < snr(&estimate, &clean).unwrap() - 20.0);
    }

    #[test]
    fn tensors_have_the_same_ratio() {
        let (estimate, clean) = signals();
        let row = |values: &[f32]| {
            let both = [values, &[0.0; 200]].concat();
            Tensor::<2>::from_data(TensorData::new(both, [2, 200]), &Device::flex())
        };
        let found: Vec<f32> = si_snr_rows(row(&estimate), row(&clean)).into_data().iter().collect();
        assert!((f64::from(found[0]) - si_snr(&estimate, &clean).unwrap()).abs() < 1e-3, "{found:?}");
        assert_eq!(found[1], 0.0);
        let device = Device::flex();
        let loud = si_snr_rows(Tensor::from_floats([[0.0, 1.0]], &device), Tensor::zeros([1, 2], &device));
        assert!(loud.into_scalar::<f32>() < -70.0);
    }

    #[test]
    fn equal_signals_differ_by_little_and_louder_ones_by_more() {
        let device = Device::flex();
        let clean = Tensor::<2>::random([2, 300], Distribution::Normal(0.0, 1.0), &device);
        let of = |estimate| spectral_difference(estimate, clean.clone()).unwrap().into_scalar::<f32>();
        let (same, louder) = (of(clean.clone()), of(clean.clone() * 2.0));
        assert!(same < 2e-3, "{same}");
        // Convergence 1, and ln 2 of log amplitude.
        assert!((louder - 1.0 - 2f32.ln()).abs() < 0.01, "{louder}");
        assert!(spectral_difference(clean.clone().narrow(1, 0, 100), clean.narrow(1, 0, 100)).is_err());
    }
}
