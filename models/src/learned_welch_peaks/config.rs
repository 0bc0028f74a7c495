//! Configuration of a learned model.

use std::ops::RangeInclusive;

use burn::config::Config;
use firefly_ops::options::{MAX_HALVINGS, MIN_N_FFT};
use firefly_ops::{ArgumentError, Band, Detrend, Scaling, WelchOptions, Window, WindowSymmetry};

use crate::welch_peaks::{WelchPeaksConfig, validate};

/// Largest number of candidate segments.
const MAX_SEGMENTS: usize = 65_536;
/// Largest initial logit: a gate with a larger one would never close.
const MAX_LOGIT: f64 = 50.0;
/// Initial gains from a neighbour.
const NEIGHBOUR_GAINS: RangeInclusive<f64> = 1e-6..=1e6;

/// Configuration of [`LearnedWelchPeaks`](crate::LearnedWelchPeaks).
///
/// The untrained model is close to the exact estimate over the segments that start open.
///
/// ```
/// use firefly_models::LearnedWelchPeaksConfig;
///
/// let config = LearnedWelchPeaksConfig::new().with_n_fft(256).with_segments(8).with_open_segments(Some(vec![0, 4]));
/// assert_eq!(config.validate(), Ok(()));
/// assert!(config.with_segments(2).validate().unwrap_err().to_string().contains("`open_segments` is 4"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct LearnedWelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples between the starts of consecutive candidate segments; `n_fft / 2` if `None`.
    pub hop: Option<usize>,
    /// Candidate segments per frame, each with a gate.
    #[config(default = 2)]
    pub segments: usize,
    /// Indices of the candidates that start open; all of them if `None`.
    pub open_segments: Option<Vec<usize>>,
    /// Peaks per frame: from 1 to the number of bins, `n_fft / 2 + 1` or those of the band.
    #[config(default = 16)]
    pub k: usize,
    /// Bins among which peaks are searched; all if `None`.
    pub band: Option<Band>,
    /// Initial shape of the taper.
    #[config(default = "Window::Hann")]
    pub window: Window,
    /// Period of that shape: `n_fft` samples (periodic) or `n_fft − 1` (symmetric).
    #[config(default = "WindowSymmetry::Periodic")]
    pub symmetry: WindowSymmetry,
    /// Scaling of power.
    #[config(default = "Scaling::Power")]
    pub scaling: Scaling,
    /// Trend removed from each segment.
    #[config(default = "Detrend::None")]
    pub detrend: Detrend,
    /// Initial logit of an open gate, above 0 and at most 50; a closed segment starts at its negative. The larger it
    /// is, the more steps a price on butterflies takes to close a gate.
    #[config(default = 3.0)]
    pub open_logit: f64,
    /// Initial gain from each neighbour's power relative to that of the bin itself, from 1e-6 to 1e6; 0.018 if `None`.
    pub neighbour_gain: Option<f64>,
    /// Initial weight of the products with both neighbours, from −1 to 1, if bins take them; they take power alone if
    /// `None`. The initial gains of a bin then add up to 1, which leaves the power of white noise as it is (except with
    /// the scaling `Spectrum`, whose unit is that of sinusoids). With −1 and a rectangular window, power is the mean power
    /// of two windows: see [`universal`](Self::universal).
    pub product_weight: Option<f64>,
    /// Number of gains, each for as many neighbouring bins: from 1, for all bins, to one per bin; one per bin if
    /// `None`. The more bins share a gain, the fewer frames it takes to learn it.
    pub gains: Option<usize>,
    /// Blocks of bins that start closed, which is left out of the search for peaks, by their indices; every
    /// [block](WelchOptions::blocks) then has a gate. Blocks have no gates, and all are searched, if `None`.
    pub closed_blocks: Option<Vec<usize>>,
    /// Halvings of the transform, from 1 to 3, that a gate decides on, which starts open: 2^halvings neighbouring samples
    /// are added up, and segments of as many fewer sums are transformed, which finds peaks among the lowest bins. There is
    /// no such gate, and samples are transformed as they are, if `None`. See [`WelchOptions::with_halvings`].
    pub halvings: Option<usize>,
}

