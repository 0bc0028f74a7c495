//! Configuration of a learned model.

use std::ops::RangeInclusive;

use firefly_ops::options::{SegmentSet, validate_n_fft};

use crate::prelude::*;
use crate::welch_peaks::{MAX_MODEL_N_FFT, WelchPeaksConfig};

/// Largest initial logit: a gate with a larger one would never close.
const MAX_LOGIT: f64 = 50.0;
/// Initial gains from a neighbour.
const NEIGHBOUR_GAINS: RangeInclusive<f64> = 1e-6..=1e6;

config! {
    /// Configuration of [`LearnedWelchPeaks`](crate::LearnedWelchPeaks).
    ///
    /// The untrained model is close to the exact estimate over the segments that start open.
    ///
    /// ```
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let config = LearnedWelchPeaksConfig::new().with_segments(8).with_open_segments(Some(vec![0, 4]));
    /// assert_eq!(config.validate(), Ok(()));
    /// assert!(config.with_segments(2).validate().unwrap_err().to_string().contains("`open_segments` is 4"));
    /// ```
    LearnedWelchPeaksConfig;
    /// Samples in a segment: even; with a learned transform a power of two from 8 to 65,536.
    n_fft: usize = 256;
    /// Samples between the starts of consecutive candidate segments; `n_fft / 2` if `None`.
    hop: Option<usize>;
    /// Candidate segments per frame, each with a gate; at most 128.
    segments: usize = 2;
    /// Indices of the candidates that start open; all of them if `None`.
    open_segments: Option<Vec<usize>>;
    /// Peaks per frame: from 1 to the number of bins, `n_fft / 2 + 1` or those of the band.
    k: usize = 16;
    /// Bins among which peaks are searched; all if `None`.
    band: Option<Band>;
    /// Initial shape of the taper.
    window: Window = "Window::Hann";
    /// Period of that shape: `n_fft` samples (periodic) or `n_fft − 1` (symmetric).
    symmetry: WindowSymmetry = "WindowSymmetry::Periodic";
    /// Scaling of power.
    scaling: Scaling = "Scaling::Power";
    /// Trend removed from each segment.
    detrend: Detrend = "Detrend::None";
    /// Initial logit of an open gate, above 0 and at most 50; a closed segment starts at its negative. The larger it
    /// is, the more steps a price takes to close a gate.
    open_logit: f64 = 3.0;
    /// Initial gain from each neighbour's power relative to that of the bin itself, from 1e-6 to 1e6; 0.018 if `None`.
    neighbour_gain: Option<f64>;
    /// Initial weight of the products with both neighbours, from −1 to 1, if bins take them; they take power alone if
    /// `None`. The initial gains of a bin then add up to 1, which leaves the power of white noise as it is (except with
    /// the scaling `Spectrum`, whose unit is that of sinusoids). With −1 and a rectangular window, power is the mean power
    /// of two windows: see [`universal`](Self::universal).
    product_weight: Option<f64>;
    /// Number of gains, each for as many neighbouring bins: from 1, for all bins, to one per bin; one per bin if
    /// `None`. The more bins share a gain, the fewer frames it takes to learn it.
    gains: Option<usize>;
    /// Whether twiddles and gates of butterflies are parameters too, in place of the exact transform.
    learned_transform: bool = false;
}

impl LearnedWelchPeaksConfig {
    /// An estimate of two segments for signals of any kind, which needs no training. In the mean over nine families of
    /// signals, it finds 3 to 5 of 100 peaks of eight segments more than two segments with a Hann window do.
    ///
    /// The third and the sixth of eight segments that overlap by half are transformed without a window. The power of a
    /// bin is the mean power of two windows, 1 − 0.775 exp(±2πi j/n_fft), each of which takes two bins:
    /// `½ |Y[k] − 0.775 Y[k−1]|² + ½ |Y[k] − 0.775 Y[k+1]|²`, over 1.6, by which white noise gains.
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use firefly_models::LearnedWelchPeaksConfig;
    ///
    /// let device = Device::flex();
    /// let model = LearnedWelchPeaksConfig::universal(64).with_k(4).init(&device);
    /// let frames = Tensor::<2>::random([8, model.options().frame()], Distribution::Default, &device);
    /// assert_eq!(model.forward(frames, &model.hard_gates()).bins.dims(), [8, 4]);
    /// ```
    pub fn universal(n_fft: usize) -> Self {
        Self::new()
            .with_n_fft(n_fft)
            .with_segments(8)
            .with_open_segments(Some(vec![2, 5]))
            .with_window(Window::Rectangular)
            .with_neighbour_gain(Some(0.3))
            .with_product_weight(Some(-1.0))
            .with_gains(Some(1))
    }

    /// [`universal`](Self::universal) in place of an exact estimate: with the length of its segments, their hop, its
    /// scaling and detrending, as many peaks, and its band. The segments of `exact`, their placement and average and
    /// its window have no effect.
    pub fn universal_for(exact: &WelchPeaksConfig) -> Self {
        Self::universal(exact.n_fft)
            .with_hop(exact.hop)
            .with_k(exact.k)
            .with_band(exact.band)
            .with_scaling(exact.scaling)
            .with_detrend(exact.detrend)
    }

