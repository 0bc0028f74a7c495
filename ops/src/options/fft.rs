//! Options of Fourier transforms and convolutions.

/// Length, direction and factors of a Fourier transform of rows, as a backend gets them.
///
/// ```
/// use firefly_ops::Direction;
/// use firefly_ops::options::FftOptions;
///
/// // The inverse of a transform of 10 points: its bins of frequencies 1 to 4 stand for two bins each.
/// let options = FftOptions::new(10, Direction::Inverse).with_scale(0.1);
/// assert_eq!((options.bins(), options.interior_bins(), options.interior), (6, 1..5, 1.0));
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FftOptions {
    /// Points of the transform, n: at least 1, of any factors.
    pub length: usize,
    /// Sign of the exponent.
    pub direction: Direction,
    /// Factor on every output.
    pub scale: f64,
    /// Factor on the interior bins of a one-sided spectrum: those that are neither DC nor, with an even length,
    /// Nyquist. Transforms from complex to complex values have none.
    pub interior: f64,
}

impl FftOptions {
    /// A transform of `length` points without factors on its outputs.
    pub const fn new(length: usize, direction: Direction) -> Self {
        Self { length, direction, scale: 1.0, interior: 1.0 }
    }

    with_fields! {
        /// The same transform with a factor on every output.
        with_scale(scale: f64);
        /// The same transform with a factor on the interior bins of a one-sided spectrum.
        with_interior(interior: f64);
    }

    /// Bins of a one-sided spectrum, n/2 + 1.
    pub fn bins(&self) -> usize {
        self.length / 2 + 1
    }

    /// The bins of a one-sided spectrum that are interior.
    pub fn interior_bins(&self) -> std::ops::Range<usize> {
        1..self.length.div_ceil(2)
    }
}

/// Form of a transform of values whose real and imaginary parts are side by side, `[…, 2]`.
///
/// ```
/// use firefly_ops::Direction;
/// use firefly_ops::options::{FftForm, FftOptions};
///
/// let options = FftOptions::new(10, Direction::Forward);
/// assert_eq!(FftForm::Real.output(&[8, 10], &options), [8, 6, 2]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftForm {
    /// Complex rows `[rows, m, 2]` to `[rows, n, 2]`.
    Complex,
    /// Complex columns of matrices, `[matrices, n, width, 2]` both.
    Columns,
    /// Real rows `[rows, m]` to half spectra `[rows, n/2 + 1, 2]`.
    Real,
    /// Half spectra `[rows, m, 2]` to real rows `[rows, n]`.
    InverseReal,
}

impl FftForm {
    /// Shape of the transforms of an input of shape `input`.
    pub fn output(self, input: &[usize], options: &FftOptions) -> Vec<usize> {
        match self {
            Self::Complex => vec![input[0], options.length, 2],
            Self::Columns => input.to_vec(),
            Self::Real => vec![input[0], options.bins(), 2],
            Self::InverseReal => vec![input[0], options.length],
        }
    }

    /// The form of the adjoint, and the factor of that on interior bins: a sum over one side of the spectrum counts an
    /// interior bin once, and the Hermitian sum counts it twice.
    #[cfg(feature = "autodiff")]
    pub(crate) fn adjoint(self) -> (Self, f64) {
        match self {
            Self::Complex | Self::Columns => (self, 1.0),
            Self::Real => (Self::InverseReal, 0.5),
            Self::InverseReal => (Self::Real, 2.0),
        }
    }
}

/// Direction of a transform.
///
/// ```
/// use firefly_ops::Direction;
///
/// assert_eq!(Direction::Forward.opposite(), Direction::Inverse);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// e^(−2πi jk/n), unnormalised.
    #[default]
    Forward,
    /// e^(+2πi jk/n), unnormalised: divide by `n` to invert.
    Inverse,
}

impl Direction {
    /// The other direction.
    pub fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Inverse,
            Self::Inverse => Self::Forward,
        }
    }
}

/// Normalisation of a Fourier transform and its inverse, as in NumPy and PyTorch.
///
/// The forward transforms are `fft`, `rfft` and `hfft` with their forms in several dimensions; the inverse ones are
/// `ifft`, `irfft` and `ihfft` with theirs. In several dimensions n is the product of the lengths.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::Norm;
/// use firefly_ops::fft::rfft_with;
///
/// // Bin 0 of four ones.
/// let device = Device::flex();
/// let bin = |norm| {
///     let spectrum = rfft_with(Tensor::<1>::ones([4], &device), None, 0, norm)?;
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

/// Part of a convolution of n samples with a kernel of k taps that is returned.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::fft::{ConvolveMode, fft_convolve};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_dc_nor_nyquist_is_interior() {
        let interior = |length| {
            let options = FftOptions::new(length, Direction::Forward);
            (options.bins(), options.interior_bins())
        };
        assert_eq!([1, 2, 3, 4, 5].map(interior), [(1, 1..1), (2, 1..1), (2, 1..2), (3, 1..2), (3, 1..3)]);
    }
}
