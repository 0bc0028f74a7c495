//! Difference of short-time spectra at several resolutions.

use burn::tensor::{FloatDType, Tensor};
use firefly_ops::fft::stft;
use firefly_ops::{ArgumentError, StftOptions, Window, WindowSymmetry};

/// Samples per frame of each resolution; frames are a quarter of that apart.
const RESOLUTIONS: [usize; 3] = [128, 256, 512];
/// Added to power before its root, relative to the mean power of the clean spectra.
const OFFSET: f64 = 1e-6;

/// Mean over the resolutions of the spectral convergence and of the mean difference of log amplitudes, `[1]` (Yamamoto
/// et al., "Parallel WaveGAN", 2020). Resolutions longer than the rows of `[rows, samples]` are left out.
///
/// # Errors
/// [`ArgumentError`] for rows that are shorter than every resolution.
pub fn spectral_difference(estimate: Tensor<2>, clean: Tensor<2>) -> Result<Tensor<1>, ArgumentError> {
    let [_, samples] = clean.dims();
    let mut terms: Vec<Tensor<1>> = Vec::new();
    for n_fft in RESOLUTIONS.into_iter().filter(|n_fft| *n_fft <= samples) {
        let window = Window::Hann.tensor(n_fft, WindowSymmetry::Periodic, FloatDType::F32, &clean.device());
        let power = |signal: Tensor<2>| -> Result<Tensor<3>, ArgumentError> {
            Ok(stft::<2, 3>(signal, Some(window.clone()), &StftOptions::new(n_fft))?.abs_squared())
        };
        let (estimate, clean) = (power(estimate.clone())?, power(clean.clone())?);
        let offset = clean.clone().mean() * OFFSET + f64::from(f32::MIN_POSITIVE);
        let amplitude = |power: Tensor<3>| (power + offset.clone().reshape([1, 1, 1])).sqrt();
        let (estimate, clean) = (amplitude(estimate), amplitude(clean));
        let difference = (clean.clone() - estimate.clone()).square().sum();
        // The root has no gradient at 0.
        terms.push((difference / clean.clone().square().sum() + OFFSET).sqrt());
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
    use burn::tensor::{Device, Distribution};

    use super::*;

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
