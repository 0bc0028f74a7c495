//! Analytic signals and cepstra.

use burn::tensor::{AsIndex, Tensor};

use super::cosine::times;
use super::{ComplexTensor, FftCall};
use crate::api::rows::least_normal;
use crate::error::Result;

/// Analytic signal along `dim`, as `scipy.signal.hilbert`: the signal, cut or padded with zeros to `n` samples if that is
/// given, and as imaginary part its Hilbert transform, which has a quarter of a turn less at each positive frequency.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{envelope, hilbert, minimum_phase, real_cepstrum};
///
/// let cosine = Tensor::<1>::from_floats([1.0, 0.0, -1.0, 0.0], &Device::flex());
/// let sine = Tensor::from_floats([0.0, 1.0, 0.0, -1.0], &Device::flex());
/// assert!((hilbert(cosine.clone(), None, -1)?.im - sine).abs().max().into_scalar::<f32>() < 1e-6);
/// assert!((envelope(cosine, -1)? - 1.0).abs().max().into_scalar::<f32>() < 1e-6);
///
/// // An impulse with an echo of half its size has minimum phase.
/// let signal = Tensor::<1>::from_floats([1.0, 0.5], &Device::flex());
/// let cepstrum = real_cepstrum(signal.clone(), Some(64), -1)?;
/// let again = minimum_phase(cepstrum, -1)?.narrow(0, 0, 2);
/// assert!((again - signal).abs().max().into_scalar::<f32>() < 1e-5);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
///
/// Errors are those of [`rfft`](super::rfft).
pub fn hilbert<const D: usize>(input: Tensor<D>, n: Option<usize>, dim: impl AsIndex) -> Result<ComplexTensor<D>> {
    let call = FftCall::forward("hilbert");
    let (dim, input) = call.real_input(input, dim)?;
    call.analytic(input, n, dim)
}

/// Envelope along `dim`: the magnitude of the [analytic signal](hilbert), where errors and an example are. Its gradient is
/// 0 where it is 0.
pub fn envelope<const D: usize>(input: Tensor<D>, dim: impl AsIndex) -> Result<Tensor<D>> {
    let call = FftCall::forward("envelope");
    let (dim, input) = call.real_input(input, dim)?;
    let peak = peak(&input, &[dim]);
    Ok(root(call.analytic(input / peak.clone(), None, dim)?.abs_squared()) * peak)
}

/// Real cepstrum along `dim`: the inverse transform of ln|X|, of `n` points, as many as there are samples by default; more
/// alias less. Bins below 10⁻¹⁹ of the row's largest sample, also 0, count as that. Errors and an example are those of
/// [`hilbert`].
pub fn real_cepstrum<const D: usize>(input: Tensor<D>, n: Option<usize>, dim: impl AsIndex) -> Result<Tensor<D>> {
    let call = FftCall::forward("real_cepstrum");
    let (dim, input) = call.real_input(input, dim)?;
    let n = n.unwrap_or(input.dims()[dim]);
    let peak = peak(&input, &[dim]);
    let power = call.real(input / peak.clone(), Some(n), dim)?.abs_squared();
    let logarithm = power.clamp_min(f32::MIN_POSITIVE).log() * 0.5 + peak.log();
    FftCall { forward: false, ..call }.inverse_real(logarithm.into(), Some(n), dim)
}

/// Signal of minimum phase along `dim` with the real cepstrum `input`, which has no phase (A. V. Oppenheim and R. W. Schafer,
/// "Discrete-time signal processing", 1989, section 12.7). Errors and an example are those of [`hilbert`].
pub fn minimum_phase<const D: usize>(input: Tensor<D>, dim: impl AsIndex) -> Result<Tensor<D>> {
    let call = FftCall::forward("minimum_phase");
    let (dim, input) = call.real_input(input, dim)?;
    let n = input.dims()[dim];
    // The part before 0 is folded onto that behind it, which makes the logarithm of the spectrum that of a causal signal.
    let fold = |j: usize| if j == 0 || 2 * j == n { 1.0 } else { f64::from(u8::from(2 * j < n)) * 2.0 };
    let logarithm = call.real(times(input, dim, fold), None, dim)?;
    let spectrum = ComplexTensor::from_polar(logarithm.re.exp(), logarithm.im);
    FftCall { forward: false, ..call }.inverse_real(spectrum, Some(n), dim)
}

impl FftCall {
    /// The analytic signal by two real transforms.
    fn analytic<const D: usize>(self, input: Tensor<D>, n: Option<usize>, dim: usize) -> Result<ComplexTensor<D>> {
        let samples = input.dims()[dim];
        let n = n.unwrap_or(samples);
        let ComplexTensor { re, im } = self.real(input.clone(), Some(n), dim)?;
        let turned = ComplexTensor { re: im, im: -re };
        let im = Self { forward: false, ..self }.inverse_real(turned, Some(n), dim)?;
        let mut padding = [(0, 0); D];
        padding[dim].1 = n.saturating_sub(samples);
        let re = if n > samples { input.pad(padding, 0.0) } else { input.narrow(dim, 0, n) };
        Ok(ComplexTensor { re, im })
    }
}

/// Square root whose gradient at 0 is 0.
pub(in crate::api) fn root<const D: usize>(square: Tensor<D>) -> Tensor<D> {
    let is_zero = square.clone().equal_scalar(0.0);
    square.mask_fill(is_zero.clone(), 1.0).sqrt().mask_fill(is_zero, 0.0)
}

/// The largest magnitude along `dims`, or 1 instead of 0: the factor that keeps squares within the range of the type.
pub(in crate::api) fn peak<const D: usize>(tensor: &Tensor<D>, dims: &[usize]) -> Tensor<D> {
    let peak = dims.iter().fold(tensor.clone().detach(), |tensor, &dim| tensor.max_abs_dim(dim));
    peak.clone().mask_fill(peak.clone().lower_scalar(least_normal(&peak)), 1.0)
}
