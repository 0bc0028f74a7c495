//! Parameters of a short-time Fourier transform.

use super::SignalPadding;
use crate::error::{ArgumentError, ensure};

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

    /// These options with another `hop`.
    pub fn with_hop(self, hop: usize) -> Self {
        Self { hop, ..self }
    }

    /// These options with a window of `length` samples.
    pub fn with_window_length(self, length: usize) -> Self {
        Self { window_length: Some(length), ..self }
    }

    /// These options with or without centring.
    pub fn with_center(self, center: bool) -> Self {
        Self { center, ..self }
    }

    /// These options with another padding of centred signals.
    pub fn with_pad(self, pad: SignalPadding) -> Self {
        Self { pad, ..self }
    }

    /// These options with or without normalisation.
    pub fn with_normalized(self, normalized: bool) -> Self {
        Self { normalized, ..self }
    }

    /// These options with one side of the spectra, or both.
    pub fn with_onesided(self, onesided: bool) -> Self {
        Self { onesided, ..self }
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
    pub(crate) fn validate_signal(&self, operation: &'static str, samples: usize) -> Result<(), ArgumentError> {
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
    pub(crate) fn validate(&self, operation: &'static str) -> Result<(), ArgumentError> {
        ensure(self.n_fft >= 1, operation, "n_fft", self.n_fft, "at least 1")?;
        ensure(self.hop >= 1, operation, "hop", self.hop, "at least 1")?;
        let window = self.window_samples();
        let expected = format_args!("from 1 to n_fft, {}", self.n_fft);
        ensure((1..=self.n_fft).contains(&window), operation, "window_length", window, expected)
    }
}
