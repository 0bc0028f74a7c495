//! Fourier neural operators in one to three dimensions.

mod layer;

use burn::tensor::activation::gelu;
use serde::{Deserialize, Serialize};

pub use layer::{DenseLayer, FactorizedLayer, FnoLayer, SpectralWeights};

use crate::channel_linear::ChannelLinear;
use crate::prelude::*;

/// Kind of the layers of a Fourier neural operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FnoKind {
    /// One spectral convolution in all dimensions, beside a linear layer over channels (Li et al. 2021).
    Dense,
    /// A spectral convolution along each dimension, summed, before two linear layers over channels, and a residual
    /// connection (Tran et al. 2023).
    Factorized,
}

config! {
    /// Configuration of [`Fno`].
    ///
    /// ```
    /// use firefly_models::FnoConfig;
    ///
    /// let config = FnoConfig::new(vec![12, 7]).with_width(20);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_points(8).validate().unwrap_err().to_string().contains("`modes` is 12 along dimension 0"));
    /// ```
    FnoConfig;
    /// Modes that are kept along each dimension: the lowest bins along the last one; along any other the lowest
    /// non-negative and negative frequencies together.
    modes: Vec<usize>;
    /// Channels of the input.
    in_channels: usize = 1;
    /// Channels of the output.
    out_channels: usize = 1;
    /// Channels of the layers.
    width: usize = 32;
    /// Number of layers.
    layers: usize = 4;
    /// Kind of the layers.
    kind: FnoKind = "FnoKind::Dense";
    /// Hidden channels between the input and the first layer; a single linear layer if `None`.
    lifting: Option<usize>;
    /// Hidden channels between the last layer and the output.
    projection: usize = 128;
    /// Whether the coordinates of each point, from 0 to 1, are channels of the input too.
    coordinates: bool = true;
    /// Whether the last point's coordinate is 1, so that points are k/(n − 1), or else points are k/n.
    endpoint: bool = true;
    /// Zeros appended to the field along each dimension, for fields that are not periodic; they are removed from the
    /// output.
    padding: usize = 0;
    /// Zeros appended to the field, as a share of its domain. The domain ends at the last point with `endpoint`, and
    /// one point after it without. The number of zeros is rounded and depends on the resolution; the padded domain does
    /// not.
    padding_share: f64 = 0.0;
    /// Points along each dimension of the declared inputs; fields of other lengths are accepted as well.
    points: usize = 64;
}

validated! { FnoConfig }

impl FnoConfig {
    /// Number of dimensions of a field.
    pub fn dims(&self) -> usize {
        self.modes.len()
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "FnoConfig";
        let (dims, share) = (self.dims(), self.padding_share);
        ensure((1..=3).contains(&dims), NAME, "modes", format_args!("for {dims} dimensions"), "for one to three")?;
        ensure_least!(self, NAME, in_channels: 1.0, out_channels: 1.0, width: 1.0, layers: 1.0)?;
        ensure(self.lifting != Some(0), NAME, "lifting", 0, "at least 1")?;
        ensure_least!(self, NAME, projection: 1.0)?;
        ensure_most(NAME, "layers", self.layers, MAX_DEPTH)?;
        ensure((0.0..=4.0).contains(&share), NAME, "padding_share", share, "from 0 to 4")?;
        let points = vec![self.points; self.dims()];
        self.validate_points(NAME, &points)
    }

    /// Zeros behind a field along a dimension of `points`.
    fn zeros_behind(&self, points: usize) -> usize {
        let intervals = if self.endpoint { points.saturating_sub(1) } else { points };
        let padded = ((1.0 + self.padding_share) * intervals as f64).round() as usize;
        self.padding + padded.saturating_sub(points)
    }

    /// Largest number of modes along a dimension of `points`.
    fn most_modes(&self, dim: usize, points: usize) -> usize {
        let padded = points + self.zeros_behind(points);
        let is_half = dim + 1 == self.dims() || self.kind == FnoKind::Factorized;
        if is_half { padded / 2 + 1 } else { padded }
    }

