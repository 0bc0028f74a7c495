//! Parameters of a Welch estimate: segment length, hop, number of segments, scaling and detrending.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::band::Band;
use crate::error::{ArgumentError, ensure};
use crate::open_blocks;

/// The shortest butterfly transform, and so the shortest segment of learned estimates, in samples.
pub const MIN_N_FFT: usize = 8;
/// The longest butterfly transform, and so the longest segment of learned estimates, in samples.
pub const MAX_N_FFT: usize = 65_536;

/// Scaling of one-sided power.
///
/// `Spectrum` and `Density` are those of `scipy.signal.welch`; `Power` is |X|² of the unnormalised transform.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{Scaling, WelchOptions, welch_psd};
///
/// // A cosine of amplitude 2, whose power is 2, at bin 2 of 8.
/// let device = Device::flex();
/// let signal = Tensor::<1>::from_floats([2.0, 0.0, -2.0, 0.0, 2.0, 0.0, -2.0, 0.0], &device);
/// let bin = |scaling| {
///     let options = WelchOptions::new(8, 1).with_scaling(scaling);
///     let power = welch_psd(signal.clone(), Tensor::ones([8], &device), &options)?;
///     Ok::<f32, firefly_ops::ArgumentError>(power.narrow(0, 2, 1).into_scalar())
/// };
/// assert_eq!((bin(Scaling::Power)?, bin(Scaling::Spectrum)?), (128.0, 2.0));
/// assert_eq!(bin(Scaling::Density { sample_rate: 4.0 })?, 4.0); // over a bin of half a hertz
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scaling {
    /// |X|², unscaled.
    #[default]
    Power,
    /// |X|² / (Σ window)²: the power of a sinusoid at its bin, in the signal's unit squared.
    Spectrum,
    /// |X|² / (sample_rate · Σ window²): power spectral density, in the signal's unit squared per hertz.
    Density {
        /// Samples per second, in hertz.
        sample_rate: f64,
    },
}

impl std::fmt::Display for Scaling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Power => f.write_str("power"),
            Self::Spectrum => f.write_str("spectrum"),
            Self::Density { sample_rate } => write!(f, "density at {sample_rate} Hz"),
        }
    }
}

/// Trend that is subtracted from each segment before it is windowed.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::{Detrend, WelchOptions, welch_psd};
///
/// // A constant is its mean.
/// let device = Device::flex();
/// let options = WelchOptions::new(8, 1).with_detrend(Detrend::Constant);
/// let power = welch_psd(Tensor::<1>::ones([8], &device), Tensor::ones([8], &device), &options)?;
/// assert_eq!(power.max().into_scalar::<f32>(), 0.0);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detrend {
    /// Nothing.
    #[default]
    None,
    /// The segment's mean.
    Constant,
}

impl std::fmt::Display for Detrend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Constant => "constant",
        })
    }
}

/// A Welch estimate: `segments` segments of `n_fft` samples, `hop` samples apart, from the start of a frame.
///
/// Samples of a frame past the last segment are not used.
///
/// ```
/// use firefly_ops::{Detrend, Scaling, WelchOptions};
///
/// let options = WelchOptions::new(256, 8)
///     .with_scaling(Scaling::Density { sample_rate: 12_000.0 })
///     .with_detrend(Detrend::Constant);
/// assert_eq!((options.hop, options.bins(), options.frame()), (128, 129, 256 + 7 * 128));
/// assert_eq!(options.with_hop(256).frame(), 8 * 256);
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WelchOptions {
    /// Samples in a segment, at least 1; for learned estimates a power of two from [`MIN_N_FFT`] to [`MAX_N_FFT`].
    pub n_fft: usize,
    /// Samples from one segment's start to the next; at least 1.
    pub hop: usize,
    /// Segments whose power is averaged; at least 1.
    pub segments: usize,
    /// Scaling of power.
    pub scaling: Scaling,
    /// Trend that is subtracted from each segment before it is windowed.
    pub detrend: Detrend,
    /// Bins among which peaks are searched; all if `None`. Operations that return the power of every bin ignore it.
    #[serde(default)]
    pub band: Option<Band>,
    /// Number of times that neighbouring samples are added up in pairs first: the estimate is that of the sums of
    /// 2^halvings samples each, which the other lengths count. At most [`MAX_HALVINGS`].
    #[serde(default)]
    pub halvings: usize,
    /// Whether a learned estimate leaves closed [blocks](Self::blocks) of bins out of the search for peaks: those whose gain
    /// is 0 throughout. All are searched where the others have fewer bins than there are peaks.
    #[serde(default)]
    pub skip_closed_blocks: bool,
}

