//! Parameters of a Welch estimate: segment length, hop, number of segments, scaling, detrending, and the bins that are
//! searched.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::segments::{SegmentPlacement, SegmentSet};
use crate::error::{Result, ensure};

/// The shortest butterfly transform, in values.
pub const MIN_N_FFT: usize = 8;
/// The longest butterfly transform, in values.
pub const MAX_N_FFT: usize = 65_536;
/// The longest row that [`top_k`](crate::top_k) and [`local_maxima`](crate::local_maxima()) accept, in values.
pub const MAX_TOP_K_LENGTH: usize = 1 << 20;

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
///     let power = welch_psd(signal.clone(), Tensor::<1>::ones([8], &device), &options)?;
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
/// let power = welch_psd(Tensor::<1>::ones([8], &device), Tensor::<1>::ones([8], &device), &options)?;
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
    /// The segment's straight line of least squares, for which segments are copied.
    Linear,
}

impl std::fmt::Display for Detrend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Constant => "constant",
            Self::Linear => "linear",
        })
    }
}

/// Average of the power of segments, as in `scipy.signal.welch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Average {
    /// The mean.
    #[default]
    Mean,
    /// The median, over its bias for the power of noise: B. Allen et al., "FINDCHIRP", Phys. Rev. D 85 (2012), appendix B.
    /// The power of each segment is in memory; a bin of which a segment is not finite is NaN. Not with a gain.
    Median,
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
    /// Samples in a segment, at least 1.
    pub n_fft: usize,
    /// Samples from one segment's start to the next; at least 1.
    pub hop: usize,
    /// Segments of a frame, at least 1, whose power is averaged.
    pub segments: usize,
    /// Scaling of power.
    pub scaling: Scaling,
    /// Trend that is subtracted from each segment before it is windowed.
    pub detrend: Detrend,
    /// Bins among which peaks are searched; all if `None`. Of complex signals they are counted by rising frequency, from
    /// −n_fft / 2 on. Operations that return the power of every bin ignore it.
    #[serde(default)]
    pub band: Option<Band>,
    /// Segments whose power is averaged, by their indices; all if `None`. Samples of the others are not read.
    #[serde(default)]
    pub chosen: Option<SegmentSet>,
    /// Average of the power of segments.
    #[serde(default)]
    pub average: Average,
}

impl WelchOptions {
    /// An estimate from `segments` half-overlapping segments, scaling `power`, no detrending.
    pub const fn new(n_fft: usize, segments: usize) -> Self {
        let hop = if n_fft < 2 { 1 } else { n_fft / 2 };
        let (scaling, detrend, average) = (Scaling::Power, Detrend::None, Average::Mean);
        Self { n_fft, hop, segments, scaling, detrend, band: None, chosen: None, average }
    }

    with_fields! {
        /// The same estimate with segments `hop` samples apart.
        with_hop(hop: usize);
        /// The same estimate from another number of segments.
        with_segments(segments: usize);
        /// The same estimate from some of its segments, or from all with `None`.
        ///
        /// ```
        /// use burn::tensor::{Device, Tensor};
        /// use firefly_ops::options::SegmentSet;
        /// use firefly_ops::{WelchOptions, welch_psd};
        ///
        /// // Of three segments of four samples, the first and the last.
        /// let device = Device::flex();
        /// let signal = Tensor::<2>::from_floats([[1.0; 4], [9.0; 4], [3.0; 4]], &device).flatten::<1>(0, 1);
        /// let options = WelchOptions::new(4, 3).with_hop(4).with_chosen(Some(SegmentSet::new([0, 2])?));
        /// let power = welch_psd(signal, Tensor::<1>::ones([4], &device), &options)?;
        /// assert_eq!(power.into_data().iter::<f32>().next(), Some((16.0 + 144.0) / 2.0));
        /// # Ok::<(), firefly_ops::ArgumentError>(())
        /// ```
        with_chosen(chosen: Option<SegmentSet>);
        /// The same estimate with another scaling.
        with_scaling(scaling: Scaling);
        /// The same estimate with another detrending.
        with_detrend(detrend: Detrend);
        /// The same estimate with another average of segments.
        with_average(average: Average);
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
        ///     let peaks = welch_peaks(signal.clone(), Tensor::<1>::ones([8], &device), options, 1)?;
        ///     Ok::<i64, firefly_ops::ArgumentError>(peaks.bins.into_scalar())
        /// };
        /// let all = WelchOptions::new(8, 1);
        /// assert_eq!((strongest(&all)?, strongest(&all.with_band(Some(Band::new(2..5))))?), (0, 2));
        /// # Ok::<(), firefly_ops::ArgumentError>(())
        /// ```
        with_band(band: Option<Band>);
    }

