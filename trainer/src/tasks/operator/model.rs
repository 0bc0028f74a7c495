//! The trained model: an operator of the zoo between fields in their own units.

use firefly_models::fno::ChannelUnit;
use serde::{Deserialize, Serialize};

use super::fields::Fields;
use crate::tasks::prelude::*;

/// Mean and deviation of each channel, by which fields are brought to units of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChannelScales {
    /// The means.
    pub means: Vec<f64>,
    /// The deviations, none of them 0.
    pub deviations: Vec<f64>,
}

impl ChannelScales {
    /// Those of all values of each channel. A channel that is constant has deviation 1.
    pub fn of(fields: &Fields) -> Self {
        let points: usize = fields.points.iter().product();
        let values = |channel: usize| {
            let of_sample = move |index| &fields.sample(index)[channel * points..][..points];
            (0..fields.len()).flat_map(of_sample).map(|value| f64::from(*value))
        };
        let count = (fields.len() * points) as f64;
        let means: Vec<f64> = (0..fields.channels).map(|channel| values(channel).sum::<f64>() / count).collect();
        let deviation = |(channel, mean): (usize, &f64)| {
            let variance = values(channel).map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            if variance > 0.0 { variance.sqrt() } else { 1.0 }
        };
        Self { deviations: means.iter().enumerate().map(deviation).collect(), means }
    }

    /// Scales that leave fields of so many channels as they are.
    pub fn identity(channels: usize) -> Self {
        Self { means: vec![0.0; channels], deviations: vec![1.0; channels] }
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.means.len()
    }

    fn is_identity(&self) -> bool {
        *self == Self::identity(self.channels())
    }

    fn units(&self) -> Vec<ChannelUnit> {
        let pairs = self.means.iter().zip(&self.deviations);
        pairs.map(|(&mean, &deviation)| ChannelUnit { mean, deviation }).collect()
    }

    /// A field `[batch, channels, points…]` in units of the deviation from the mean.
    fn standardised<const D: usize>(&self, field: Tensor<D>) -> Tensor<D> {
        if self.is_identity() {
            return field;
        }
        let device = field.device();
        (field - per_channel(&self.means, &device)) / per_channel(&self.deviations, &device)
    }

    /// A standardised field in its own units.
    fn reverted<const D: usize>(&self, field: Tensor<D>) -> Tensor<D> {
        if self.is_identity() {
            return field;
        }
        let device = field.device();
        field * per_channel(&self.deviations, &device) + per_channel(&self.means, &device)
    }
}

/// A value per channel, `[1, channels, 1…]`.
fn per_channel<const D: usize>(values: &[f64], device: &Device) -> Tensor<D> {
    let mut shape = [1; D];
    shape[1] = values.len();
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Description of the fields that a model was trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldDescription {
    /// Points along each dimension of the training samples, closed if their domain is.
    pub points: Vec<usize>,
    /// Scales of the inputs.
    pub input: ChannelScales,
    /// Scales of the outputs.
    pub output: ChannelScales,
}

/// Operator of the zoo with the scales of its inputs and outputs.
#[derive(Module, Debug)]
pub struct FieldOperator {
    /// The operator between standardised fields.
    pub model: ZooModel,
    /// The fields that it was trained on.
    #[module(skip)]
    pub fields: FieldDescription,
}

impl FieldOperator {
    /// Outputs `[batch, channels · points]` of inputs in the same form, at `points` points along each dimension. An
    /// error if the model is of another number of dimensions, or the points are too few for its modes.
    pub fn try_forward(&self, inputs: Tensor<2>, points: &[usize]) -> Result<Tensor<2>> {
        match points.len() {
            1 => self.forward_fields::<3>(inputs, points),
            2 => self.forward_fields::<4>(inputs, points),
            _ => self.forward_fields::<5>(inputs, points),
        }
    }

    /// The same operator with scales in the weights of its model, so that those are of use by themselves. Equal up to
    /// rounding. An error if a scale is not finite.
    pub fn with_scales_in_weights(&self) -> Result<Self> {
        let FieldDescription { input, output, points } = &self.fields;
        if input.is_identity() && output.is_identity() {
            return Ok(self.clone());
        }
        let [inputs, outputs] = [input, output].map(ChannelScales::units);
        let model = match self.model.clone() {
            ZooModel::Fno1d(model) => model.in_units(&inputs, &outputs)?.into(),
            ZooModel::Fno2d(model) => model.in_units(&inputs, &outputs)?.into(),
            ZooModel::Fno3d(model) => model.in_units(&inputs, &outputs)?.into(),
            _ => return Ok(self.clone()),
        };
        let [input, output] = [input, output].map(|scales| ChannelScales::identity(scales.channels()));
        Ok(Self { model, fields: FieldDescription { points: points.clone(), input, output } })
    }

    /// The same for fields as tensors of rank `D`.
    fn forward_fields<const D: usize>(&self, inputs: Tensor<2>, points: &[usize]) -> Result<Tensor<2>> {
        let batch = inputs.dims()[0];
        let shape: [usize; D] = std::array::from_fn(|axis| match axis {
            0 => batch,
            1 => self.fields.input.channels(),
            _ => points[axis - 2],
        });
        let field = self.fields.input.standardised(inputs.reshape(shape));
        let output = zoo_model::first_output(&self.model, vec![field.into()])?;
        let output = self.fields.output.reverted(output.try_float::<D>("operator", "field")?);
        let values = output.dims()[1..].iter().product();
        Ok(output.reshape([batch, values]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_move_into_the_weights() {
        let device = Device::flex();
        let model = firefly_models::zoo::create("fno1d_tiny", &Default::default(), &device).unwrap();
        let scales = |mean, deviation| ChannelScales { means: vec![mean], deviations: vec![deviation] };
        let fields = FieldDescription { points: vec![8], input: scales(3.0, 2.0), output: scales(-10.0, 5.0) };
        let operator = FieldOperator { model, fields };
        let own = operator.with_scales_in_weights().unwrap();
        assert_eq!(own.fields.input, ChannelScales::identity(1));
        let inputs = Tensor::<2>::from_floats([[1.0, 5.0, -2.0, 0.0, 3.0, 8.0, 2.0, 1.0]], &device);
        let [found, expected] = [own, operator].map(|model| model.try_forward(inputs.clone(), &[8]).unwrap());
        assert!((found - expected).abs().max().into_scalar::<f32>() < 1e-4);
    }

    #[test]
    fn standardised_fields_have_mean_0_and_deviation_1_and_can_be_reverted() {
        let values: Vec<f32> =
            (0..24).map(|value| (value as f32 * 1.7).sin() + if value % 6 < 3 { 5.0 } else { -2.0 }).collect();
        let fields = Fields::new(2, vec![3], values.clone());
        let scales = ChannelScales::of(&fields);
        let tensor = Tensor::<3>::from_data(TensorData::new(values.clone(), [4, 2, 3]), &Device::flex());
        let standard = scales.standardised(tensor);
        let standard_values: Vec<f32> = standard.clone().into_data().iter().collect();
        let again = ChannelScales::of(&Fields::new(2, vec![3], standard_values));
        assert!(again.means.iter().all(|mean| mean.abs() < 1e-6), "{again:?}");
        assert!(again.deviations.iter().all(|deviation| (deviation - 1.0).abs() < 1e-6), "{again:?}");
        let reverted: Vec<f32> = scales.reverted(standard).into_data().iter().collect();
        assert!(reverted.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-5));
        let constant = Fields::new(1, vec![2], vec![3.0; 4]);
        assert_eq!(ChannelScales::of(&constant).deviations, [1.0]);
    }
}
