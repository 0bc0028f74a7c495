//! Operators between fields in other units.

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use firefly_ops::ArgumentError;

use super::Fno;
use crate::channel_linear::ChannelLinear;
use crate::ensure;

/// Name in errors.
const NAME: &str = "Fno::in_units";

/// Unit of a channel of a field: a value `x` is `(x − mean) / deviation` in units of the deviation from the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChannelUnit {
    /// The mean.
    pub mean: f64,
    /// The deviation, positive.
    pub deviation: f64,
}

impl<const D: usize> Fno<D> {
    /// The same operator between fields in units of their own: of one between standardised fields, the one that
    /// standardises its input by `input` and returns outputs in the units `output`. The first and the last linear layer
    /// take up the units, so that results are equal up to rounding.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::fno::ChannelUnit;
    /// use firefly_models::{Fno1d, FnoConfig};
    ///
    /// let device = Device::flex();
    /// let model: Fno1d = FnoConfig::new(vec![3]).with_width(4).with_points(16).init(&device);
    /// let unit = |mean, deviation| [ChannelUnit { mean, deviation }];
    /// let field = Tensor::<3>::ones([2, 1, 16], &device);
    /// let expected = model.forward((field.clone() - 5.0) / 2.0) * 100.0 + 7.0;
    /// let found = model.in_units(&unit(5.0, 2.0), &unit(7.0, 100.0))?.forward(field);
    /// assert!((found - expected).abs().max().into_scalar::<f32>() < 1e-3);
    /// # Ok::<(), firefly_models::ArgumentError>(())
    /// ```
    ///
    /// # Errors
    /// [`ArgumentError`] for units of another number of channels, and for deviations that are not positive.
    pub fn in_units(mut self, input: &[ChannelUnit], output: &[ChannelUnit]) -> Result<Self, ArgumentError> {
        for (argument, units, channels) in
            [("input", input, self.config().in_channels), ("output", output, self.config().out_channels)]
        {
            let is_usable =
                |unit: &ChannelUnit| unit.mean.is_finite() && unit.deviation.is_finite() && unit.deviation > 0.0;
            let are_usable = units.len() == channels && units.iter().all(is_usable);
            let expected = format!("{channels} with finite means and deviations above 0");
            ensure(are_usable, NAME, argument, format_args!("{units:?}"), expected)?;
        }
        if let Some(first) = self.lifting.first_mut() {
            change(first, |weight, bias, inputs| {
                for (row, bias) in weight.chunks_exact_mut(inputs).zip(bias) {
                    for (weight, unit) in row.iter_mut().zip(input) {
                        *weight /= unit.deviation;
                        *bias -= *weight * unit.mean;
                    }
                }
            });
        }
        if let Some(last) = self.projection.last_mut() {
            change(last, |weight, bias, inputs| {
                for ((row, bias), unit) in weight.chunks_exact_mut(inputs).zip(bias).zip(output) {
                    row.iter_mut().for_each(|weight| *weight *= unit.deviation);
                    *bias = *bias * unit.deviation + unit.mean;
                }
            });
        }
        Ok(self)
    }
}

/// Changes the weights `[out, in]` and the bias `[out]` of a layer in f64; `to` also takes the number of inputs.
fn change(layer: &mut ChannelLinear, to: impl FnOnce(&mut [f64], &mut [f64], usize)) {
    let (weight, bias) = (layer.weight.val(), layer.bias.val());
    let ([outputs, inputs], device, dtype) = (weight.dims(), weight.device(), weight.dtype());
    let mut weights: Vec<f64> = weight.into_data().iter().collect();
    let mut biases: Vec<f64> = bias.into_data().iter().collect();
    to(&mut weights, &mut biases, inputs);
    layer.weight = Param::from_tensor(Tensor::from_data(TensorData::new(weights, [outputs, inputs]), (&device, dtype)));
    layer.bias = Param::from_tensor(Tensor::from_data(TensorData::new(biases, [outputs]), (&device, dtype)));
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution};

    use super::*;
    use crate::fno::FnoKind;
    use crate::{Fno2d, FnoConfig};

    #[test]
    fn units_of_each_channel_are_taken_up_by_the_first_and_the_last_layer() {
        let device = Device::flex();
        for (lifting, kind) in [(None, FnoKind::Dense), (Some(7), FnoKind::Factorized)] {
            let config = FnoConfig::new(vec![3, 3]).with_in_channels(2).with_out_channels(3).with_width(4);
            let config = config.with_lifting(lifting).with_kind(kind).with_padding(2).with_points(8);
            let model: Fno2d = config.init(&device);
            let input = [(3.0, 2.0), (-1.0, 0.5)].map(|(mean, deviation)| ChannelUnit { mean, deviation });
            let output =
                [(0.0, 1.0), (40.0, 10.0), (-2.0, 0.1)].map(|(mean, deviation)| ChannelUnit { mean, deviation });
            let field = Tensor::<4>::random([2, 2, 8, 8], Distribution::Normal(0.0, 2.0), &device);
            let row = |of: &dyn Fn(&ChannelUnit) -> f64, units: &[ChannelUnit]| {
                let values: Vec<f64> = units.iter().map(of).collect();
                Tensor::<4>::from_data(TensorData::new(values, [1, units.len(), 1, 1]), &device)
            };
            let (mean, deviation) = (|unit: &ChannelUnit| unit.mean, |unit: &ChannelUnit| unit.deviation);
            let standard = (field.clone() - row(&mean, &input)) / row(&deviation, &input);
            let expected = model.forward(standard) * row(&deviation, &output) + row(&mean, &output);
            let found = model.in_units(&input, &output).unwrap().forward(field);
            let error = ((found - expected) / row(&deviation, &output)).abs().max().into_scalar::<f32>();
            assert!(error < 1e-4, "{error}");
        }
    }

    #[test]
    fn units_that_do_not_fit_are_refused() {
        let model = || -> Fno2d { FnoConfig::new(vec![3, 3]).with_width(4).with_points(8).init(&Device::flex()) };
        let unit = ChannelUnit { mean: 0.0, deviation: 1.0 };
        let argument = |input: &[ChannelUnit], output: &[ChannelUnit]| {
            model().in_units(input, output).err().map(|error| error.argument)
        };
        assert_eq!(argument(&[unit], &[unit]), None);
        assert_eq!(argument(&[unit, unit], &[unit]), Some("input"));
        assert_eq!(argument(&[unit], &[]), Some("output"));
        assert_eq!(argument(&[ChannelUnit { deviation: 0.0, ..unit }], &[unit]), Some("input"));
        assert_eq!(argument(&[unit], &[ChannelUnit { mean: f64::NAN, ..unit }]), Some("output"));
    }
}
