//! Mixers of patches: global filters, and those of adaptive Fourier neural operators.

use burn::module::{Initializer, Module, Param};
use burn::tensor::activation::{relu, soft_shrink};
use burn::tensor::{Device, Tensor};
use firefly_ops::fft::{ComplexTensor, irfft2_with, rfft2_with};
use firefly_ops::{ArgumentError, Norm};

/// Filters, weights and biases at first.
const NORMAL: Initializer = Initializer::Normal { mean: 0.0, std: 0.02 };

/// Circular convolution of each channel with a kernel as large as the image, as a product of spectra.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::vision::GlobalFilter;
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
        let part = || NORMAL.init([side, side / 2 + 1, channels], device);
        Self { re: part(), im: part() }
    }

    or_panic! { forward = try_forward(patches: Tensor<4>) -> Tensor<4> }

    /// The filters applied to `patches` `[batch, rows, columns, channels]`.
    ///
    /// # Errors
    /// As [`rfft2`](firefly_ops::fft::rfft2).
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>, ArgumentError> {
        let [_, rows, columns, _] = patches.dims();
        let spectrum = rfft2_with(patches, None, [1, 2], Norm::Ortho)?;
        let filter = ComplexTensor::new(self.re.val(), self.im.val()).map(|part| part.unsqueeze());
        irfft2_with(spectrum * filter, Some([rows, columns]), [1, 2], Norm::Ortho)
    }
}

/// Two complex linear layers over the channels of every bin, the same for all bins, with block-diagonal weights.
///
/// Between the layers is a rectifier (ReLU) of the real and imaginary parts. After them soft thresholding shrinks bins
/// towards 0, so that few of them are not 0.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::vision::AfnoMixer;
///
/// let device = Device::flex();
/// let mixer = AfnoMixer::new(8, 2, 0.01, &device); // eight channels in two blocks
/// assert_eq!(mixer.forward(Tensor::<4>::ones([3, 6, 5, 8], &device)).dims(), [3, 6, 5, 8]);
/// ```
#[derive(Module, Debug)]
pub struct AfnoMixer {
    /// The two layers.
    pub layers: Vec<BlockLinear>,
    #[module(skip)]
    threshold: f64,
}

/// Complex linear layer with block-diagonal weights.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::vision::AfnoMixer;
///
/// let layer = &AfnoMixer::new(8, 2, 0.01, &Device::flex()).layers[0]; // eight channels in two blocks
/// assert_eq!(layer.weight_re.dims(), [2, 4, 4]);
/// assert_eq!(layer.bias_im.dims(), [2, 1, 4]);
/// ```
#[derive(Module, Debug)]
pub struct BlockLinear {
    /// Real part of the weights, `[blocks, in, out]`.
    pub weight_re: Param<Tensor<3>>,
    /// Imaginary part of the weights.
    pub weight_im: Param<Tensor<3>>,
    /// Real part of the bias, `[blocks, 1, out]`.
    pub bias_re: Param<Tensor<3>>,
    /// Imaginary part of the bias.
    pub bias_im: Param<Tensor<3>>,
}

impl BlockLinear {
    fn new(blocks: usize, size: usize, device: &Device) -> Self {
        let drawn = |rows| NORMAL.init([blocks, rows, size], device);
        Self { weight_re: drawn(size), weight_im: drawn(size), bias_re: drawn(1), bias_im: drawn(1) }
    }

    /// The layer on values `[blocks, bins, in]`.
    fn forward(&self, values: ComplexTensor<3>) -> ComplexTensor<3> {
        let weight = ComplexTensor::new(self.weight_re.val(), self.weight_im.val());
        values.matmul(weight) + ComplexTensor::new(self.bias_re.val(), self.bias_im.val())
    }
}

impl AfnoMixer {
    /// The untrained mixer of `channels` in `blocks`.
    pub fn new(channels: usize, blocks: usize, threshold: f64, device: &Device) -> Self {
        let layers = (0..2).map(|_| BlockLinear::new(blocks, channels / blocks, device)).collect();
        Self { layers, threshold }
    }

    or_panic! { forward = try_forward(patches: Tensor<4>) -> Tensor<4> }

    /// The mixer on `patches` `[batch, rows, columns, channels]`, plus the patches.
    ///
    /// # Errors
    /// As [`rfft2`](firefly_ops::fft::rfft2).
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>, ArgumentError> {
        let [batch, rows, columns, channels] = patches.dims();
        let blocks = self.layers[0].weight_re.val().dims()[0];
        let spectrum = rfft2_with(patches.clone(), None, [1, 2], Norm::Ortho)?;
        let bins = columns / 2 + 1;
        let count = batch * rows * bins;
        let split = |part: Tensor<4>| -> Tensor<3> { part.reshape([count, blocks, channels / blocks]).swap_dims(0, 1) };
        let hidden = self.layers[0].forward(spectrum.map(split)).map(relu);
        let mixed = self.layers[1].forward(hidden).map(|part| soft_shrink(part, self.threshold));
        let spectrum = mixed.map(|part| part.swap_dims(0, 1).reshape([batch, rows, bins, channels]));
        Ok(irfft2_with(spectrum, Some([rows, columns]), [1, 2], Norm::Ortho)? + patches)
    }
}
