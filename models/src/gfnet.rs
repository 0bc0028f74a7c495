//! Global filter network: an image classifier whose blocks mix patches in the frequency domain.

use burn::tensor::activation::gelu;
use firefly_ops::Norm;
use firefly_ops::fft::{irfft2_with, rfft2_with};

use crate::prelude::*;

limited_config! {
    /// Configuration of [`GfNet`]; the defaults are those of the paper's `GFNet-Ti`.
    ///
    /// ```
    /// use firefly_models::GfNetConfig;
    ///
    /// let config = GfNetConfig::new().with_image(32).with_patch(4);
    /// assert_eq!(config.side(), 8);
    /// assert!(config.with_patch(5).validate().unwrap_err().to_string().contains("`patch` is 5"));
    /// ```
    GfNetConfig, check_patch;
    /// Rows and columns of an image.
    image: usize = 224, 1.0;
    /// Channels of an image.
    in_channels: usize = 3, 1.0;
    /// Rows and columns of a patch, a divisor of those of an image.
    patch: usize = 16, 1.0;
    /// Values per patch.
    width: usize = 256, 1.0;
    /// Number of blocks.
    layers: usize = 12, 1.0, MAX_DEPTH;
    /// Hidden values of a block's linear layers per value of a patch.
    expansion: usize = 4, 1.0;
    /// Number of classes.
    classes: usize = 1000, 1.0;
}

impl GfNetConfig {
    /// Patches along a row or a column of an image.
    pub fn side(&self) -> usize {
        self.image / self.patch
    }

    fn check_patch(&self) -> Result<()> {
        let expected = format!("a divisor of `image`, {}", self.image);
        ensure(self.image.is_multiple_of(self.patch), "GfNetConfig", "patch", self.patch, expected)
    }
}

/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-6;

/// Global filter network: an image classifier whose blocks mix patches by learned filters of their spectrum.
///
/// Patches and their positions pass blocks, and a linear layer on the mean of the normalised patches. A block is a
/// residual connection around normalisation, a [`GlobalFilter`], normalisation and two linear layers. Linear layers and
/// positions are normal with a deviation of 0.02 at first, biases 0.
///
/// After Y. Rao et al., "Global Filter Networks for Image Classification" (2021).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::GfNetConfig;
///
/// let device = Device::flex();
/// let config = GfNetConfig::new().with_image(16).with_patch(4).with_width(8).with_layers(2).with_classes(5);
/// let model = config.init(&device);
/// assert_eq!(model.positions.dims(), [1, 4, 4, 8]); // 4 × 4 patches
/// let images = Tensor::<4>::ones([3, 3, 16, 16], &device); // [batch, channels, rows, columns]
/// assert_eq!(model.forward(images).dims(), [3, 5]);
/// ```
#[derive(Module, Debug)]
pub struct GfNet {
    /// Linear layer from the pixels of a patch to the width.
    pub patches: Linear,
    /// Added to each patch, `[1, rows, columns, width]`.
    pub positions: Param<Tensor<4>>,
    /// The blocks.
    pub blocks: Vec<GfNetBlock>,
    /// Normalisation behind the blocks.
    pub norm: LayerNorm,
    /// Linear layer from the mean of the patches to the classes.
    pub head: Linear,
    #[module(skip)]
    config: GfNetConfig,
}

configured! { GfNet by GfNetConfig }

impl GfNet {
    fn new(config: &GfNetConfig, device: &Device) -> Result<Self> {
        let GfNetConfig { in_channels, patch, width, layers, classes, .. } = *config;
        let (side, hidden) = (config.side(), config.expansion * width);
        let norm = || LayerNormConfig::new(width).with_epsilon(VARIANCE_OFFSET).init(device);
        let linear = |inputs, outputs| normal_linear(inputs, outputs, device);
        let block = |_| GfNetBlock {
            mixer_norm: norm(),
            mixer: GlobalFilter::new(side, width, device),
            norm: norm(),
            hidden: linear(width, hidden),
            output: linear(hidden, width),
        };
        Ok(Self {
            // A convolution of as many pixels as a patch has.
            patches: LinearConfig::new(in_channels.saturating_mul(patch * patch), width).init(device),
            positions: NORMAL.init([1, side, side, width], device),
            blocks: (0..layers).map(block).collect(),
            norm: norm(),
            head: linear(width, classes),
            config: config.clone(),
        })
    }

    or_panic! { forward = try_forward(images: Tensor<4>) -> Tensor<2> }

