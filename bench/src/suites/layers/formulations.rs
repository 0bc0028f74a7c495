//! Layers as one operation, and from separate ones.

use burn::tensor::{DType, Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_ops::fft::{ComplexTensor, irfft, irfftn_with, next_fast_len, rfft, rfft_with, rfftn_with, stft};
use firefly_ops::options::{LogGuard, LogUnit, Logarithm, mel_filters};
use firefly_ops::{
    Norm, PowerSpectrumOptions, StftOptions, log_mel, long_conv, power_spectrum, spectral_conv, top_k, welch_psd,
};

use super::problem::LayerProblem;
use crate::harness::{RoutineError, floats};
use crate::suites::operation::{Function, TensorKind, next};

/// What the logarithm adds to power, a thousandth of that of noise: it bounds the slope at bands that happen to have
/// nearly none, whose gradients would be as inexact as their power.
pub const OFFSET: f64 = 1e-3;

/// Formulation of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulation {
    Fused,
    Separate,
}

fn constant<const D: usize>(kind: &TensorKind, values: Vec<f64>, shape: [usize; D]) -> Tensor<D> {
    let dtype: DType = kind.dtype.into();
    let tensor = Tensor::from_data(TensorData::new(values, shape), (&kind.device, dtype));
    if kind.is_tracked { tensor.autodiff() } else { tensor }
}

impl LayerProblem {
    pub fn long_conv(&self, formulation: Formulation) -> Function {
        let n = self.n();
        Box::new(move |inputs| {
            let mut inputs = inputs.into_iter();
            let (signal, kernel) = (next::<3>(&mut inputs)?, next::<2>(&mut inputs)?);
            let gate: Option<Tensor<3>> = inputs.next().map(floats).transpose()?;
            if formulation == Formulation::Fused {
                return Ok(vec![long_conv(signal, kernel, gate)?.into()]);
            }
            let points = next_fast_len(2 * n - 1);
            let spectrum = rfft_with(signal, Some(points), -1, Norm::Backward)?;
            let response = rfft_with(kernel.unsqueeze::<3>(), Some(points), -1, Norm::Backward)?;
            let result = irfft(spectrum * response, points)?.narrow(2, 0, n);
            let gated = match gate {
                Some(gate) => result * gate,
                None => result,
            };
            Ok(vec![gated.into()])
        })
    }

    pub fn log_mel(&self, formulation: Formulation, kind: &TensorKind) -> Function {
        let options = self.mel_options();
        let filters = mel_filters(self.n_fft, &options.bands).unwrap_or_default();
        let filters = constant(kind, filters.concat(), [1, filters.len(), options.stft.bins()]);
        let logarithm = Logarithm::new(LogUnit::Natural).with_guard(LogGuard::Offset(OFFSET));
        Box::new(move |inputs| {
            let (signal, window) = signal_and_window::<2>(inputs)?;
            if formulation == Formulation::Fused {
                let spectra: Tensor<3> = log_mel(signal, window, &options, &logarithm)?;
                return Ok(vec![spectra.into()]);
            }
            let spectrum = stft::<2, 3>(signal, Some(window), &options.stft)?;
            Ok(vec![filters.clone().matmul(spectrum.abs_squared()).add_scalar(OFFSET).log().into()])
        })
    }

    pub fn power_spectrum(&self, formulation: Formulation, kind: &TensorKind) -> Function {
        let factors = one_sided(self.n(), kind);
        Box::new(move |inputs| {
            let (signal, window) = signal_and_window::<3>(inputs)?;
            if formulation == Formulation::Fused {
                return Ok(vec![power_spectrum(signal, Some(window), &PowerSpectrumOptions::new())?.into()]);
            }
            let spectrum = rfft(signal * window.unsqueeze())?;
            Ok(vec![(spectrum.abs_squared() * factors.clone().unsqueeze()).into()])
        })
    }

    pub fn welch_psd(&self, formulation: Formulation, kind: &TensorKind) -> Function {
        let factors = one_sided(self.n_fft, kind);
        let options = self.welch_options();
        let frames = StftOptions::new(self.n_fft).with_hop(self.hop).with_center(false);
        Box::new(move |inputs| {
            let (signal, window) = signal_and_window::<2>(inputs)?;
            if formulation == Formulation::Fused {
                return Ok(vec![welch_psd(signal, window, &options)?.into()]);
            }
            let power = stft::<2, 3>(signal, Some(window), &frames)?.abs_squared();
            let mean: Tensor<2> = power.mean_dim(2).squeeze_dim(2);
            Ok(vec![(mean * factors.clone().unsqueeze()).into()])
        })
    }