/// Most [halvings](WelchOptions::halvings) of an estimate.
pub const MAX_HALVINGS: usize = 3;

impl WelchOptions {
    /// An estimate from `segments` half-overlapping segments, scaling `power`, no detrending.
    pub const fn new(n_fft: usize, segments: usize) -> Self {
        let hop = if n_fft < 2 { 1 } else { n_fft / 2 };
        Self {
            n_fft,
            hop,
            segments,
            scaling: Scaling::Power,
            detrend: Detrend::None,
            band: None,
            halvings: 0,
            skip_closed_blocks: false,
        }
    }

    /// The same estimate with segments `hop` samples apart.
    pub const fn with_hop(self, hop: usize) -> Self {
        Self { hop, ..self }
    }

    /// The same estimate from another number of segments.
    pub const fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// The same estimate with another scaling.
    pub const fn with_scaling(self, scaling: Scaling) -> Self {
        Self { scaling, ..self }
    }

    /// The same estimate with another detrending.
    pub const fn with_detrend(self, detrend: Detrend) -> Self {
        Self { detrend, ..self }
    }

    /// The same estimate with peaks searched in some of the bins: `Some(first..end)`, or all with `None`.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::{Band, WelchOptions, welch_peaks};
    ///
    /// // A constant with a weak tone at bin 2 of 8: without DC and its neighbour the tone is the strongest.
    /// let device = Device::flex();
    /// let signal = Tensor::<1>::from_floats([6.0, 5.0, 4.0, 5.0, 6.0, 5.0, 4.0, 5.0], &device);
    /// let strongest = |options: &WelchOptions| {
    ///     let peaks = welch_peaks(signal.clone(), Tensor::ones([8], &device), options, 1)?;
    ///     Ok::<i64, firefly_ops::ArgumentError>(peaks.bins.into_scalar())
    /// };
    /// let all = WelchOptions::new(8, 1);
    /// assert_eq!((strongest(&all)?, strongest(&all.with_band(Some(Band::new(2..5))))?), (0, 2));
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    pub const fn with_band(self, band: Option<Band>) -> Self {
        Self { band, ..self }
    }

    /// The same estimate of sums of 2^`halvings` neighbouring samples. A segment of `n` samples then is one of
    /// `n >> halvings` sums: its transform takes a part of the time, and has the bins below a part of the spectrum. A sum
    /// passes frequency f, in cycles per sample, with the factor `sin(2^halvings π f) / sin(π f)`, and what is above the last
    /// bin is mirrored to below it. Lengths count sums, and so does the sample rate of a density.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_ops::{WelchOptions, welch_peaks};
    ///
    /// // A slow tone has the same bin in a segment of 64 samples and in one of 32 pairs.
    /// let device = Device::flex();
    /// let tone: Vec<f32> = (0..64).map(|i| (std::f32::consts::TAU * 5.0 * i as f32 / 64.0).sin()).collect();
    /// let signal = Tensor::<1>::from_floats(tone.as_slice(), &device);
    /// for options in [WelchOptions::new(64, 1), WelchOptions::new(32, 1).with_halvings(1)] {
    ///     let peaks = welch_peaks(signal.clone(), Tensor::ones([options.n_fft], &device), &options, 1)?;
    ///     assert_eq!((options.frame(), peaks.bins.into_scalar::<i64>()), (64, 5));
    /// }
    /// # Ok::<(), firefly_ops::ArgumentError>(())
    /// ```
    pub const fn with_halvings(self, halvings: usize) -> Self {
        Self { halvings, ..self }
    }