    /// Options of the Welch estimate over all candidate segments.
    pub fn options(&self) -> WelchOptions {
        WelchOptions::new(self.n_fft, self.segments)
            .with_hop(self.hop.unwrap_or(self.n_fft / 2))
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_band(self.band)
    }

    pub(super) fn check_fields(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "LearnedWelchPeaksConfig";
        let options = self.options();
        options.validate(NAME)?;
        if self.learned_transform {
            validate_n_fft(NAME, "n_fft", self.n_fft).map_err(|error| {
                let expected = format!("{} with learned_transform", error.expected);
                ArgumentError::new(NAME, "n_fft", self.n_fft, expected)
            })?;
        } else {
            let is_length = (4..=MAX_MODEL_N_FFT).contains(&self.n_fft) && self.n_fft.is_multiple_of(2);
            ensure(is_length, NAME, "n_fft", self.n_fft, format_args!("even, and from 4 to {MAX_MODEL_N_FFT}"))?;
        }
        self.window.validate(NAME, self.n_fft)?;
        options.validate_k(NAME, self.k)?;
        if let Some(open) = &self.open_segments {
            ensure(!open.is_empty(), NAME, "open_segments", "empty", "at least one segment")?;
            for (index, segment) in open.iter().enumerate() {
                let got = format!("{segment} again at index {index}");
                ensure(!open[..index].contains(segment), NAME, "open_segments", got, "each candidate once")?;
            }
            for segment in open {
                let expected = format!("candidates below {}", self.segments);
                ensure(*segment < self.segments, NAME, "open_segments", segment, expected)?;
            }
        }
        ensure_most(NAME, "segments", self.segments, SegmentSet::MAX_SEGMENTS)?;
        let bins = options.bins();
        if let Some(gains) = self.gains {
            let expected = format!("from 1 to the number of bins, {bins}");
            ensure((1..=bins).contains(&gains), NAME, "gains", gains, expected)?;
        }
        if let Some(gain) = self.neighbour_gain {
            let expected = format!("from {:e} to {:e}", NEIGHBOUR_GAINS.start(), NEIGHBOUR_GAINS.end());
            ensure(NEIGHBOUR_GAINS.contains(&gain), NAME, "neighbour_gain", gain, expected)?;
        }
        if let Some(weight) = self.product_weight {
            ensure((-1.0..=1.0).contains(&weight), NAME, "product_weight", weight, "from -1 to 1")?;
        }
        let is_logit = self.open_logit > 0.0 && self.open_logit <= MAX_LOGIT;
        ensure(is_logit, NAME, "open_logit", self.open_logit, format_args!("above 0 and at most {MAX_LOGIT}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_out_of_range_are_named() {
        let message = |config: LearnedWelchPeaksConfig| config.validate().unwrap_err().to_string();
        let good = LearnedWelchPeaksConfig::new();
        assert_eq!(good.validate(), Ok(()));
        assert!(message(good.clone().with_n_fft(101)).contains("`n_fft` is 101"));
        assert!(message(good.clone().with_n_fft(1 << 40)).contains("from 4 to 16777216"));
        assert_eq!(good.clone().with_n_fft(100).validate(), Ok(()));
        assert!(message(good.clone().with_n_fft(100).with_learned_transform(true)).contains("with learned_transform"));
        assert!(message(good.clone().with_k(130)).contains("`k` is 130"));
        assert!(message(good.clone().with_segments(0)).contains("`segments` is 0"));
        assert!(message(good.clone().with_open_segments(Some(vec![2]))).contains("`open_segments` is 2"));
        assert!(message(good.clone().with_open_segments(Some(vec![]))).contains("at least one"));
        assert!(message(good.clone().with_open_segments(Some(vec![1, 1]))).contains("each candidate once"));
        assert!(message(good.clone().with_segments(100_000).with_hop(Some(1))).contains("at most 128"));
        assert!(message(good.clone().with_gains(Some(0))).contains("`gains` is 0"));
        assert!(message(good.clone().with_gains(Some(130))).contains("from 1 to the number of bins, 129"));
        assert!(message(good.clone().with_neighbour_gain(Some(0.0))).contains("`neighbour_gain` is 0"));
        assert!(message(good.clone().with_neighbour_gain(Some(f64::NAN))).contains("`neighbour_gain` is NaN"));
        assert!(message(good.clone().with_product_weight(Some(-1.1))).contains("`product_weight` is -1.1"));
        assert!(message(good.clone().with_product_weight(Some(f64::NAN))).contains("from -1 to 1"));
        assert!(message(good.clone().with_open_logit(1e39)).contains("`open_logit`"));
        assert!(message(good.clone().with_open_logit(f64::NAN)).contains("`open_logit`"));
        assert!(message(good.with_hop(Some(0))).contains("`hop` is 0"));
    }
}