/// Candidate segments of [`LearnedWelchPeaksConfig::universal`].
const UNIVERSAL_SEGMENTS: usize = 8;
/// Its open segments.
const UNIVERSAL_OPEN: [usize; 2] = [2, 5];
/// Its gain from each neighbour.
const UNIVERSAL_NEIGHBOUR_GAIN: f64 = 0.3;

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
            .with_segments(UNIVERSAL_SEGMENTS)
            .with_open_segments(Some(UNIVERSAL_OPEN.to_vec()))
            .with_window(Window::Rectangular)
            .with_neighbour_gain(Some(UNIVERSAL_NEIGHBOUR_GAIN))
            .with_product_weight(Some(-1.0))
            .with_gains(Some(1))
    }

    /// [`universal`](Self::universal) in place of an exact estimate: with the length of its segments, their hop, its
    /// scaling and detrending, as many peaks, and its band. The tier and the window of `exact` have no effect.
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

    /// Options of the Welch estimate of sums of neighbouring samples, if it may be halved. Its bins have the same
    /// frequencies as those of [`options`](Self::options) with the same numbers.
    pub fn halved_options(&self) -> Option<WelchOptions> {
        let (options, halvings) = (self.options(), self.halvings?);
        let mut halved = options.with_hop(options.hop >> halvings).with_halvings(halvings);
        halved.n_fft >>= halvings;
        let within = |band: Band| Band::new(band.first..band.end.min(halved.bins()));
        Some(halved.with_band(options.band.map(within)))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "LearnedWelchPeaksConfig";
        validate(NAME, &self.options(), self.window, self.k)?;
        if let Some(open) = &self.open_segments {
            if open.is_empty() {
                return Err(ArgumentError::new(NAME, "open_segments", "empty", "at least one segment"));
            }
            if let Some((index, segment)) =
                open.iter().enumerate().find(|(index, segment)| open[..*index].contains(segment))
            {
                let got = format!("{segment} again at index {index}");
                return Err(ArgumentError::new(NAME, "open_segments", got, "each candidate once"));
            }
            if let Some(segment) = open.iter().find(|segment| **segment >= self.segments) {
                let expected = format!("candidates below {}", self.segments);
                return Err(ArgumentError::new(NAME, "open_segments", segment, expected));
            }
        }
        if self.segments > MAX_SEGMENTS {
            let expected = format!("at most {MAX_SEGMENTS}");
            return Err(ArgumentError::new(NAME, "segments", self.segments, expected));
        }
        self.validate_closed_blocks(NAME)?;
        self.validate_halvings(NAME)?;
        let bins = self.options().bins();
        if let Some(gains) = self.gains.filter(|gains| !(1..=bins).contains(gains)) {
            let expected = format!("from 1 to the number of bins, {bins}");
            return Err(ArgumentError::new(NAME, "gains", gains, expected));
        }
        if let Some(gain) = self.neighbour_gain.filter(|gain| !NEIGHBOUR_GAINS.contains(gain)) {
            let expected = format!("from {:e} to {:e}", NEIGHBOUR_GAINS.start(), NEIGHBOUR_GAINS.end());
            return Err(ArgumentError::new(NAME, "neighbour_gain", gain, expected));
        }
        if let Some(weight) = self.product_weight.filter(|weight| !(-1.0..=1.0).contains(weight)) {
            return Err(ArgumentError::new(NAME, "product_weight", weight, "from -1 to 1"));
        }
        if !(self.open_logit > 0.0 && self.open_logit <= MAX_LOGIT) {
            let expected = format!("above 0 and at most {MAX_LOGIT}");
            return Err(ArgumentError::new(NAME, "open_logit", self.open_logit, expected));
        }
        Ok(())
    }

    fn validate_closed_blocks(&self, name: &'static str) -> Result<(), ArgumentError> {
        let (Some(closed), options) = (&self.closed_blocks, self.options()) else { return Ok(()) };
        let blocks = options.blocks();
        let wrong = |got: String, expected: String| Err(ArgumentError::new(name, "closed_blocks", got, expected));
        if let Some(block) = closed.iter().find(|block| **block >= blocks) {
            return wrong(block.to_string(), format!("blocks below {blocks}"));
        }
        if let Some((index, block)) = closed.iter().enumerate().find(|(index, block)| closed[..*index].contains(block))
        {
            return wrong(format!("{block} again at index {index}"), "each block once".into());
        }
        Ok(())
    }

    fn validate_halvings(&self, name: &'static str) -> Result<(), ArgumentError> {
        let Some(halvings) = self.halvings else { return Ok(()) };
        let wrong = |expected: String| Err(ArgumentError::new(name, "halvings", halvings, expected));
        if !(1..=MAX_HALVINGS).contains(&halvings) || self.n_fft >> halvings < MIN_N_FFT {
            return wrong(format!("from 1 to {MAX_HALVINGS}, with {MIN_N_FFT} or more sums in a segment"));
        }
        if !self.options().hop.is_multiple_of(1 << halvings) {
            return wrong(format!("so few that they divide the hop, {}, evenly", self.options().hop));
        }
        let Some(halved) = self.halved_options() else { return Ok(()) };
        if self.closed_blocks.is_some() && halved.block_len() != self.options().block_len() {
            return wrong(
                "given without `closed_blocks`, whose blocks would have other bins in the halved transform".into(),
            );
        }
        if halved.searched().len() < self.k {
            return wrong(format!("so few that {} bins are left to search, not {:?}", self.k, halved.searched()));
        }
        Ok(())
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
        assert!(message(good.clone().with_n_fft(100)).contains("`n_fft` is 100"));
        assert!(message(good.clone().with_k(130)).contains("`k` is 130"));
        assert!(message(good.clone().with_segments(0)).contains("`segments` is 0"));
        assert!(message(good.clone().with_open_segments(Some(vec![2]))).contains("`open_segments` is 2"));
        assert!(message(good.clone().with_open_segments(Some(vec![]))).contains("at least one"));
        assert!(message(good.clone().with_open_segments(Some(vec![1, 1]))).contains("each candidate once"));
        assert!(message(good.clone().with_segments(100_000).with_hop(Some(1))).contains("at most 65536"));
        assert!(message(good.clone().with_gains(Some(0))).contains("`gains` is 0"));
        assert!(message(good.clone().with_gains(Some(130))).contains("from 1 to the number of bins, 129"));
        assert!(message(good.clone().with_neighbour_gain(Some(0.0))).contains("`neighbour_gain` is 0"));
        assert!(message(good.clone().with_neighbour_gain(Some(f64::NAN))).contains("`neighbour_gain` is NaN"));
        assert!(message(good.clone().with_product_weight(Some(-1.1))).contains("`product_weight` is -1.1"));
        assert!(message(good.clone().with_product_weight(Some(f64::NAN))).contains("from -1 to 1"));
        let closed = |blocks: &[usize]| good.clone().with_closed_blocks(Some(blocks.to_vec()));
        assert_eq!(closed(&[1, 7]).validate(), Ok(()));
        assert!(message(closed(&[8])).contains("`closed_blocks` is 8, but must be blocks below 8"));
        assert!(message(closed(&[1, 1])).contains("each block once"));
        // As many as have the peaks stay open.
        assert_eq!(closed(&[0, 1, 2, 3, 4, 5, 6, 7]).validate(), Ok(()));
        let halved = |halvings| good.clone().with_halvings(Some(halvings));
        assert_eq!(halved(3).validate(), Ok(()));
        assert!(message(halved(0)).contains("`halvings` is 0") && message(halved(4)).contains("`halvings` is 4"));
        assert!(message(halved(1).with_hop(Some(33))).contains("divide the hop, 33"));
        let long = halved(1).with_n_fft(8192);
        assert_eq!(long.validate(), Ok(()));
        assert!(message(long.with_closed_blocks(Some(vec![]))).contains("without `closed_blocks`"));
        assert!(message(halved(2).with_k(34)).contains("34 bins are left to search"));
        assert!(message(halved(1).with_band(Some(Band::new(60..129)))).contains("16 bins are left to search"));
        assert!(message(good.clone().with_open_logit(1e39)).contains("`open_logit`"));
        assert!(message(good.clone().with_open_logit(f64::NAN)).contains("`open_logit`"));
        assert!(message(good.with_hop(Some(0))).contains("`hop` is 0"));
    }
}