    /// The same estimate, whose search leaves closed blocks of bins out or not.
    pub const fn with_skip_closed_blocks(self, skip_closed_blocks: bool) -> Self {
        Self { skip_closed_blocks, ..self }
    }

    /// The bins among which peaks are searched: those of the band, or all.
    pub const fn searched(&self) -> Range<usize> {
        match self.band {
            Some(Band { first, end }) => first..end,
            None => 0..self.bins(),
        }
    }

    /// Bins of a block: 16, or the least power of two with which the bins that are searched have no more than 128 blocks.
    /// Blocks are what a learned estimate may leave out of the search: see [`LearnedParameters`](crate::LearnedParameters).
    pub const fn block_len(&self) -> usize {
        open_blocks::block_len(self.searched_len())
    }

    /// Blocks of the bins that are searched, from the first of them on. The last one has the bins behind whole blocks too.
    ///
    /// ```
    /// use firefly_ops::{Band, WelchOptions};
    ///
    /// // Seven blocks of 16 bins, and one of 17.
    /// let options = WelchOptions::new(256, 2);
    /// assert_eq!((options.block_len(), options.blocks()), (16, 8));
    /// assert_eq!(options.with_band(Some(Band::new(8..50))).blocks(), 2);
    /// ```
    pub const fn blocks(&self) -> usize {
        open_blocks::blocks(self.searched_len())
    }

    const fn searched_len(&self) -> usize {
        let Range { start, end } = self.searched();
        end.saturating_sub(start)
    }

    /// Bins of the one-sided spectrum: `n_fft / 2 + 1`.
    pub const fn bins(&self) -> usize {
        self.n_fft / 2 + 1
    }

    /// Samples the segments span: `n_fft + (segments - 1) * hop`, or as many sums.
    pub const fn frame(&self) -> usize {
        let sums = self.n_fft.saturating_add(self.segments.saturating_sub(1).saturating_mul(self.hop));
        sums.saturating_mul(if self.halvings <= MAX_HALVINGS { 1 << self.halvings } else { usize::MAX })
    }

    /// log2 of an `n_fft` that is a power of two: stages of its butterfly transform.
    pub const fn stages(&self) -> usize {
        self.n_fft.trailing_zeros() as usize
    }

    /// Butterflies per frame, each counted once per segment: `segments * log2(n_fft) * n_fft / 2`.
    pub const fn butterflies(&self) -> usize {
        self.segments * self.stages() * self.n_fft / 2
    }

    /// Checks every field; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self, operation: &'static str) -> Result<(), ArgumentError> {
        ensure(self.n_fft >= 1, operation, "n_fft", self.n_fft, "at least 1")?;
        ensure(self.hop >= 1, operation, "hop", self.hop, "at least 1")?;
        ensure(self.segments >= 1, operation, "segments", self.segments, "at least 1")?;
        let spans = (self.segments - 1).checked_mul(self.hop).and_then(|rest| rest.checked_add(self.n_fft));
        let spans = spans.and_then(|sums| sums.checked_mul(1 << MAX_HALVINGS));
        ensure(
            spans.is_some(),
            operation,
            "segments",
            self.segments,
            "few enough for the frame's length to be counted",
        )?;
        let expected = format_args!("at most {MAX_HALVINGS}");
        ensure(self.halvings <= MAX_HALVINGS, operation, "halvings", self.halvings, expected)?;
        if let Scaling::Density { sample_rate } = self.scaling {
            let positive = sample_rate.is_finite() && sample_rate > 0.0;
            ensure(positive, operation, "sample_rate", sample_rate, "a positive number of hertz")?;
        }
        match self.band {
            Some(band) => band.validate(operation, self.bins()),
            None => Ok(()),
        }
    }

    /// Checks the number of peaks that are searched; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`] if `k` is not from 1 to the number of bins, or of those in the band.
    pub fn validate_k(&self, operation: &'static str, k: usize) -> Result<(), ArgumentError> {
        let (searched, of) = (self.searched().len(), if self.band.is_some() { " in the band" } else { "" });
        let expected = format_args!("from 1 to the number of bins{of}, {searched}");
        ensure((1..=searched).contains(&k), operation, "k", k, expected)
    }
}

