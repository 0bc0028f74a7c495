//! Extent of a convolution.

/// Part of a convolution of n samples with a kernel of k taps that is returned.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::ConvolveMode;
/// use firefly_ops::fft::fft_convolve;
///
/// let device = Device::flex();
/// let length = |mode| {
///     let (signal, kernel) = (Tensor::<1>::ones([10], &device), Tensor::<1>::ones([3], &device));
///     fft_convolve(signal, kernel, mode).map(|result| result.dims()[0])
/// };
/// assert_eq!((length(ConvolveMode::Full), length(ConvolveMode::Same)), (Ok(12), Ok(10)));
/// assert_eq!((length(ConvolveMode::Valid), length(ConvolveMode::Circular)), (Ok(8), Ok(10)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum ConvolveMode {
    /// All n + k − 1 samples.
    #[default]
    Full,
    /// The n samples in the middle of `Full`.
    Same,
    /// The n − k + 1 samples that depend on no sample outside the signal.
    Valid,
    /// The n samples of the circular convolution, in which the signal is repeated periodically.
    Circular,
}
