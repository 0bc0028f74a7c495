//! Global filters: a factor per bin and channel.

use burn::module::{Module, Param};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_ops::fft::{ComplexTensor, irfft2, rfft2};
use firefly_ops::{ArgumentError, Norm};

use crate::expect_valid;

/// Standard deviation of both parts of a filter at first.
const DEVIATION: f64 = 0.02;

/// Circular convolution of each channel with a kernel as large as the image, as a product of spectra.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::GlobalFilter;
///
/// // A spectrum of ones leaves patches as they are.
/// let device = Device::flex();
/// let part = |value| Param::from_tensor(Tensor::full([4, 3, 2], value, &device));
/// let filter = GlobalFilter { re: part(1.0), im: part(0.0) };
/// let patches = Tensor::<4>::random([3, 4, 4, 2], Distribution::Default, &device); // [batch, rows, columns, channels]
/// let error = (filter.forward(patches.clone()) - patches).abs().max();
/// assert!(error.into_scalar::<f32>() < 1e-5);
/// ```
#[derive(Module, Debug)]
pub struct GlobalFilter {
    /// Real part of the spectrum of the kernels, `[rows, columns / 2 + 1, channels]`.
    pub re: Param<Tensor<3>>,
    /// Imaginary part.
    pub im: Param<Tensor<3>>,
}

impl GlobalFilter {
    /// The untrained filters of `side` × `side` patches.
    pub fn new(side: usize, channels: usize, device: &Device) -> Self {
        let shape = [side, side / 2 + 1, channels];
        let part = || Param::from_tensor(Tensor::random(shape, Distribution::Normal(0.0, DEVIATION), device));
        Self { re: part(), im: part() }
    }

    /// The filters applied to `patches` `[batch, rows, columns, channels]`.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, patches: Tensor<4>) -> Tensor<4> {
        expect_valid(self.try_forward(patches))
    }

    /// Filtered patches, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`rfft2`].
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>, ArgumentError> {
        let [_, rows, columns, _] = patches.dims();
        let spectrum = rfft2(patches, None, [1, 2], Norm::Ortho)?;
        let filter = ComplexTensor::new(self.re.val(), self.im.val()).map(|part| part.unsqueeze());
        irfft2(spectrum * filter, Some([rows, columns]), [1, 2], Norm::Ortho)
    }
}