/// Whether `n` is a length of the butterfly transform: a power of two from [`MIN_N_FFT`] to [`MAX_N_FFT`].
pub(crate) fn has_butterflies(n: usize) -> bool {
    n.is_power_of_two() && (MIN_N_FFT..=MAX_N_FFT).contains(&n)
}

/// Checks that `n` is a length of the butterfly transform: a power of two from [`MIN_N_FFT`] to [`MAX_N_FFT`].
///
/// ```
/// use firefly_ops::options::validate_n_fft;
///
/// assert!(validate_n_fft("my_model", "n_fft", 512).is_ok());
/// let error = validate_n_fft("my_model", "n_fft", 500).unwrap_err();
/// assert_eq!(error.to_string(), "my_model: `n_fft` is 500, but must be a power of two from 8 to 65536");
/// ```
///
/// # Errors
/// [`ArgumentError`] that names `operation` and `argument`.
pub fn validate_n_fft(operation: &'static str, argument: &'static str, n: usize) -> Result<(), ArgumentError> {
    ensure(has_butterflies(n), operation, argument, n, format_args!("a power of two from {MIN_N_FFT} to {MAX_N_FFT}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_follow_from_the_options() {
        let options = WelchOptions::new(256, 8);
        assert_eq!((options.hop, options.bins(), options.frame(), options.stages()), (128, 129, 1152, 8));
        assert_eq!(options.validate("test"), Ok(()));
    }

    #[test]
    fn every_bad_field_is_named() {
        let good = WelchOptions::new(256, 2);
        let named = |options: WelchOptions| options.validate("welch_psd").unwrap_err().argument;
        assert_eq!(named(WelchOptions { n_fft: 0, ..good }), "n_fft");
        assert_eq!(named(WelchOptions { hop: 0, ..good }), "hop");
        assert_eq!(named(WelchOptions { segments: 0, ..good }), "segments");
        assert_eq!(named(WelchOptions { segments: usize::MAX, ..good }), "segments");
        for sample_rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(named(WelchOptions { scaling: Scaling::Density { sample_rate }, ..good }), "sample_rate");
        }
        for (first, end) in [(4, 4), (5, 4), (0, 130), (usize::MAX, usize::MAX)] {
            assert_eq!(named(WelchOptions { band: Some(Band { first, end }), ..good }), "band");
        }
        assert_eq!(named(good.with_halvings(MAX_HALVINGS + 1)), "halvings");
        assert_eq!(good.with_halvings(MAX_HALVINGS).validate("welch_psd"), Ok(()));
        // Before they are validated.
        assert_eq!(good.with_halvings(64).frame(), usize::MAX);
        assert_eq!(good.with_band(Some(Band { first: 50, end: 8 })).blocks(), 1);
        let in_band = good.with_band(Some(Band::new(9..12)));
        assert_eq!((in_band.validate_k("welch_peaks", 3), good.validate_k("welch_peaks", 129)), (Ok(()), Ok(())));
        let error = in_band.validate_k("welch_peaks", 4).unwrap_err().to_string();
        assert_eq!(error, "welch_peaks: `k` is 4, but must be from 1 to the number of bins in the band, 3");
        assert_eq!(good.with_band(Some(Band::new(128..129))).validate("welch_psd"), Ok(()));
    }

    #[test]
    fn any_length_is_taken_and_butterflies_take_powers_of_two() {
        for n_fft in [1, 4, 100, 131_072] {
            assert_eq!(WelchOptions::new(n_fft, 1).with_hop(1).validate("welch_psd"), Ok(()));
            assert_eq!(validate_n_fft("butterfly", "re", n_fft).unwrap_err().argument, "re");
        }
        assert_eq!(
            validate_n_fft("butterfly", "re", 100).unwrap_err().to_string(),
            "butterfly: `re` is 100, but must be a power of two from 8 to 65536"
        );
    }
}