    /// The same estimate with its segments placed in a frame, which may have more; adjacent, from its start, with `None`.
    ///
    /// # Errors
    /// [`ArgumentError`](crate::ArgumentError) for a frame of fewer segments or of more than 128, and for another
    /// number of segments than are listed.
    pub fn with_placement(self, placement: Option<SegmentPlacement>) -> Result<Self> {
        placement.map_or(Ok(self.with_chosen(None)), |placement| placement.place(self))
    }

    /// Number of segments whose power is averaged.
    pub const fn averaged(&self) -> usize {
        match self.chosen {
            Some(chosen) => chosen.count(),
            None => self.segments,
        }
    }

    /// Indices of the segments whose power is averaged, ascending.
    pub fn indices(&self) -> Vec<usize> {
        self.chosen.map_or_else(|| (0..self.segments).collect(), Vec::from)
    }

    /// The bins among which peaks are searched: those of the band, or all.
    pub const fn searched(&self) -> Range<usize> {
        match self.band {
            Some(Band { first, end }) => first..end,
            None => 0..self.bins(),
        }
    }

    /// Bins of the one-sided spectrum: `n_fft / 2 + 1`.
    pub const fn bins(&self) -> usize {
        self.n_fft / 2 + 1
    }

    /// Samples the segments span: `n_fft + (segments - 1) * hop`.
    pub const fn frame(&self) -> usize {
        self.n_fft.saturating_add(self.segments.saturating_sub(1).saturating_mul(self.hop))
    }

    /// log2 of `n_fft`, rounded up: stages of a butterfly transform of that length or of the next power of two.
    pub const fn stages(&self) -> usize {
        self.n_fft.next_power_of_two().trailing_zeros() as usize
    }

    /// Butterflies per frame, each counted once per segment that is averaged: `averaged * stages * n_fft / 2`. Of an
    /// `n_fft` that is no power of two, whose transform has other steps, an equivalent.
    pub const fn butterflies(&self) -> usize {
        self.averaged() * self.stages() * self.n_fft / 2
    }

    /// Checks every field; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`](crate::ArgumentError) naming the first field that is out of range.
    pub fn validate(&self, operation: &'static str) -> Result<()> {
        ensure(self.n_fft >= 1, operation, "n_fft", self.n_fft, "at least 1")?;
        ensure(self.hop >= 1, operation, "hop", self.hop, "at least 1")?;
        ensure(self.segments >= 1, operation, "segments", self.segments, "at least 1")?;
        let spans = (self.segments - 1).checked_mul(self.hop).and_then(|rest| rest.checked_add(self.n_fft));
        // A frame that no memory holds: the fault of the greater of the two factors.
        let (argument, factor) = if self.hop > self.segments { ("hop", self.hop) } else { ("segments", self.segments) };
        ensure(spans.is_some(), operation, argument, factor, "small enough for the frame's length to be counted")?;
        if let Scaling::Density { sample_rate } = self.scaling {
            let positive = sample_rate.is_finite() && sample_rate > 0.0;
            ensure(positive, operation, "sample_rate", sample_rate, "a positive number of hertz")?;
        }
        if let Some(chosen) = self.chosen {
            chosen.validate(operation, self.segments)?;
        }
        match self.band {
            Some(band) => band.validate(operation, self.bins()),
            None => Ok(()),
        }
    }

    /// Checks that kernels compute the estimate: the public functions compose the others of it.
    pub(crate) fn validate_for_kernels(&self, operation: &'static str) -> Result<()> {
        ensure(self.detrend != Detrend::Linear, operation, "detrend", self.detrend, "none or constant, of kernels")?;
        self.validate_mean(operation, "mean, of kernels")
    }