    /// Checks that a field of `points` has the modes.
    fn validate_points(&self, operation: &'static str, points: &[usize]) -> Result<()> {
        for (dim, (&modes, &points)) in self.modes.iter().zip(points).enumerate() {
            let most = self.most_modes(dim, points);
            let got = format!("{modes} along dimension {dim}");
            let expected = format!("from 1 to {most} modes for {points} points");
            ensure((1..=most).contains(&modes), operation, "modes", got, expected)?;
        }
        Ok(())
    }
}

/// Name in errors.
const NAME: &str = "Fno";

/// Fourier neural operator on fields `[batch, channels, n]`.
pub type Fno1d = Fno<3>;
/// Fourier neural operator on fields `[batch, channels, n₁, n₂]`.
pub type Fno2d = Fno<4>;
/// Fourier neural operator on fields `[batch, channels, n₁, n₂, n₃]`.
pub type Fno3d = Fno<5>;

/// Fourier neural operator: a map between fields on a grid, whose weights do not depend on the number of points.
///
/// The input and the coordinates of its points are lifted to `width` channels; layers follow; two linear layers over
/// channels, with a Gaussian error linear unit between them, project to the output. A dense layer is a
/// [`spectral_conv`](firefly_ops::spectral_conv) plus a linear layer over channels, with such a unit behind each layer
/// but the last; a factorised one is a residual connection around a sum of spectral convolutions along each dimension
/// and two linear layers.
///
/// After Z. Li et al., "Fourier Neural Operator for Parametric Partial Differential Equations" (2021), and A. Tran et
/// al., "Factorized Fourier Neural Operators" (2023), without its normalised weights.
///
/// ```
/// use burn::tensor::{Device, Tensor, TensorData};
/// use firefly_models::{Fno2d, FnoConfig};
///
/// let device = Device::flex();
/// let model: Fno2d = FnoConfig::new(vec![6, 4]).with_width(8).with_points(16).init(&device);
/// let field = |points| Tensor::<4>::ones([2, 1, points, points], &device); // [batch, channels, n₁, n₂]
/// assert_eq!(model.forward(field(16)).dims(), [2, 1, 16, 16]);
/// assert_eq!(model.forward(field(32)).dims(), [2, 1, 32, 32]);
/// ```
#[derive(Module, Debug)]
pub struct Fno<const D: usize> {
    /// Linear layers from the input to the width; a Gaussian error linear unit lies between two of them.
    pub lifting: Vec<ChannelLinear>,
    /// The layers.
    pub layers: Vec<FnoLayer<D>>,
    /// Linear layers from the width to the output.
    pub projection: Vec<ChannelLinear>,
    #[module(skip)]
    config: FnoConfig,
}

impl FnoConfig {
    or_panic! { init<const D> = try_init(device: &Device) -> Fno<D> }

    /// The untrained operator on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range, or modes for other dimensions than those of the
    /// operator.
    pub fn try_init<const D: usize>(&self, device: &Device) -> Result<Fno<D>> {
        const { assert!(D >= 3 && D <= 5, "batch, channels, and one to three dimensions") };
        self.validate()?;
        let (got, expected) = (format!("for {} dimensions", self.dims()), format!("for the {} of the operator", D - 2));
        ensure(self.dims() == D - 2, "FnoConfig", "modes", got, expected)?;
        let inputs = self.in_channels + if self.coordinates { D - 2 } else { 0 };
        let chain = |channels: &[usize]| {
            channels.windows(2).map(|pair| ChannelLinear::new(pair[0], pair[1], device)).collect::<Vec<_>>()
        };
        let lifted: Vec<usize> = [inputs].into_iter().chain(self.lifting).chain([self.width]).collect();
        Ok(Fno {
            lifting: chain(&lifted),
            layers: (0..self.layers).map(|_| FnoLayer::new(self, device)).collect(),
            projection: chain(&[self.width, self.projection, self.out_channels]),
            config: self.clone(),
        })
    }
}

impl<const D: usize> Fno<D> {
    or_panic! { forward = try_forward(field: Tensor<D>) -> Tensor<D> }

