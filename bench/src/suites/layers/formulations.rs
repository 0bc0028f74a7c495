//! Layers as one operation, from separate ones, and by the definitions of their operations in float64.

use std::sync::OnceLock;

use anyhow::{Result, ensure};
use burn::tensor::{Tensor, TensorData};
use firefly_framework::graph::AnyTensor;
use firefly_ops::fft::{ComplexTensor, irfft, irfftn_with, next_fast_len, rfft, rfft_with, rfftn_with, stft};
use firefly_ops::options::{LogGuard, LogUnit, Logarithm, mel_filters};
use firefly_ops::{
    Norm, PowerSpectrumOptions, StftOptions, WelchOptions, log_mel, long_conv, power_spectrum, spectral_conv, top_k,
    welch_psd,
};
use firefly_reference::fftn::joined;
use firefly_reference::long_conv::LongConvDefinition;
use firefly_reference::mel::{Log, MelDefinition, Padding, Scale};
use firefly_reference::peaks;
use firefly_reference::spectral_conv::SpectralConvDefinition;
use rayon::prelude::*;

use super::{LayerKind, LayerProblem, SAMPLE_RATE};
use crate::harness::{Inputs, floats, widened};
use crate::suites::operation::next;
use crate::suites::peaks::{definition, welch_power};

/// What the logarithm adds to power, a thousandth of that of noise: it bounds the slope at bands that happen to have
/// nearly none, whose gradients would be as inexact as their power.
const OFFSET: f64 = 1e-3;
/// Largest number of products of a definition's sums that are waited for.
const MAX_PRODUCTS: usize = 1 << 29;
/// Products of a term of a spectral convolution, whose factors are computed one by one.
const TERM_PRODUCTS: usize = 32;
/// Difference allowed between a definition and separate operations in float64, relative to the largest value.
const TOLERANCE: f64 = 1e-9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formulation {
    Fused,
    Separate,
}

impl LayerProblem {
    /// The factors that separate operations multiply by, beside a window: mel filters `[1, bands, bins]`, or 2 for bins
    /// that stand for a negative frequency too, `[bins]`.
    fn factors(&self, window: &Tensor<1>) -> AnyTensor {
        let (device, n) = (window.device(), window.dims()[0]);
        let options = (&device, window.dtype());
        if self.kind == LayerKind::LogMel {
            let mel = self.mel_options();
            let filters = mel_filters(n, &mel.bands).unwrap_or_default();
            let shape = [1, filters.len(), mel.stft.bins()];
            return Tensor::<3>::from_data(TensorData::new(filters.concat(), shape), options).into();
        }
        let factor = |bin: usize| if bin > 0 && 2 * bin < n { 2.0 } else { 1.0 };
        let factors: Vec<f64> = (0..=n / 2).map(factor).collect();
        Tensor::<1>::from_data(TensorData::new(factors, [n / 2 + 1]), options).into()
    }

    /// The result; `factors` are made at the first call.
    pub fn apply(&self, form: Formulation, factors: &OnceLock<AnyTensor>, inputs: Vec<AnyTensor>) -> Result<AnyTensor> {
        let (is_fused, operands) = (form == Formulation::Fused, &mut inputs.into_iter());
        let factors = |window: &Tensor<1>| factors.get_or_init(|| self.factors(window)).clone();
        Ok(match self.kind {
            LayerKind::SpectralConv => match self.shape.dims().len() {
                1 => self.spectral_conv::<3>(form, operands)?,
                2 => self.spectral_conv::<4>(form, operands)?,
                _ => self.spectral_conv::<5>(form, operands)?,
            },
            LayerKind::LongConv => {
                let (signal, kernel) = (next::<3>(operands)?, next::<2>(operands)?);
                let gate: Option<Tensor<3>> = operands.next().map(floats).transpose()?;
                if is_fused {
                    return Ok(long_conv(signal, kernel, gate)?.into());
                }
                let (n, points) = (self.n(), next_fast_len(2 * self.n() - 1));
                let spectrum = rfft_with(signal, Some(points), -1, Norm::Backward)?;
                let response = rfft_with(kernel.unsqueeze::<3>(), Some(points), -1, Norm::Backward)?;
                let result = irfft(spectrum * response, points)?.narrow(2, 0, n);
                match gate {
                    Some(gate) => (result * gate).into(),
                    None => result.into(),
                }
            }
            LayerKind::LogMel => {
                let (signal, window, options) = (next::<2>(operands)?, next::<1>(operands)?, self.mel_options());
                if is_fused {
                    let logarithm = Logarithm::new(LogUnit::Natural).with_guard(LogGuard::Offset(OFFSET));
                    let spectra: Tensor<3> = log_mel(signal, window, &options, &logarithm)?;
                    return Ok(spectra.into());
                }
                let filters = floats::<3>(factors(&window))?;
                let spectrum = stft::<2, 3>(signal, Some(window), &options.stft)?;
                filters.matmul(spectrum.abs_squared()).add_scalar(OFFSET).log().into()
            }
            LayerKind::PowerSpectrum => {
                let (signal, window) = (next::<3>(operands)?, next::<1>(operands)?);
                if is_fused {
                    return Ok(power_spectrum(signal, Some(window), &PowerSpectrumOptions::new())?.into());
                }
                let factors = floats::<1>(factors(&window))?;
                (rfft(signal * window.unsqueeze())?.abs_squared() * factors.unsqueeze()).into()
            }
            LayerKind::WelchPsd => {
                let (signal, window) = (next::<2>(operands)?, next::<1>(operands)?);
                if is_fused {
                    return Ok(welch_psd(signal, window, &self.welch_options())?.into());
                }
                let factors = floats::<1>(factors(&window))?;
                let frames = StftOptions::new(self.n_fft).with_hop(self.hop).with_center(false);
                let power = stft::<2, 3>(signal, Some(window), &frames)?.abs_squared();
                let mean: Tensor<2> = power.mean_dim(2).squeeze_dim(2);
                (mean * factors.unsqueeze()).into()
            }
            // The positions of the values are in the gradients.
            LayerKind::TopK if is_fused => top_k(next::<3>(operands)?, self.k)?.power.into(),
            LayerKind::TopK => next::<3>(operands)?.topk_with_indices(self.k, 2).0.into(),
        })
    }

