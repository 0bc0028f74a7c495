//! Mixer of adaptive Fourier neural operators.

use burn::module::{Module, Param};
use burn::tensor::activation::{relu, soft_shrink};
use burn::tensor::{Device, Distribution, Tensor};
use firefly_ops::fft::{ComplexTensor, irfft2, rfft2};
use firefly_ops::{ArgumentError, Norm};

use crate::expect_valid;

/// Standard deviation of weights and biases at first.
const DEVIATION: f64 = 0.02;

/// Two complex linear layers over the channels of every bin, the same for all bins, with block-diagonal weights.
///
/// Between the layers is a rectifier (ReLU) of the real and imaginary parts. After them soft thresholding shrinks bins
/// towards 0, so that few of them are not 0.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::AfnoMixer;
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
/// use firefly_models::AfnoMixer;
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
        let drawn = |rows| {
            let normal = Distribution::Normal(0.0, DEVIATION);
            Param::from_tensor(Tensor::random([blocks, rows, size], normal, device))
        };
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

    /// The mixer on `patches` `[batch, rows, columns, channels]`, plus the patches.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, patches: Tensor<4>) -> Tensor<4> {
        expect_valid(self.try_forward(patches))
    }

    /// The mixer on patches, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// As [`rfft2`].
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>, ArgumentError> {
        let [batch, rows, columns, channels] = patches.dims();
        let blocks = self.layers[0].weight_re.val().dims()[0];
        let spectrum = rfft2(patches.clone(), None, [1, 2], Norm::Ortho)?;
        let bins = columns / 2 + 1;
        let count = batch * rows * bins;
        let split = |part: Tensor<4>| -> Tensor<3> { part.reshape([count, blocks, channels / blocks]).swap_dims(0, 1) };
        let hidden = self.layers[0].forward(spectrum.map(split)).map(relu);
        let mixed = self.layers[1].forward(hidden).map(|part| soft_shrink(part, self.threshold));
        let spectrum = mixed.map(|part| part.swap_dims(0, 1).reshape([batch, rows, bins, channels]));
        Ok(irfft2(spectrum, Some([rows, columns]), [1, 2], Norm::Ortho)? + patches)
    }
}