    /// The operator's output `[batch, out_channels, n…]` for a field `[batch, in_channels, n…]`.
    ///
    /// # Errors
    /// [`ArgumentError`] for a field of other channels, or of fewer points than the modes need.
    pub fn try_forward(&self, field: Tensor<D>) -> Result<Tensor<D>> {
        let FnoConfig { in_channels, kind, coordinates, endpoint, .. } = self.config;
        let dims = field.dims();
        let expected = format!("[batch, {in_channels}, …]");
        ensure(dims[1] == in_channels, NAME, "field", format_args!("{dims:?}"), expected)?;
        self.config.validate_points(NAME, &dims[2..])?;
        let input = if coordinates { with_coordinates(field, endpoint) } else { field };
        let mut hidden = chained(&self.lifting, input);
        let behind: [(usize, usize); D] =
            std::array::from_fn(|dim| (0, if dim < 2 { 0 } else { self.config.zeros_behind(dims[dim]) }));
        let is_padded = behind.iter().any(|(_, zeros)| *zeros > 0);
        if is_padded {
            hidden = hidden.pad(behind, 0.0);
        }
        for (index, layer) in self.layers.iter().enumerate() {
            hidden = layer.try_forward(hidden)?;
            if kind == FnoKind::Dense && index + 1 < self.layers.len() {
                hidden = gelu(hidden);
            }
        }
        if is_padded {
            hidden = (2..D).fold(hidden, |hidden, dim| hidden.narrow(dim, 0, dims[dim]));
        }
        Ok(chained(&self.projection, hidden))
    }

    /// Configuration of the operator.
    pub fn config(&self) -> &FnoConfig {
        &self.config
    }
}

/// Linear layers one after the other, with a Gaussian error linear unit between them.
fn chained<const D: usize>(layers: &[ChannelLinear], field: Tensor<D>) -> Tensor<D> {
    layers
        .iter()
        .enumerate()
        .fold(field, |field, (index, layer)| layer.forward(if index == 0 { field } else { gelu(field) }))
}

/// A field `[batch, channels, n…]` with the coordinates of its points along each dimension as further channels: k/(n −
/// 1) with an `endpoint`, k/n without.
fn with_coordinates<const D: usize>(field: Tensor<D>, endpoint: bool) -> Tensor<D> {
    let dims = field.dims();
    let mut one_channel = dims;
    one_channel[1] = 1;
    let coordinate = |dim: usize| {
        let intervals = if endpoint { dims[dim].max(2) - 1 } else { dims[dim] } as f32;
        let values: Vec<f32> = (0..dims[dim]).map(|point| point as f32 / intervals).collect();
        let mut line = [1; D];
        line[dim] = dims[dim];
        let line = Tensor::<D>::from_data(TensorData::new(values, line), (&field.device(), field.dtype()));
        line.expand(one_channel)
    };
    let coordinates = (2..D).map(coordinate);
    Tensor::cat(std::iter::once(field.clone()).chain(coordinates).collect(), 1)
}

/// Registers the operator of a number of dimensions.
macro_rules! operator {
    ($rank:literal, $name:literal, $variants:expr) => {
        impl Family for Fno<$rank> {
            configured_by! { FnoConfig, $name }

            fn variants() -> Vec<Variant<FnoConfig>> {
                $variants
            }

            fn inputs(&self, batch: usize) -> Vec<Input> {
                let FnoConfig { in_channels, points, .. } = *Fno::config(self);
                let mut shape = vec![points; $rank];
                (shape[0], shape[1]) = (batch, in_channels);
                vec![Input::new("field", shape)]
            }

            applied_to! { field: Tensor<$rank> => Tensor<$rank>, $name }
        }
    };
}

/// A configuration small enough for every test.
fn tiny(modes: Vec<usize>) -> FnoConfig {
    FnoConfig::new(modes).with_width(4).with_layers(2).with_projection(6).with_points(8)
}

/// Factorised layers on 17 points to the end of a domain that is not periodic.
fn closed(modes: Vec<usize>, width: usize) -> FnoConfig {
    let config = FnoConfig::new(modes).with_kind(FnoKind::Factorized).with_padding_share(0.25).with_points(17);
    config.with_width(width).with_lifting(Some(2 * width)).with_projection(2 * width)
}