    /// The positions of the values are in the gradients.
    pub fn top_k(&self, formulation: Formulation) -> Function {
        let k = self.k;
        Box::new(move |inputs| {
            let values = next::<3>(&mut inputs.into_iter())?;
            let largest = match formulation {
                Formulation::Fused => top_k(values, k)?.power,
                Formulation::Separate => values.topk_with_indices(k, 2).0,
            };
            Ok(vec![largest.into()])
        })
    }

    pub fn spectral_conv<const D: usize>(&self, formulation: Formulation) -> Function {
        let (kept, points) = (self.kept(), self.shape.dims().to_vec());
        Box::new(move |inputs| {
            let mut inputs = inputs.into_iter();
            let input = next::<D>(&mut inputs)?;
            let weights = ComplexTensor::new(next::<D>(&mut inputs)?, next::<D>(&mut inputs)?);
            let result = match formulation {
                Formulation::Fused => spectral_conv(input, weights)?,
                Formulation::Separate => separate_spectral_conv(input, weights, &kept, &points)?,
            };
            Ok(vec![result.into()])
        })
    }
}

fn signal_and_window<const D: usize>(inputs: Vec<AnyTensor>) -> Result<(Tensor<D>, Tensor<1>), RoutineError> {
    let mut inputs = inputs.into_iter();
    Ok((next::<D>(&mut inputs)?, next::<1>(&mut inputs)?))
}

/// The factors of bins: 2 for those that stand for a negative frequency too.
fn one_sided(n: usize, kind: &TensorKind) -> Tensor<1> {
    let factor = |bin: usize| if bin > 0 && 2 * bin < n { 2.0 } else { 1.0 };
    constant(kind, (0..=n / 2).map(factor).collect(), [n / 2 + 1])
}

fn separate_spectral_conv<const D: usize>(
    input: Tensor<D>,
    weights: ComplexTensor<D>,
    kept: &[usize],
    points: &[usize],
) -> Result<Tensor<D>, RoutineError> {
    let dims: Vec<usize> = (2..D).collect();
    let [batch, channels] = [input.dims()[0], input.dims()[1]];
    // Keep the modes of the spectrum, and make the product per mode one batch of matrix products.
    let mut spectrum = rfftn_with(input, None, &dims, Norm::Backward)?;
    for (at, &modes) in kept.iter().enumerate() {
        spectrum = spectrum.map(|part| lowest(part, at + 2, modes, at + 1 == kept.len()));
    }
    let modes = kept.iter().product::<usize>();
    let by_mode = |part: Tensor<D>, rows: usize| part.reshape([rows, channels, modes]).permute([2, 0, 1]);
    let weights = weights.map(|part| by_mode(part, channels));
    let product = spectrum.map(|part| by_mode(part, batch)).matmul(weights);
    // Back among zeros, and back to samples.
    let shape: [usize; D] = std::array::from_fn(|dim| match dim {
        0 => batch,
        1 => channels,
        _ => kept[dim - 2],
    });
    let mut spectrum = product.map(|part| part.permute([1, 2, 0]).reshape(shape));
    for (at, &n) in points.iter().enumerate() {
        let is_last = at + 1 == points.len();
        spectrum = spectrum.map(|part| among_zeros(part, at + 2, if is_last { n / 2 + 1 } else { n }, is_last));
    }
    Ok(irfftn_with(spectrum, Some(points), &dims, Norm::Backward)?)
}

/// The lowest `modes` frequencies along `dim`: of a half spectrum the first ones, else half of them from either end.
fn lowest<const D: usize>(part: Tensor<D>, dim: usize, modes: usize, is_half: bool) -> Tensor<D> {
    let (n, first) = (part.dims()[dim], if is_half { modes } else { modes.div_ceil(2) });
    if first == modes {
        return part.narrow(dim, 0, modes);
    }
    Tensor::cat(vec![part.clone().narrow(dim, 0, first), part.narrow(dim, n - (modes - first), modes - first)], dim)
}

/// The inverse of [`lowest`]: `n` values along `dim`, zeros at the others.
fn among_zeros<const D: usize>(part: Tensor<D>, dim: usize, n: usize, is_half: bool) -> Tensor<D> {
    let mut dims = part.dims();
    let modes = dims[dim];
    if modes == n {
        return part;
    }
    dims[dim] = n - modes;
    let zeros = Tensor::zeros(dims, (&part.device(), part.dtype()));
    let first = if is_half { modes } else { modes.div_ceil(2) };
    if first == modes {
        return Tensor::cat(vec![part, zeros], dim);
    }
    let last = part.clone().narrow(dim, first, modes - first);
    Tensor::cat(vec![part.narrow(dim, 0, first), zeros, last], dim)
}