    /// Checks that segments are averaged by the mean.
    pub(crate) fn validate_mean(&self, operation: &'static str, expected: &str) -> Result<()> {
        ensure(self.average == Average::Mean, operation, "average", "median", expected)
    }

    /// Checks the number of peaks that are searched; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`](crate::ArgumentError) if `k` is not from 1 to the number of bins, or of those in the band.
    pub fn validate_k(&self, operation: &'static str, k: usize) -> Result<()> {
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
/// [`ArgumentError`](crate::ArgumentError) that names `operation` and `argument`.
pub fn validate_n_fft(operation: &'static str, argument: &'static str, n: usize) -> Result<()> {
    ensure(has_butterflies(n), operation, argument, n, format_args!("a power of two from {MIN_N_FFT} to {MAX_N_FFT}"))
}

/// Factors of a gain on power: of the bin below, of the bin itself and of the bin above.
pub(crate) const POWER_TAPS: usize = 3;
/// Factors of a gain on power and on products of neighbours: behind those on power, of the product of the bin below with
/// the bin, and of the bin with the bin above.
pub(crate) const PRODUCT_TAPS: usize = 5;

/// Number of factors per bin of a gain of this shape.
///
/// # Panics
/// If it is not `[bins, 3]` or `[bins, 5]`: recorded operations come here without the checks of the functions.
#[cfg(feature = "cube")]
pub(crate) fn gain_taps(shape: &[usize]) -> usize {
    let taps = shape.last().copied().unwrap_or(0);
    assert!(shape.len() == 2 && (taps == POWER_TAPS || taps == PRODUCT_TAPS), "gain: {shape:?} is no gain of bins");
    taps
}

/// Consecutive bins of a spectrum, from `first` to the one before `end`. Serialised as `[first, end]`.
///
/// ```
/// use firefly_ops::Band;
///
/// let band = Band::new(8..97);
/// assert_eq!((band.first, band.end, band.to_string().as_str()), (8, 97, "8..97"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[usize; 2]", into = "[usize; 2]")]
pub struct Band {
    /// The first bin.
    pub first: usize,
    /// The bin after the last.
    pub end: usize,
}

impl Band {
    /// The bins of a range.
    pub const fn new(bins: Range<usize>) -> Self {
        Self { first: bins.start, end: bins.end }
    }

    /// Checks that the band is not empty and within `bins` bins; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`](crate::ArgumentError) naming the argument `band`.
    pub fn validate(self, operation: &'static str, bins: usize) -> Result<()> {
        let is_within = self.first < self.end && self.end <= bins;
        ensure(is_within, operation, "band", self, format_args!("one or more bins of 0..{bins}"))
    }
}

impl From<[usize; 2]> for Band {
    fn from([first, end]: [usize; 2]) -> Self {
        Self { first, end }
    }
}

impl From<Band> for [usize; 2] {
    fn from(band: Band) -> Self {
        [band.first, band.end]
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.end)
    }
}

/// Scaling and detrending of the power spectrum of a row as a whole.
///
/// ```
/// use firefly_ops::{Detrend, PowerSpectrumOptions, Scaling};
///
/// let options = PowerSpectrumOptions::new().with_scaling(Scaling::Spectrum).with_detrend(Detrend::Constant);
/// assert_ne!(options, PowerSpectrumOptions::default());
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PowerSpectrumOptions {
    /// Scaling of power.
    pub scaling: Scaling,
    /// Trend that is subtracted from each row before it is windowed.
    pub detrend: Detrend,
}

impl PowerSpectrumOptions {
    /// Scaling `power`, no detrending.
    pub const fn new() -> Self {
        Self { scaling: Scaling::Power, detrend: Detrend::None }
    }

    with_fields! {
        /// The same spectrum with another scaling.
        with_scaling(scaling: Scaling);
        /// The same spectrum with another detrending.
        with_detrend(detrend: Detrend);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_follow_from_the_options() {
        let options = WelchOptions::new(256, 8);
        assert_eq!((options.hop, options.bins(), options.frame(), options.stages()), (128, 129, 1152, 8));
        assert_eq!((WelchOptions::new(1000, 1).stages(), WelchOptions::new(1, 1).stages()), (10, 0));
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
