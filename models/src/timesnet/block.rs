//! Blocks of TimesNet.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Initializer, PaddingConfig2d};
use burn::tensor::activation::gelu;
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor};
use firefly_ops::ArgumentError;

use super::config::TimesNetConfig;
use super::periods::find_periods;
use crate::expect_valid;

/// Mean of convolutions with kernels of 1, 3, 5, … rows and columns.
#[derive(Module, Debug)]
struct Inception {
    convolutions: Vec<Conv2d>,
}

impl Inception {
    /// Weights drawn from a normal distribution of variance 2 / outputs of a kernel, and a bias of 0.
    fn new(from: usize, to: usize, kernels: usize, device: &Device) -> Self {
        let initializer = Initializer::KaimingNormal { gain: 2f64.sqrt(), fan_out_only: true };
        let convolution = |reach: usize| {
            let side = 2 * reach + 1;
            let padding = PaddingConfig2d::Explicit(reach, reach, reach, reach);
            let config = Conv2dConfig::new([from, to], [side, side]).with_padding(padding).with_bias(false);
            let mut convolution = config.with_initializer(initializer.clone()).init(device);
            convolution.bias = Some(Param::from_tensor(Tensor::zeros([to], device)));
            convolution
        };
        Self { convolutions: (0..kernels).map(convolution).collect() }
    }

    /// The single convolution that is the mean of the convolutions: with the mean of their kernels, the smaller ones with
    /// zeros around them.
    fn merged(&self) -> MergedConvolution {
        let reach = self.convolutions.len() - 1;
        let kernel = |(of_kernel, convolution): (usize, &Conv2d)| {
            let around = (reach - of_kernel, reach - of_kernel);
            convolution.weight.val().pad([(0, 0), (0, 0), around, around], 0.0)
        };
        let kernels = self.convolutions.iter().enumerate().map(kernel).collect();
        let biases =
            self.convolutions.iter().filter_map(|convolution| Some(convolution.bias.as_ref()?.val())).collect();
        MergedConvolution {
            kernel: Tensor::stack::<5>(kernels, 0).mean_dim(0).squeeze_dim(0),
            bias: Tensor::stack::<2>(biases, 0).mean_dim(0).squeeze_dim(0),
            reach,
        }
    }
}

/// Convolution of pictures that keeps their size.
struct MergedConvolution {
    kernel: Tensor<4>,
    bias: Tensor<1>,
    /// Rows and columns of the kernel on each side of its middle.
    reach: usize,
}

impl MergedConvolution {
    fn forward(&self, picture: Tensor<4>) -> Tensor<4> {
        let options = ConvOptions::new([1, 1], [self.reach, self.reach], [1, 1], 1);
        conv2d(picture, self.kernel.clone(), Some(self.bias.clone()), options)
    }
}

/// Block of TimesNet. For each of its strongest periods, the series is folded into an image with a period per row, to
/// which two layers of convolutions are applied. The mean of the results, weighted by amplitude, is added to the
/// series.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use firefly_models::{TimesBlock, TimesNetConfig};
///
/// let device = Device::flex();
/// let config = TimesNetConfig::new().with_features(4).with_hidden(4).with_kernels(2).with_periods(2);
/// let block = TimesBlock::new(&config, &device);
/// let series = Tensor::<3>::random([3, 36, 4], Distribution::Default, &device); // [batch, samples, features]
/// assert_eq!(block.forward(series).dims(), [3, 36, 4]);
/// ```
#[derive(Module, Debug)]
pub struct TimesBlock {
    first: Inception,
    second: Inception,
    #[module(skip)]
    periods: usize,
}

impl TimesBlock {
    /// The untrained block of a configuration.
    pub fn new(config: &TimesNetConfig, device: &Device) -> Self {
        let TimesNetConfig { features, hidden, kernels, periods, .. } = *config;
        let first = Inception::new(features, hidden, kernels, device);
        Self { first, second: Inception::new(hidden, features, kernels, device), periods }
    }

    /// `series` `[batch, samples, features]` after the block, of the same shape. Reads the periods back from the
    /// device.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward(&self, series: Tensor<3>) -> Tensor<3> {
        expect_valid(self.try_forward(series))
    }

    /// A series after the block, as [`forward`](Self::forward).
    ///
    /// # Errors
    /// [`ArgumentError`] for a series of fewer than two samples per period.
    pub fn try_forward(&self, series: Tensor<3>) -> Result<Tensor<3>, ArgumentError> {
        let [batch, samples, features] = series.dims();
        let periods = find_periods(series.clone(), self.periods)?;
        // A period is a length of rows: the host has to know it.
        let frequencies: Vec<i64> = periods.frequencies.into_data().iter().collect();
        let [first, second] = [&self.first, &self.second].map(Inception::merged);
        let mut sum = series.clone();
        for (place, frequency) in frequencies.into_iter().enumerate() {
            let period = samples / frequency.max(1) as usize;
            let rows = samples.div_ceil(period);
            let padded = series.clone().pad([(0, 0), (0, rows * period - samples), (0, 0)], 0.0);
            let picture: Tensor<4> = padded.swap_dims(1, 2).reshape([batch, features, rows, period]);
            let picture = second.forward(gelu(first.forward(picture)));
            let result: Tensor<3> = picture.reshape([batch, features, rows * period]);
            let weight: Tensor<3> = periods.weights.clone().narrow(1, place, 1).reshape([batch, 1, 1]);
            sum = sum + result.swap_dims(1, 2).narrow(1, 0, samples) * weight;
        }
        Ok(sum)
    }
}
