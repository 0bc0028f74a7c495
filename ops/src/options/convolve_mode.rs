//! Extent of a convolution.

/// Samples of a convolution of n samples with a kernel of k that are returned.
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
    /// All n + k − 1.
    #[default]
    Full,
    /// The n in the middle of `Full`.
    Same,
    /// The n − k + 1 that no sample outside of the signal has a share in.
    Valid,
    /// n, of the signal repeated without end.
    Circular,
}
