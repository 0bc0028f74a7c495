//! Features of spectra: a number per frame.

use burn::tensor::Tensor;

use crate::api::check::InputCheck;
use crate::api::fft::{peak, root};
use crate::api::rows::least_normal;
use crate::error::{Result, ensure};

/// Mean frequency of each frame, weighted by magnitude, as `librosa.feature.spectral_centroid`.
///
/// - `spectrum`: magnitudes `[.., bins, frames]`, none below 0.
/// - `frequencies`: of the bins, `[bins]`, as of [`rfftfreq`](crate::fft::rfftfreq); the result has their unit.
/// - returns `[.., 1, frames]`; 0 for a frame of zeros. [The module](super) has an example.
///
/// Errors are of a spectrum without bins, frequencies of another number, or a device without kernels.
pub fn spectral_centroid<const D: usize>(spectrum: Tensor<D>, frequencies: Tensor<1>) -> Result<Tensor<D>> {
    let [spectrum, frequencies] = checked("spectral_centroid", spectrum, Some(frequencies))?;
    Ok(mean(&spectrum, frequencies))
}

/// Standard deviation of frequency about the [centroid](spectral_centroid) of each frame, weighted by magnitude, as
/// `librosa.feature.spectral_bandwidth` with its defaults. Shapes and errors are those of the centroid.
pub fn spectral_bandwidth<const D: usize>(spectrum: Tensor<D>, frequencies: Tensor<1>) -> Result<Tensor<D>> {
    let [spectrum, frequencies] = checked("spectral_bandwidth", spectrum, Some(frequencies))?;
    Ok(root(deviations(&spectrum, frequencies).1))
}

/// Kurtosis of frequency about the [centroid](spectral_centroid) of each frame, weighted by magnitude: the mean fourth
/// power of deviations over that of the [bandwidth](spectral_bandwidth) (G. Peeters, "A large set of audio features",
/// 2004), 3 for a Gaussian; 0 where the bandwidth is 0. Shapes and errors are those of the centroid.
pub fn spectral_kurtosis<const D: usize>(spectrum: Tensor<D>, frequencies: Tensor<1>) -> Result<Tensor<D>> {
    let [spectrum, frequencies] = checked("spectral_kurtosis", spectrum, Some(frequencies))?;
    // The unit does not count, but fourth powers may leave the range of the type.
    let (deviations, variance) = deviations(&spectrum, frequencies.clone() / peak(&frequencies, &[D - 2]));
    Ok(mean(&spectrum, deviations.powi_scalar(4)) / variance.square().clamp_min(least_normal(&spectrum)))
}

/// Lowest frequency up to which a frame has the share `roll_percent` of its magnitude, 0.85 by default in
/// `librosa.feature.spectral_rolloff`. It has no gradient. Shapes and errors are those of [`spectral_centroid`].
pub fn spectral_rolloff<const D: usize>(
    spectrum: Tensor<D>,
    frequencies: Tensor<1>,
    roll_percent: f64,
) -> Result<Tensor<D>> {
    let [spectrum, frequencies] = checked("spectral_rolloff", spectrum, Some(frequencies))?;
    ensure((0.0..=1.0).contains(&roll_percent), "spectral_rolloff", "roll_percent", roll_percent, "from 0 to 1")?;
    let (dims, sums) = (spectrum.dims(), spectrum.detach().cumsum(D - 2));
    let is_below = sums.clone().lower((sums.narrow(D - 2, dims[D - 2] - 1, 1) * roll_percent).expand(dims));
    Ok(frequencies.detach().expand(dims).mask_fill(is_below, f32::INFINITY).min_dim(D - 2))
}

/// Geometric over arithmetic mean of the power of each frame, as `librosa.feature.spectral_flatness` with its defaults.
/// Power below 10⁻¹⁰ counts as that. Shapes and errors are those of [`spectral_centroid`].
pub fn spectral_flatness<const D: usize>(spectrum: Tensor<D>) -> Result<Tensor<D>> {
    let power = checked("spectral_flatness", spectrum, None)?[0].clone().square().clamp_min(1e-10);
    Ok(power.clone().log().mean_dim(D - 2).exp() / power.mean_dim(D - 2))
}

/// The spectrum in the type that is computed in, and the frequencies, or else ones, in the shape of bins.
fn checked<const D: usize>(name: &'static str, x: Tensor<D>, f: Option<Tensor<1>>) -> Result<[Tensor<D>; 2]> {
    const { assert!(D >= 2, "spectra have bins and frames") };
    let (dims, expected) = (x.dims(), "a tensor with at least 1 bin, in the dimension before the last");
    let mut shape = [1; D];
    shape[D - 2] = dims[D - 2];
    ensure(dims[D - 2] >= 1, name, "spectrum", format_args!("{dims:?}"), expected)?;
    let mut inputs = InputCheck::of(name, "spectrum", &x)?;
    let frequencies = f.unwrap_or_else(|| inputs.ones([dims[D - 2]]));
    Ok([inputs.first(x), inputs.next("frequencies", frequencies, [dims[D - 2]])?.reshape(shape)])
}

/// Mean over the bins of each frame, weighted by magnitude; 0 for a frame of zeros.
fn mean<const D: usize>(spectrum: &Tensor<D>, values: Tensor<D>) -> Tensor<D> {
    let sum = spectrum.clone().sum_dim(D - 2);
    let is_zero = sum.clone().lower_scalar(least_normal(&sum));
    (spectrum.clone() / sum.mask_fill(is_zero, 1.0) * values).sum_dim(D - 2)
}

/// Frequencies less the centroid, and their variance.
fn deviations<const D: usize>(spectrum: &Tensor<D>, frequencies: Tensor<D>) -> (Tensor<D>, Tensor<D>) {
    let deviations = frequencies.clone() - mean(spectrum, frequencies);
    (deviations.clone(), mean(spectrum, deviations.square()))
}