    /// Scores `[batch, classes]` of images `[batch, in_channels, image, image]`.
    ///
    /// # Errors
    /// [`ArgumentError`] for images of another size or of other channels.
    pub fn try_forward(&self, images: Tensor<4>) -> Result<Tensor<2>> {
        let GfNetConfig { image, in_channels, patch, width, .. } = self.config;
        let dims @ [batch, channels, rows, columns] = images.dims();
        let is_image = [channels, rows, columns] == [in_channels, image, image];
        let expected = format!("[batch, {in_channels}, {image}, {image}]");
        ensure(is_image, "GfNet", "images", format_args!("{dims:?}"), expected)?;
        let side = image / patch;
        let pixels: Tensor<6> = images.reshape([batch, channels, side, patch, side, patch]);
        // [batch, side, side, channels, patch, patch], by swaps: Burn's remote devices take a permutation for one of
        // integers.
        let pixels = pixels.swap_dims(1, 2).swap_dims(2, 4).swap_dims(3, 4);
        let pixels: Tensor<4> = pixels.reshape([batch, side, side, channels * patch * patch]);
        let embedded = self.patches.forward(pixels) + self.positions.val();
        let mixed = self.blocks.iter().try_fold(embedded, |patches, block| block.try_forward(patches))?;
        let rows: Tensor<3> = self.norm.forward(mixed).reshape([batch, side * side, width]);
        Ok(self.head.forward(rows.mean_dim(1).squeeze_dim::<2>(1)))
    }
}

/// Block of [`GfNet`].
#[derive(Module, Debug)]
pub struct GfNetBlock {
    /// Normalisation before the mixer.
    pub mixer_norm: LayerNorm,
    /// Mixer of patches.
    pub mixer: GlobalFilter,
    /// Normalisation before the linear layers.
    pub norm: LayerNorm,
    /// First linear layer.
    pub hidden: Linear,
    /// Second linear layer.
    pub output: Linear,
}

impl GfNetBlock {
    or_panic! { forward = try_forward(patches: Tensor<4>) -> Tensor<4> }

    /// The block on `patches` `[batch, rows, columns, width]`.
    ///
    /// # Errors
    /// As [`rfft2`](firefly_ops::fft::rfft2); for patches of another number of channels.
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>> {
        let ([_, _, _, channels], [width]) = (patches.dims(), self.norm.gamma.dims());
        let (got, expected) = (format!("of {channels} channels"), format!("of {width}"));
        ensure(channels == width, "GfNetBlock", "patches", got, expected)?;
        let mixed = self.mixer.try_forward(self.mixer_norm.forward(patches.clone()))?;
        let hidden = gelu(self.hidden.forward(self.norm.forward(mixed)));
        Ok(patches + self.output.forward(hidden))
    }
}

/// Circular convolution of each channel with a kernel as large as the image, as a product of spectra.
///
/// ```
/// use burn::module::Param;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::gfnet::GlobalFilter;
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
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>> {
        let [_, rows, columns, _] = patches.dims();
        let spectrum = rfft2_with(patches, None, [1, 2], Norm::Ortho)?;
        let filter = ComplexTensor::new(self.re.val(), self.im.val()).map(|part| part.unsqueeze());
        irfft2_with(spectrum * filter, Some([rows, columns]), [1, 2], Norm::Ortho)
    }
}

impl Family for GfNet {
    configured_by! { GfNetConfig, "gfnet" }

    fn variants() -> Vec<Variant<GfNetConfig>> {
        let config = GfNetConfig::new();
        let extra_small = config.clone().with_width(384);
        let base = config.clone().with_width(512).with_layers(19);
        let tiny = config.clone().with_image(12).with_patch(3).with_width(6).with_layers(2).with_classes(3);
        vec![
            Variant::new("gfnet", "GFNet-Ti: 12 blocks of 256 values", config),
            Variant::new("gfnet_xs", "GFNet-XS: 12 blocks of 384 values", extra_small.clone()),
            Variant::new("gfnet_s", "GFNet-S: 19 blocks of 384 values", extra_small.with_layers(19)),
            Variant::new("gfnet_b", "GFNet-B: 19 blocks of 512 values", base),
            Variant::new("gfnet_tiny", "2 blocks of 6 values, for tests", tiny),
        ]
    }

    applied_to! { images [in_channels, image, image]: Tensor<4> => Tensor<2>, "gfnet" }
}