operator!(3, "fno1d", {
    let burgers = FnoConfig::new(vec![16]).with_width(64).with_points(1024);
    vec![
        Variant::new("fno1d", "the paper's for Burgers' equation: 16 modes of 64 channels", burgers.clone()),
        Variant::new("fno1d_factorized", "factorised layers", burgers.with_kind(FnoKind::Factorized)),
        Variant::new("fno1d_tiny", "3 modes of 4 channels, for tests", tiny(vec![3])),
    ]
});

operator!(4, "fno2d", {
    let darcy = FnoConfig::new(vec![24, 12]).with_width(32).with_padding(9).with_points(85);
    let small = FnoConfig::new(vec![8, 4]).with_width(24).with_lifting(Some(48)).with_projection(48).with_points(16);
    let factorized = FnoConfig::new(vec![16, 16]).with_width(64).with_kind(FnoKind::Factorized);
    let closed = closed(vec![10, 10], 24);
    vec![
        Variant::new("fno2d", "the paper's for Darcy flow: 12 modes per corner of 32 channels, zeros behind", darcy),
        Variant::new("fno2d_small", "4 modes per corner of 24 channels, for grids of 16 points", small),
        Variant::new(
            "fno2d_darcy",
            "Darcy flow on the unit square, points k/n closed by those at 1: permeability 0 or 1 to pressure; \
             factorised",
            closed,
        )
        .with_weights(include_bytes!("../../weights/fno2d_darcy.safetensors")),
        Variant::new("fno2d_factorized", "factorised layers: 16 modes along each dimension of 64 channels", factorized),
        Variant::new("fno2d_tiny", "4 by 3 modes of 4 channels, for tests", tiny(vec![4, 3])),
        Variant::new(
            "fno2d_factorized_tiny",
            "factorised layers of 4 channels, for tests",
            tiny(vec![4, 3]).with_kind(FnoKind::Factorized),
        ),
    ]
});

operator!(5, "fno3d", {
    let flow = FnoConfig::new(vec![16, 16, 8]).with_width(20).with_padding(6);
    let factorized = FnoConfig::new(vec![8, 8, 8]).with_kind(FnoKind::Factorized);
    let closed = closed(vec![8, 8, 8], 16);
    vec![
        Variant::new("fno3d", "the paper's for Navier–Stokes flow: 8 modes per corner of 20 channels", flow),
        Variant::new(
            "fno3d_darcy",
            "Darcy flow on the unit cube, points k/n closed by those at 1: permeability to pressure; factorised",
            closed,
        )
        .with_weights(include_bytes!("../../weights/fno3d_darcy.safetensors")),
        Variant::new("fno3d_factorized", "factorised layers: 8 modes along each dimension", factorized),
        Variant::new("fno3d_tiny", "4, 3 and 2 modes of 4 channels, for tests", tiny(vec![4, 3, 2])),
    ]
});

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
    pub fn in_units(mut self, input: &[ChannelUnit], output: &[ChannelUnit]) -> Result<Self> {
        for (argument, units, channels) in
            [("input", input, self.config().in_channels), ("output", output, self.config().out_channels)]
        {
            let is_usable =
                |unit: &ChannelUnit| unit.mean.is_finite() && unit.deviation.is_finite() && unit.deviation > 0.0;
            let are_usable = units.len() == channels && units.iter().all(is_usable);
            let expected = format!("{channels} with finite means and deviations above 0");
            ensure(are_usable, "Fno::in_units", argument, format_args!("{units:?}"), expected)?;
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
    use super::*;
    use burn::tensor::Distribution;

    #[test]
    fn without_an_endpoint_points_are_shares_of_their_number() {
        let field = with_coordinates(Tensor::<3>::zeros([1, 1, 4], &Device::flex()), false);
        let values: Vec<f32> = field.into_data().iter().collect();
        assert_eq!(values[4..], [0.0, 0.25, 0.5, 0.75]);
    }

    #[test]
    fn the_first_point_is_at_0_and_the_last_at_1() {
        let field = with_coordinates(Tensor::<4>::zeros([2, 1, 3, 2], &Device::flex()), true);
        let values: Vec<f32> = field.clone().narrow(0, 1, 1).into_data().iter().collect();
        assert_eq!(field.dims(), [2, 3, 3, 2]);
        assert_eq!(values[6..], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }

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