    fn spectral_conv<const D: usize>(
        &self,
        form: Formulation,
        operands: &mut impl Iterator<Item = AnyTensor>,
    ) -> Result<AnyTensor> {
        let (input, re, im) = (next::<D>(operands)?, next::<D>(operands)?, next::<D>(operands)?);
        let weights = ComplexTensor::new(re, im);
        Ok(match form {
            Formulation::Fused => spectral_conv(input, weights)?.into(),
            Formulation::Separate => separate_spectral_conv(input, weights, &self.kept(), self.shape.dims())?.into(),
        })
    }

    /// The result of an input set by the definition; none where its sums take too long.
    pub fn defined(&self, inputs: &Inputs, set: usize) -> Option<Vec<f64>> {
        let values = self.batch.saturating_mul(self.channels).saturating_mul(self.n());
        let products = match self.kind {
            LayerKind::SpectralConv => values.saturating_mul(TERM_PRODUCTS * self.kept().iter().product::<usize>()),
            LayerKind::LongConv => values.saturating_mul(self.n() / 2),
            LayerKind::LogMel | LayerKind::PowerSpectrum | LayerKind::WelchPsd | LayerKind::TopK => 0,
        };
        // Signals shorter than a frame are the operation's to refuse.
        let is_short = !self.kind.sizes().contains(&"n") && self.n_fft > self.samples;
        let items = || (0..self.batch).into_par_iter().flat_map_iter(|item| self.defined_item(inputs, set, item));
        (!is_short && products <= MAX_PRODUCTS).then(|| items().collect())
    }

    /// Checks separate operations in float64 against the definition, where that is not too slow.
    pub fn check_separate(&self, separate: &[f64], inputs: &Inputs) -> Result<()> {
        let Some(defined) = self.defined(inputs, 0) else { return Ok(()) };
        let largest = defined.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let agrees = |(a, b): (&f64, &f64)| (a - b).abs() <= TOLERANCE * largest;
        let agree = defined.len() == separate.len() && defined.iter().zip(separate).all(agrees);
        ensure!(agree, "the separate operations differ from the definition");
        Ok(())
    }

    fn defined_item(&self, inputs: &Inputs, set: usize, item: usize) -> Vec<f64> {
        let signal = &inputs.row(set, item)[0];
        let (n, channels) = (self.n(), self.channels);
        let shared = |at: usize, first: usize, count: usize| widened(&inputs.shared[at][first..][..count]);
        match self.kind {
            LayerKind::SpectralConv => {
                let (points, modes) = (self.shape.dims().to_vec(), self.kept());
                let count = channels * channels * modes.iter().product::<usize>();
                let weights = joined(&[shared(0, 0, count), shared(1, 0, count)]);
                let definition =
                    SpectralConvDefinition { batch: 1, inputs: channels, outputs: channels, points, modes };
                definition.apply(signal, &weights)
            }
            LayerKind::LongConv => {
                let gate = self.gated.then(|| shared(1, item * signal.len(), signal.len()));
                let definition = LongConvDefinition { channels, n, taps: n };
                definition.output(signal, &shared(0, 0, channels * n), gate.as_deref())
            }
            LayerKind::LogMel => {
                let definition = mel_definition([self.n_fft, self.hop, self.mels], SAMPLE_RATE);
                definition.bands(signal, &shared(0, 0, self.n_fft))
            }
            LayerKind::PowerSpectrum => {
                let (window, definition) = (shared(0, 0, n), definition(&WelchOptions::new(n, 1)));
                signal.chunks_exact(n).flat_map(|row| welch_power(row, &window, &definition)).collect()
            }
            LayerKind::WelchPsd => welch_power(signal, &shared(0, 0, self.n_fft), &definition(&self.welch_options())),
            LayerKind::TopK => peaks::top_k(signal, n, self.k).1,
        }
    }
}

/// Mel spectra of all frequencies as layers have them.
pub fn mel_definition([n_fft, hop, bands]: [usize; 3], sample_rate: f64) -> MelDefinition {
    MelDefinition {
        n_fft,
        hop,
        padding: Some(Padding::Reflect),
        normalized: false,
        squared: true,
        sample_rate,
        bands,
        edges: [0.0, sample_rate / 2.0],
        scale: Scale::Slaney,
        equal_area: true,
        log: Some(Log { factor: 1.0, offset: OFFSET, floor: 0.0 }),
    }
}

fn separate_spectral_conv<const D: usize>(
    input: Tensor<D>,
    weights: ComplexTensor<D>,
    kept: &[usize],
    points: &[usize],
) -> Result<Tensor<D>> {
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
