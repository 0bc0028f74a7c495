//! Image classifiers whose blocks mix patches in the frequency domain: global filter networks, and adaptive Fourier
//! neural operators, with their mixers.

use burn::tensor::activation::{gelu, relu, soft_shrink};
use firefly_ops::Norm;
use firefly_ops::fft::{irfft2_with, rfft2_with};

use crate::prelude::*;

/// Declares a configuration with the fields that all image classifiers have, and its checks, with further ones.
macro_rules! vision_config {
    ($(#[$doc:meta])* $config:ident $(, $check:ident)*; $($field:tt)*) => {
        limited_config! {
            $(#[$doc])* $config, check_patch $(, $check)*;
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
            $($field)*
        }

        impl $config {
            /// Patches along a row or a column of an image.
            pub fn side(&self) -> usize {
                self.image / self.patch
            }

            fn check_patch(&self) -> Result<()> {
                let expected = format!("a divisor of `image`, {}", self.image);
                ensure(self.image.is_multiple_of(self.patch), stringify!($config), "patch", self.patch, expected)
            }
        }
    };
}

vision_config! {
    /// Configuration of [`GfNet`]; the defaults are those of the paper's `GFNet-Ti`.
    ///
    /// ```
    /// use firefly_models::GfNetConfig;
    ///
    /// let config = GfNetConfig::new().with_image(32).with_patch(4);
    /// assert_eq!(config.side(), 8);
    /// assert!(config.with_patch(5).validate().unwrap_err().to_string().contains("`patch` is 5"));
    /// ```
    GfNetConfig;
}

vision_config! {
    /// Configuration of [`Afno`].
    ///
    /// ```
    /// use firefly_models::AfnoConfig;
    ///
    /// let config = AfnoConfig::new().with_image(32).with_patch(4);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_blocks(7).validate().unwrap_err().to_string().contains("`blocks` is 7"));
    /// ```
    AfnoConfig, check_blocks;
    /// Blocks of the mixer's weight matrices, a divisor of `width`.
    blocks: usize = 8, 1.0;
    /// Distance by which bins are moved towards 0; nearer ones become 0.
    threshold: f64 = 0.01, 0.0;
}

impl AfnoConfig {
    fn check_blocks(&self) -> Result<()> {
        let expected = format!("a divisor of `width`, {}", self.width);
        ensure(self.width.is_multiple_of(self.blocks), "AfnoConfig", "blocks", self.blocks, expected)
    }
}

/// Weights, filters and positions at first.
const NORMAL: Initializer = Initializer::Normal { mean: 0.0, std: 0.02 };
/// Added to a variance before its square root.
const VARIANCE_OFFSET: f64 = 1e-6;

/// Mixer of the patches of a block.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a model has a handful of blocks")]
pub enum PatchMixer {
    /// A factor per bin and channel; one residual connection around the whole block.
    Filter(GlobalFilter),
    /// Linear layers over the channels of each bin; a residual connection around the mixer, and one around the linear
    /// layers behind it.
    Operator(AfnoMixer),
}

/// Block of an image classifier.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::GfNetConfig;
///
/// let device = Device::flex();
/// let model = GfNetConfig::new().with_image(16).with_patch(4).with_width(8).with_layers(1).init(&device);
/// let patches = Tensor::<4>::ones([3, 4, 4, 8], &device); // [batch, rows, columns, width]
/// assert_eq!(model.stack.blocks[0].forward(patches).dims(), [3, 4, 4, 8]);
/// ```
#[derive(Module, Debug)]
pub struct VisionBlock {
    /// Normalisation before the mixer.
    pub mixer_norm: LayerNorm,
    /// Mixer of patches.
    pub mixer: PatchMixer,
    /// Normalisation before the linear layers.
    pub norm: LayerNorm,
    /// First linear layer.
    pub hidden: Linear,
    /// Second linear layer.
    pub output: Linear,
}

impl VisionBlock {
    or_panic! { forward = try_forward(patches: Tensor<4>) -> Tensor<4> }

    /// The block on `patches` `[batch, rows, columns, width]`.
    ///
    /// # Errors
    /// As [`rfft2`](firefly_ops::fft::rfft2); for patches of another number of channels.
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>> {
        let ([_, _, _, channels], [width]) = (patches.dims(), self.norm.gamma.dims());
        let (got, expected) = (format!("of {channels} channels"), format!("of {width}"));
        ensure(channels == width, "VisionBlock", "patches", got, expected)?;
        let normalised = self.mixer_norm.forward(patches.clone());
        let (mixed, residual) = match &self.mixer {
            PatchMixer::Filter(filter) => (filter.try_forward(normalised)?, patches),
            PatchMixer::Operator(mixer) => {
                let sum = mixer.try_forward(normalised)? + patches;
                (sum.clone(), sum)
            }
        };
        let hidden = gelu(self.hidden.forward(self.norm.forward(mixed)));
        Ok(residual + self.output.forward(hidden))
    }
}

/// Image classifier: patches, their positions, blocks, and a linear layer on the mean of the normalised patches.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::GfNetConfig;
///
/// let config = GfNetConfig::new().with_image(16).with_patch(4).with_width(8).with_layers(2).with_classes(5);
/// let stack = config.init(&Device::flex()).stack;
/// assert_eq!(stack.positions.dims(), [1, 4, 4, 8]); // 4 × 4 patches
/// assert_eq!(stack.head.weight.dims(), [8, 5]);
/// assert_eq!(stack.blocks.len(), 2);
/// ```
#[derive(Module, Debug)]
pub struct VisionStack {
    /// Linear layer from the pixels of a patch to the width.
    pub patches: Linear,
    /// Added to each patch, `[1, rows, columns, width]`.
    pub positions: Param<Tensor<4>>,
    /// The blocks.
    pub blocks: Vec<VisionBlock>,
    /// Normalisation behind the blocks.
    pub norm: LayerNorm,
    /// Linear layer from the mean of the patches to the classes.
    pub head: Linear,
    #[module(skip)]
    sizes: ClassifierSizes,
}

/// Sizes that all classifiers have.
#[derive(Debug, Clone, Copy)]
struct ClassifierSizes {
    image: usize,
    in_channels: usize,
    patch: usize,
    width: usize,
    layers: usize,
    hidden: usize,
    classes: usize,
}

impl VisionStack {
    fn new(sizes: ClassifierSizes, device: &Device, mixer: impl Fn() -> PatchMixer) -> Self {
        let ClassifierSizes { image, in_channels, patch, width, layers, hidden, classes } = sizes;
        let side = image / patch;
        let norm = || LayerNormConfig::new(width).with_epsilon(VARIANCE_OFFSET).init(device);
        let linear = |inputs, outputs| {
            let mut layer = LinearConfig::new(inputs, outputs).with_initializer(NORMAL).init(device);
            layer.bias = Some(Initializer::Zeros.init([outputs], device));
            layer
        };
        let block = |_| VisionBlock {
            mixer_norm: norm(),
            mixer: mixer(),
            norm: norm(),
            hidden: linear(width, hidden),
            output: linear(hidden, width),
        };
        Self {
            // A convolution of as many pixels as a patch has.
            patches: LinearConfig::new(in_channels.saturating_mul(patch * patch), width).init(device),
            positions: NORMAL.init([1, side, side, width], device),
            blocks: (0..layers).map(block).collect(),
            norm: norm(),
            head: linear(width, classes),
            sizes,
        }
    }

    fn try_forward(&self, name: &'static str, images: Tensor<4>) -> Result<Tensor<2>> {
        let ClassifierSizes { image, in_channels, patch, width, .. } = self.sizes;
        let dims @ [batch, channels, rows, columns] = images.dims();
        let is_image = [channels, rows, columns] == [in_channels, image, image];
        let expected = format!("[batch, {in_channels}, {image}, {image}]");
        ensure(is_image, name, "images", format_args!("{dims:?}"), expected)?;
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

/// Declares a classifier and its family: name, configuration, mixer, card and variants.
macro_rules! vision_model {
    (
        $(#[$doc:meta])* $model:ident, $config:ident, $mixer:expr;
        $name:literal;
        $variants:expr
    ) => {
        $(#[$doc])*
        #[derive(Module, Debug)]
        pub struct $model {
            /// The layers.
            pub stack: VisionStack,
            #[module(skip)]
            config: $config,
        }

        configured! { $model by $config }

        impl $model {
            fn new(config: &$config, device: &Device) -> Result<Self> {
                let $config { image, in_channels, patch, width, layers, classes, .. } = *config;
                let hidden = config.expansion * width;
                let sizes = ClassifierSizes { image, in_channels, patch, width, layers, hidden, classes };
                let mixer: fn(&$config, &Device) -> PatchMixer = $mixer;
                let stack = VisionStack::new(sizes, device, || mixer(config, device));
                Ok(Self { stack, config: config.clone() })
            }

            or_panic! { forward = try_forward(images: Tensor<4>) -> Tensor<2> }

            /// Scores `[batch, classes]` of images `[batch, in_channels, image, image]`.
            ///
            /// # Errors
            /// [`ArgumentError`] for images of another size or of other channels.
            pub fn try_forward(&self, images: Tensor<4>) -> Result<Tensor<2>> {
                self.stack.try_forward(stringify!($model), images)
            }
        }

        impl Family for $model {
            configured_by! { $config, $name }

            fn variants() -> Vec<Variant<$config>> {
                $variants
            }

            applied_to! { images [in_channels, image, image]: Tensor<4> => Tensor<2>, $name }
        }
    };
}

vision_model! {
    /// Global filter network: an image classifier whose blocks mix patches by learned filters of their spectrum.
    ///
    /// A block is a residual connection around normalisation, a [`GlobalFilter`], normalisation and two linear layers.
    /// Linear layers and positions are normal with a deviation of 0.02 at first, biases 0.
    ///
    /// After Y. Rao et al., "Global Filter Networks for Image Classification" (2021).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::GfNetConfig;
    ///
    /// let device = Device::flex();
    /// let config = GfNetConfig::new().with_image(16).with_patch(4).with_width(8).with_layers(2).with_classes(5);
    /// let images = Tensor::<4>::ones([3, 3, 16, 16], &device); // [batch, channels, rows, columns]
    /// assert_eq!(config.init(&device).forward(images).dims(), [3, 5]);
    /// ```
    GfNet, GfNetConfig,
    |config, device| PatchMixer::Filter(GlobalFilter::new(config.side(), config.width, device));
    "gfnet";
    {
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
}

vision_model! {
    /// Adaptive Fourier neural operator as an image classifier: blocks mix patches by linear layers over the channels
    /// of each bin of their spectrum.
    ///
    /// A block is an [`AfnoMixer`] behind a normalisation, with a residual connection, then two linear layers behind a
    /// normalisation, with another one.
    ///
    /// After J. Guibas et al., "Adaptive Fourier Neural Operators: Efficient Token Mixers for Transformers" (2022).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::AfnoConfig;
    ///
    /// let device = Device::flex();
    /// let config = AfnoConfig::new().with_image(16).with_patch(4).with_width(8).with_blocks(2).with_layers(2);
    /// let images = Tensor::<4>::ones([3, 3, 16, 16], &device); // [batch, channels, rows, columns]
    /// assert_eq!(config.init(&device).forward(images).dims(), [3, 1000]);
    /// ```
    Afno, AfnoConfig,
    |config, device| PatchMixer::Operator(AfnoMixer::new(config.width, config.blocks, config.threshold, device));
    "afno";
    {
        let config = AfnoConfig::new();
        let tiny =
            config.clone().with_image(12).with_patch(3).with_width(6).with_blocks(2).with_layers(2).with_classes(3);
        vec![
            Variant::new("afno", "12 blocks of 256 values, weights in 8 blocks", config),
            Variant::new("afno_tiny", "2 blocks of 6 values, for tests", tiny),
        ]
    }
}

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
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>> {
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
    pub fn try_forward(&self, patches: Tensor<4>) -> Result<Tensor<4>> {
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
