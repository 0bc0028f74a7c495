//! Parameters of a short-time Fourier transform.

use crate::error::{Result, ensure};

/// Frames and conventions of a short-time Fourier transform, with the defaults of `torch.stft`.
///
/// ```
/// use firefly_ops::StftOptions;
///
/// let options = StftOptions::new(400).with_hop(160);
/// assert_eq!((options.bins(), options.center, options.onesided), (201, true, true));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StftOptions {
    /// Samples in a frame, of any number from 1.
    pub n_fft: usize,
    /// Samples from one frame's start to the next; at least 1.
    pub hop: usize,
    /// Samples of the window, which is padded with zeros on both sides to `n_fft`; `n_fft` if `None`.
    pub window_length: Option<usize>,
    /// Whether frame t is centred at sample t `hop`; the signal is padded by `n_fft / 2` on both sides. Otherwise it
    /// starts there.
    pub center: bool,
    /// Padding of a centred signal.
    pub pad: SignalPadding,
    /// Whether spectra are divided by √`n_fft`.
    pub normalized: bool,
    /// Whether spectra are the lower `n_fft / 2 + 1` bins, or else all of them.
    pub onesided: bool,
}

impl StftOptions {
    /// Frames of `n_fft` samples, a quarter of that apart, centred, with reflected ends.
    pub const fn new(n_fft: usize) -> Self {
        Self {
            n_fft,
            hop: if n_fft < 4 { 1 } else { n_fft / 4 },
            window_length: None,
            center: true,
            pad: SignalPadding::Reflect,
            normalized: false,
            onesided: true,
        }
    }

    with_fields! {
        /// These options with another `hop`.
        with_hop(hop: usize);
        /// These options with a window of `window_length` samples.
        with_window_length(window_length: usize as Some);
        /// These options with or without centring.
        with_center(center: bool);
        /// These options with another padding of centred signals.
        with_pad(pad: SignalPadding);
        /// These options with or without normalisation.
        with_normalized(normalized: bool);
        /// These options with one side of the spectra, or both.
        with_onesided(onesided: bool);
    }

    /// Bins of a spectrum.
    pub fn bins(&self) -> usize {
        if self.onesided { self.n_fft / 2 + 1 } else { self.n_fft }
    }

    /// Frames of a signal of `samples` samples; 0 where it is shorter than a frame, or the hop is 0.
    pub fn frames(&self, samples: usize) -> usize {
        let padded = samples.saturating_add(2 * self.padding());
        let rest = padded.checked_sub(self.n_fft).and_then(|rest| rest.checked_div(self.hop));
        rest.map_or(0, |hops| 1 + hops)
    }

    /// Samples that a signal is padded with on both sides.
    pub(crate) fn padding(&self) -> usize {
        if self.center { self.n_fft / 2 } else { 0 }
    }

    /// Checks that a signal of `samples` samples can be padded, and has a frame.
    pub(crate) fn validate_signal(&self, operation: &'static str, samples: usize) -> Result<()> {
        let (got, padding) = (format_args!("{samples} samples per row"), self.padding());
        if self.center {
            let shortest = self.pad.fewest_samples(padding);
            let expected = format_args!("at least {shortest}, to be padded by {padding} on both sides");
            ensure(samples >= shortest, operation, "signal", got, expected)?;
        }
        let expected = format_args!("at least a frame of {} samples", self.n_fft);
        ensure(samples + 2 * padding >= self.n_fft, operation, "signal", got, expected)
    }

    /// Samples of the window.
    pub fn window_samples(&self) -> usize {
        self.window_length.unwrap_or(self.n_fft)
    }

    /// Checks lengths and hop.
    pub(crate) fn validate(&self, operation: &'static str) -> Result<()> {
        ensure(self.n_fft >= 1, operation, "n_fft", self.n_fft, "at least 1")?;
        ensure(self.hop >= 1, operation, "hop", self.hop, "at least 1")?;
        let window = self.window_samples();
        let expected = format_args!("from 1 to n_fft, {}", self.n_fft);
        ensure((1..=self.n_fft).contains(&window), operation, "window_length", window, expected)
    }
}

/// Samples that a signal is continued with beyond its ends.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::stft;
/// use firefly_ops::options::SignalPadding;
/// use firefly_ops::StftOptions;
///
/// // Frames of 2 samples around each sample; bin 0 is their sum.
/// let first = |pad| {
///     let signal = Tensor::<1>::from_floats([1.0, 2.0, 4.0], &Device::flex());
///     let options = StftOptions::new(2).with_hop(1).with_pad(pad);
///     stft::<1, 2>(signal, None, &options).map(|spectra| spectra.re.into_data().iter::<f32>().next())
/// };
/// assert_eq!(first(SignalPadding::Constant(8.0)), Ok(Some(9.0)));
/// assert_eq!(first(SignalPadding::Reflect), Ok(Some(3.0)));
/// assert_eq!(first(SignalPadding::Edge), Ok(Some(2.0)));
/// assert_eq!(first(SignalPadding::Circular), Ok(Some(5.0)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SignalPadding {
    /// A constant.
    Constant(f32),
    /// The mirror image, without the sample at the end.
    Reflect,
    /// The sample at the end.
    Edge,
    /// The signal from its other end.
    Circular,
}

impl SignalPadding {
    /// The fewest samples of a signal that can be continued by `padding` on both sides.
    pub(crate) const fn fewest_samples(self, padding: usize) -> usize {
        match self {
            Self::Reflect => padding + 1,
            Self::Circular => {
                if padding > 1 {
                    padding
                } else {
                    1
                }
            }
            Self::Constant(_) | Self::Edge => 1,
        }
    }

    /// The constant; 0 where samples are those of the signal.
    pub(crate) const fn constant(self) -> f32 {
        match self {
            Self::Constant(value) => value,
            Self::Reflect | Self::Edge | Self::Circular => 0.0,
        }
    }
}
