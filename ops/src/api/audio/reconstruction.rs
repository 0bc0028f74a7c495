//! Spectra from mel bands, and signals from magnitudes.

use std::f64::consts::TAU;

use burn::tensor::{Tensor, TensorData};

use crate::api::check::{InputCheck, has_only_f32};
use crate::api::fft::{ComplexTensor, istft, peak, root, stft};
use crate::api::mel_filters;
use crate::error::{ArgumentError, Result, ensure};
use crate::options::{MelBands, StftOptions};

/// Spectrum of bins from mel bands: the least-squares solution of least norm, and 0 where that is negative, as
/// torchaudio's `InverseMelScale` (librosa's `mel_to_stft` iterates to a non-negative solution).
///
/// - `bands`: `[.., bands, frames]`, as of [`mel`](crate::mel) with these `n_fft` and `mel_bands`.
/// - returns `[.., n_fft / 2 + 1, frames]`, power or amplitude as the bands are. [The module](super) has an example.
///
/// Errors are of an `n_fft` of 0, bands out of range or of
/// another number, or a device without kernels.
pub fn inverse_mel<const D: usize>(bands: Tensor<D>, n_fft: usize, mel_bands: &MelBands) -> Result<Tensor<D>> {
    const NAME: &str = "inverse_mel";
    const { assert!(D >= 2, "mel spectra have bands and frames") };
    let filters = mel_filters(n_fft, mel_bands).map_err(|error| ArgumentError { operation: NAME, ..error })?;
    let (dims, count) = (bands.dims(), mel_bands.count);
    let expected = format_args!("{count} bands in the dimension before the last");
    ensure(dims[D - 2] == count, NAME, "bands", format_args!("{dims:?}"), expected)?;
    let bands = InputCheck::of(NAME, "bands", &bands)?.first(bands);
    let inverse = TensorData::new(pseudo_inverse(filters), [count, n_fft / 2 + 1]);
    let inverse = Tensor::<2>::from_data(inverse, (&bands.device(), bands.dtype())).transpose();
    Ok(product(inverse.unsqueeze::<D>(), bands).clamp_min(0.0))
}

