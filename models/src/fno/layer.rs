//! Layers of Fourier neural operators.

use burn::tensor::activation::relu;
use firefly_ops::spectral_conv;

use super::{FnoConfig, FnoKind};
use crate::channel_linear::ChannelLinear;
use crate::prelude::*;

/// Hidden channels of a factorised layer per channel of it.
const FEED_FORWARD_FACTOR: usize = 4;

/// Complex weights of a spectral convolution, `[in, out, modes…]`.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::fno::SpectralWeights;
///
/// // Weights of 1 at the lowest mode are the mean.
/// let device = Device::flex();
/// let part = |value| Param::from_tensor(Tensor::full([1, 1, 1], value, &device));
/// let weights = SpectralWeights { re: part(1.0), im: part(0.0) };
/// let mean = weights.forward(Tensor::<3>::from_floats([[[1.0, 2.0, 6.0]]], &device));
/// assert!((mean - 3.0).abs().max().into_scalar::<f32>() < 1e-6);
/// ```
#[derive(Module, Debug)]
pub struct SpectralWeights<const D: usize> {
    /// Real parts.
    pub re: Param<Tensor<D>>,
    /// Imaginary parts.
    pub im: Param<Tensor<D>>,
}

impl<const D: usize> SpectralWeights<D> {
    fn new(shape: [usize; D], initializer: &Initializer, device: &Device) -> Self {
        Self { re: initializer.init(shape, device), im: initializer.init(shape, device) }
    }

    or_panic! { forward = try_forward(field: Tensor<D>) -> Tensor<D> }

    /// Spectral convolution of a field `[batch, in, n…]`.
    ///
    /// # Errors
    /// As [`spectral_conv`].
    pub fn try_forward(&self, field: Tensor<D>) -> Result<Tensor<D>> {
        spectral_conv(field, ComplexTensor::new(self.re.val(), self.im.val()))
    }
}

/// Spectral convolution along each dimension of a field, summed, and two linear layers over channels with a rectifier
/// between them.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::fno::{FnoKind, FnoLayer};
/// use firefly_models::{Fno2d, FnoConfig};
///
/// let config = FnoConfig::new(vec![5, 3]).with_width(8).with_points(32).with_kind(FnoKind::Factorized);
/// let model: Fno2d = config.init(&Device::flex());
/// let FnoLayer::Factorized(layer) = &model.layers[0] else { panic!("{config}") };
/// let modes: Vec<usize> = layer.spectral.iter().map(|weights| weights.re.dims()[2]).collect();
/// assert_eq!(modes, [5, 3]); // along each dimension
/// ```
#[derive(Module, Debug)]
pub struct FactorizedLayer {
    /// Weights along each dimension, `[width, width, modes]`.
    pub spectral: Vec<SpectralWeights<3>>,
    /// Linear layer from the width to four times as many channels.
    pub hidden: ChannelLinear,
    /// Back to the width.
    pub output: ChannelLinear,
}

impl FactorizedLayer {
    fn try_forward<const D: usize>(&self, field: Tensor<D>) -> Result<Tensor<D>> {
        let convolved =
            |(weights, dim): (&SpectralWeights<3>, usize)| along(field.clone(), dim, |rows| weights.try_forward(rows));
        let sum = self.spectral.iter().zip(2..).map(convolved).reduce(|sum, next| Ok(sum? + next?));
        let hidden = relu(self.hidden.forward(sum.transpose()?.unwrap_or(field)));
        Ok(self.output.forward(hidden))
    }
}

/// `change` of a field's rows `[batch · others, channels, n]` along `dim`.
fn along<const D: usize>(
    field: Tensor<D>,
    dim: usize,
    change: impl FnOnce(Tensor<3>) -> Result<Tensor<3>>,
) -> Result<Tensor<D>> {
    // The batch and the other dimensions come first, then channels, then the dimension. Swaps and no permutation, which
    // Burn's remote devices take for one of integers.
    let rows = field.swap_dims(dim, D - 1).swap_dims(1, D - 2);
    let dims = rows.dims();
    let count = dims[..D - 2].iter().product();
    let changed = change(rows.reshape([count, dims[D - 2], dims[D - 1]]))?;
    Ok(changed.reshape(dims).swap_dims(1, D - 2).swap_dims(dim, D - 1))
}

