//! Samples beyond the ends of a signal.

/// Samples that a signal is continued with beyond its ends.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::stft;
/// use firefly_ops::{SignalPadding, StftOptions};
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