/// (FFᵀ + εI)⁻¹F of the filters F, `[bands, bins]`, by Gauss–Jordan elimination. The ridge ε is for filters without bins
/// and for those that depend on others, of which the solution of least norm is its limit.
fn pseudo_inverse(filters: Vec<Vec<f64>>) -> Vec<f64> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let ridge = 1e-11 * filters.iter().map(|row| product(row, row)).fold(f64::MIN_POSITIVE, f64::max);
    let mut rows: Vec<Vec<f64>> = filters.iter().map(|a| filters.iter().map(|b| product(a, b)).collect()).collect();
    rows.iter_mut().zip(&filters).for_each(|(row, filter)| row.extend(filter));
    for pivot in 0..filters.len() {
        rows[pivot][pivot] += ridge;
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|value| *value /= scale);
        let pivot_row = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, row)| *index != pivot && row[pivot] != 0.0) {
            let factor = row[pivot];
            row.iter_mut().zip(&pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    rows.iter().flat_map(|row| &row[filters.len()..]).copied().collect()
}

/// Signal whose short-time spectra have given magnitudes, as `librosa.griffinlim`: phases are those of the signal of the
/// last iteration (D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform", 1984),
/// carried on by momentum (N. Perraudin, P. Balazs and P. L. Søndergaard, "A fast Griffin-Lim algorithm", 2013).
///
/// - `magnitude`: `[.., bins, frames]`, none below 0; returns `[.., samples]`. [The module](super) has an example.
/// - `window`, `options`, `length`: those of [`stft`] and [`istft`]; librosa's padding is a constant of 0.
/// - `iterations`, `momentum`: 32 and 0.99 by default in librosa. A momentum of 0 is the algorithm of Griffin and Lim.
/// - `seed`: of uniform phases to start from, the same on every device; `None` for phases of 0.
///
/// Errors are those of [`istft`]; also a momentum that is negative or not finite, and too few frames for the padding.
pub fn griffin_lim<const E: usize, const D: usize>(
    magnitude: Tensor<E>,
    window: Option<Tensor<1>>,
    options: &StftOptions,
    iterations: usize,
    momentum: f64,
    seed: Option<u64>,
    length: Option<usize>,
) -> Result<Tensor<D>> {
    const NAME: &str = "griffin_lim";
    let renamed = |error: ArgumentError| ArgumentError { operation: NAME, ..error };
    options.validate(NAME)?;
    ensure(momentum.is_finite() && momentum >= 0.0, NAME, "momentum", momentum, "finite and at least 0")?;
    let (dims, bins) = (magnitude.dims(), options.bins());
    let expected = format_args!("{bins} bins and at least 1 frame in the last two dimensions");
    ensure(dims[E - 2] == bins && dims[E - 1] >= 1, NAME, "magnitude", format_args!("{dims:?}"), expected)?;
    let samples = (dims[E - 1] - 1).saturating_mul(options.hop).saturating_add(options.n_fft) - 2 * options.padding();
    options.validate_signal(NAME, samples).map_err(|error| ArgumentError { argument: "magnitude", ..error })?;
    let magnitude = InputCheck::of(NAME, "magnitude", &magnitude)?.first(magnitude);
    // Phases do not depend on the scale, by which squares would leave the range of the type.
    let scaled = magnitude.clone() / peak(&magnitude, &[E - 2, E - 1]);
    let signal = |phase: ComplexTensor<E>, magnitude: &Tensor<E>, length| {
        istft(phase.scale(magnitude.clone()), window.clone(), options, length).map_err(renamed)
    };
    let mut phase = seed.map_or_else(|| magnitude.ones_like().into(), |seed| random_phase(&magnitude, seed));
    let mut before: Option<ComplexTensor<E>> = None;
    for _ in 0..iterations {
        let spectra = stft::<D, E>(signal(phase, &scaled, None)?, window.clone(), options).map_err(renamed)?;
        let carried = |before: ComplexTensor<E>| spectra.clone() - before.scale_scalar(momentum / (1.0 + momentum));
        let step = before.map_or_else(|| spectra.clone(), carried);
        let size = root(step.clone().abs_squared()) + f64::from(f32::MIN_POSITIVE);
        phase = step.map(|part| part / size.clone());
        before = Some(spectra);
    }
    signal(phase, &magnitude, length)
}

/// Complex numbers of magnitude 1 and uniform phases, by SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014).
fn random_phase<const E: usize>(like: &Tensor<E>, seed: u64) -> ComplexTensor<E> {
    let angle = |index: u64| {
        let state = seed.wrapping_add((index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / 2f64.powi(64) * TAU
    };
    let angles: Vec<f64> = (0..like.shape().num_elements() as u64).map(angle).collect();
    let angles = Tensor::from_data(TensorData::new(angles, like.dims()), (&like.device(), like.dtype()));
    ComplexTensor::from_polar(angles.ones_like(), angles)
}

/// `a` times `b` in the precision of their type on every device.
///
/// Tensor cores round the factors of a product in f32 to TF32, of 11 bits. There, each factor is the sum of its first
/// 11 bits and of the rest (T. J. Dekker, "A floating-point technique for extending the available precision", 1971),
/// and the product is that of the parts without that of both rests, which is below f32's precision. Gradients are
/// products with the parts of the other factor, of which Burn rounds the gradient of the result.
fn product<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    if !has_only_f32(&a.device().inner()) {
        return a.matmul(b);
    }
    let [(a, rest_of_a), (b, rest_of_b)] = [a, b].map(|factor| {
        let value = factor.clone().detach();
        // 2¹³ + 1 times the value, by a sum: a product alone could be fused with the difference and stay unrounded.
        let scaled = value.clone() * 8192.0 + value.clone();
        let rest = value.clone() - (scaled.clone() - (scaled - value));
        // The rest is a constant, so that the first part has the whole gradient.
        (factor - rest.clone(), rest)
    });
    a.clone().matmul(b.clone()) + (a.matmul(rest_of_b) + rest_of_a.matmul(b))
}
