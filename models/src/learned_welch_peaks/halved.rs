//! The transform of sums of neighbouring samples, in place of that of samples.

use std::f64::consts::PI;

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};
use firefly_ops::{ArgumentError, Direction, LearnedParameters, Scaling, WelchOptions, exact_twiddles};

use super::config::LearnedWelchPeaksConfig;
use super::gain::{block_of_bins, two_sided_factors};
use super::gates::Gates;
use super::module::{LearnedWelchPeaks, wrong_gates};

/// What a halved transform takes besides the parameters of the model.
#[derive(Module, Debug)]
pub(super) struct HalvedConstants {
    /// Exact twiddles of its length.
    twiddles: Tensor<3>,
    /// Open gates of its butterflies.
    gates: Tensor<2>,
    /// Factors of the gain of its bins, `[bins, taps]`, by which the power is that of the whole transform, but for the two
    /// bins at its end.
    factors: Tensor<2>,
    /// Index of each bin's block, `[bins]`, if blocks have gates.
    pub block_of_bins: Option<Tensor<1, Int>>,
}

impl HalvedConstants {
    /// Those of a configuration, if it has a transform that may be halved.
    pub fn of(config: &LearnedWelchPeaksConfig, device: &Device) -> Result<Option<Self>, ArgumentError> {
        let Some(options) = config.halved_options() else { return Ok(None) };
        let (n, bins) = (options.n_fft, options.bins());
        let factors = Tensor::from_data(TensorData::new(power_factors(&options), [bins, 1]), device);
        // The gain's own factors at the ends of the whole spectrum, replaced by those at the ends of this one.
        let factors = match config.product_weight {
            Some(_) => {
                factors * two_sided_factors(bins, device)
                    / two_sided_factors(config.options().bins(), device).narrow(0, 0, bins)
            }
            None => factors,
        };
        Ok(Some(Self {
            twiddles: exact_twiddles(n, Direction::Forward, FloatDType::F32, device)?,
            gates: Tensor::ones([options.stages(), n / 2], device),
            factors,
            block_of_bins: config.closed_blocks.as_ref().map(|_| block_of_bins(&options, device)),
        }))
    }
}

/// Factor of each bin's power, with which a sinusoid has the power that the whole transform finds.
fn power_factors(options: &WelchOptions) -> Vec<f32> {
    let summed = f64::from(1u32 << options.halvings);
    // The sums of the window and of its squares, which scalings divide by, are those of its means over as many samples.
    let scaling = match options.scaling {
        Scaling::Power => 1.0,
        Scaling::Spectrum => summed.powi(-2),
        _ => summed.recip(),
    };
    let last = options.bins() - 1;
    let factor = |bin: usize| {
        // What a sum passes of a sinusoid, as a share of the samples.
        let angle = PI * bin as f64 / (options.n_fft as f64 * summed);
        let passes = if bin == 0 { 1.0 } else { (summed * angle).sin() / (summed * angle.sin()) };
        // The last bin counts once here, and as one of two in the whole spectrum.
        let sides = if bin == last { 2.0 } else { 1.0 };
        (scaling * sides / (passes * passes)) as f32
    };
    (0..=last).map(factor).collect()
}

impl LearnedWelchPeaks {
    /// Parameters of the halved transform: the means of the window over the samples of each sum, and the gain of the bins
    /// that are left.
    pub(super) fn parameters_of_sums(&self, gates: &Gates) -> Result<LearnedParameters, ArgumentError> {
        let (Some(constants), Some(options)) = (&self.halved, self.config.halved_options()) else {
            return Err(wrong_gates("those of a halved transform", "gates of a model that has none"));
        };
        let window = self.taper.val().reshape([options.n_fft, 1 << options.halvings]).mean_dim(1).squeeze_dim(1);
        let gain = self.gated_gain(gates) * constants.factors.clone();
        let (twiddles, butterflies) = (constants.twiddles.clone(), constants.gates.clone());
        Ok(LearnedParameters::new(window, twiddles, butterflies, gates.weights().clone(), gain))
    }

    /// Power of the halved transform's bins `[.., its bins]` as that of every bin `[.., bins]`: 0 above its last one.
    pub(super) fn with_missing_bins<const D: usize>(&self, power: Tensor<D>) -> Tensor<D> {
        let mut missing = power.dims();
        missing[D - 1] = self.options().bins() - missing[D - 1];
        let zeros = Tensor::zeros(missing, (&power.device(), power.dtype()));
        Tensor::cat(vec![power, zeros], D - 1)
    }
}