/// Layer of a Fourier neural operator.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::fno::FnoKind;
/// use firefly_models::{Fno1d, FnoConfig};
///
/// let device = Device::flex();
/// let field = Tensor::<3>::ones([2, 8, 32], &device); // [batch, width, n]
/// for kind in [FnoKind::Dense, FnoKind::Factorized] {
///     let model: Fno1d = FnoConfig::new(vec![5]).with_width(8).with_points(32).with_kind(kind).init(&device);
///     assert_eq!(model.layers[0].forward(field.clone()).dims(), [2, 8, 32]);
/// }
/// ```
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a model has a handful of layers")]
pub enum FnoLayer<const D: usize> {
    /// A spectral convolution plus a linear layer over channels.
    Dense(DenseLayer<D>),
    /// A residual connection around spectral convolutions along each dimension.
    Factorized(FactorizedLayer),
}

/// Spectral convolution plus a linear layer over channels.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::fno::FnoLayer;
/// use firefly_models::{Fno1d, FnoConfig};
///
/// let config = FnoConfig::new(vec![5]).with_width(8).with_points(32);
/// let model: Fno1d = config.init(&Device::flex());
/// let FnoLayer::Dense(layer) = &model.layers[0] else { panic!("{config}") };
/// assert_eq!(layer.spectral.re.dims(), [8, 8, 5]); // [width, width, modes]
/// assert_eq!(layer.linear.weight.dims(), [8, 8]);
/// ```
#[derive(Module, Debug)]
pub struct DenseLayer<const D: usize> {
    /// Weights of the modes.
    pub spectral: SpectralWeights<D>,
    /// The linear layer.
    pub linear: ChannelLinear,
}

impl<const D: usize> FnoLayer<D> {
    /// The untrained layer of a configuration of `D` − 2 dimensions.
    pub(super) fn new(config: &FnoConfig, device: &Device) -> Self {
        let width = config.width;
        match config.kind {
            FnoKind::Dense => {
                // As in the authors' program: uniform from 0 to 1/width².
                let uniform = Initializer::Uniform { min: 0.0, max: ((width * width) as f64).recip() };
                let shape = std::array::from_fn(|axis| if axis < 2 { width } else { config.modes[axis - 2] });
                let spectral = SpectralWeights::new(shape, &uniform, device);
                Self::Dense(DenseLayer { spectral, linear: ChannelLinear::new(width, width, device) })
            }
            FnoKind::Factorized => {
                let weights = |&modes: &usize| {
                    // Glorot's normal distribution, both parts of all modes counted as inputs, as in the authors'
                    // program.
                    let std = ((2 * width * modes) as f64).sqrt().recip();
                    SpectralWeights::new([width, width, modes], &Initializer::Normal { mean: 0.0, std }, device)
                };
                let hidden = FEED_FORWARD_FACTOR * width;
                Self::Factorized(FactorizedLayer {
                    spectral: config.modes.iter().map(weights).collect(),
                    hidden: ChannelLinear::new(width, hidden, device),
                    output: ChannelLinear::new(hidden, width, device),
                })
            }
        }
    }

    or_panic! { forward = try_forward(field: Tensor<D>) -> Tensor<D> }

    /// The layer of a field `[batch, width, n…]`, before an activation.
    ///
    /// # Errors
    /// [`ArgumentError`] for a field of other channels or fewer points than modes.
    pub fn try_forward(&self, field: Tensor<D>) -> Result<Tensor<D>> {
        match self {
            Self::Dense(layer) => Ok(layer.spectral.try_forward(field.clone())? + layer.linear.forward(field)),
            Self::Factorized(layer) => Ok(layer.try_forward(field.clone())? + field),
        }
    }
}
