//! Estimate of a learned model with fixed gates: what a call takes, computed once.

use burn::tensor::Tensor;
use firefly_ops::{ArgumentError, Band, Peaks, WelchOptions, WelchWeights, welch_peaks, welch_psd};

use super::transform::{Butterflies, power_by_butterflies, segments_of_rows};
use crate::ensure;
use crate::welch_peaks::strongest;

/// Estimate of a [`LearnedWelchPeaks`](crate::LearnedWelchPeaks) with gates that it was given. A model computes these
/// tensors in each call, which takes a dozen small operations; here they are computed once.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::LearnedWelchPeaksConfig;
///
/// let device = Device::flex();
/// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).with_k(4).init(&device);
/// let estimate = model.estimate(&model.hard_gates());
/// for frames in [1, 7] {
///     let signal = Tensor::<2>::ones([frames, 96], &device);
///     assert_eq!(estimate.try_forward(signal)?.bins.dims(), [frames, 4]);
/// }
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LearnedEstimate {
    pub(super) weights: WelchWeights,
    /// Weight of each segment, `[segments]`, where the options do not choose those that are averaged.
    pub(super) segment_weights: Option<Tensor<1>>,
    /// Butterflies, where the transform is learned.
    pub(super) butterflies: Option<Butterflies>,
    pub(super) options: WelchOptions,
    pub(super) k: usize,
}

impl LearnedEstimate {
    /// The same estimate with peaks searched in another band.
    pub fn with_band(self, band: Option<Band>) -> Self {
        Self { options: self.options.with_band(band), ..self }
    }

    /// Options of the Welch estimate: with the segments that hard gates leave open, or all.
    pub fn options(&self) -> &WelchOptions {
        &self.options
    }

    /// Window and gain.
    pub fn weights(&self) -> &WelchWeights {
        &self.weights
    }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] for frames that are too short, or on another device.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Peaks<D>, ArgumentError> {
        if self.segment_weights.is_none() {
            return welch_peaks(signal, self.weights.clone(), &self.options, self.k);
        }
        strongest(self.try_psd(signal)?, self.options.band, self.k)
    }

    /// Power of every bin of each frame of `signal` `[.., frame]`: `[.., bins]`.
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        let Some(segment_weights) = &self.segment_weights else {
            return welch_psd(signal, self.weights.clone(), &self.options);
        };
        let (mut shape, frame) = (signal.dims(), signal.dims()[D - 1]);
        let (got, expected) = (format!("{frame} samples per row"), format!("at least {}", self.options.frame()));
        ensure(frame >= self.options.frame(), "LearnedWelchPeaks", "signal", got, expected)?;
        shape[D - 1] = self.options.bins();
        let rows: Tensor<2> = signal.reshape([shape[..D - 1].iter().product(), frame]);
        let power = match &self.butterflies {
            Some(butterflies) => {
                power_by_butterflies(rows, &self.weights, segment_weights, butterflies, &self.options)?
            }
            // A gain is linear, and so may be applied to each segment.
            None => {
                let segments = segments_of_rows(rows, &self.options);
                let power = welch_psd(segments, self.weights.clone(), &self.options.with_segments(1))?;
                let weights = segment_weights.clone().reshape([1, self.options.segments, 1]);
                (power * weights).sum_dim(1).squeeze_dim::<2>(1)
            }
        };
        Ok(power.reshape(shape))
    }
}
