//! Normalisation of Fourier transforms.

/// Normalisation of a Fourier transform and its inverse, as in NumPy and PyTorch.
///
/// The forward transforms are `fft`, `rfft` and `hfft` with their forms in several dimensions; the inverse ones are
/// `ifft`, `irfft` and `ihfft` with theirs. In several dimensions n is the product of the lengths.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::rfft;
///
/// // Bin 0 of four ones.
/// let device = Device::flex();
/// let bin = |norm| {
///     let spectrum = rfft(Tensor::<1>::ones([4], &device), None, 0, norm)?;
///     Ok::<f32, firefly_ops::ArgumentError>(spectrum.re.narrow(0, 0, 1).into_scalar())
/// };
/// assert_eq!((bin(Norm::Backward)?, bin(Norm::Ortho)?, bin(Norm::Forward)?), (4.0, 2.0, 1.0));
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Norm {
    /// Inverse transforms are divided by n.
    #[default]
    Backward,
    /// Both are divided by √n, which makes them unitary.
    Ortho,
    /// Forward transforms are divided by n.
    Forward,
}

impl Norm {
    /// Factor of an `n`-point transform that is `forward` or inverse.
    pub(crate) fn factor(self, forward: bool, n: usize) -> f64 {
        match (self, forward) {
            (Self::Backward, true) | (Self::Forward, false) => 1.0,
            (Self::Ortho, _) => 1.0 / (n as f64).sqrt(),
            (Self::Backward, false) | (Self::Forward, true) => 1.0 / n as f64,
        }
    }
}
