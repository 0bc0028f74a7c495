//! Configuration of Fourier neural operators.

use burn::config::Config;
use firefly_ops::ArgumentError;
use serde::{Deserialize, Serialize};

use crate::{MAX_DEPTH, ensure, ensure_most};

/// Name in errors.
const NAME: &str = "FnoConfig";
/// Largest number of zeros appended to a field, per point of the field.
const MAX_PADDING_SHARE: f64 = 4.0;

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

/// Configuration of [`Fno`](crate::fno::Fno).
///
/// ```
/// use firefly_models::FnoConfig;
///
/// let config = FnoConfig::new(vec![12, 7]).with_width(20);
/// assert!(config.validate().is_ok());
/// assert!(config.with_points(8).validate().unwrap_err().to_string().contains("`modes` is 12 along dimension 0"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct FnoConfig {
    /// Modes that are kept along each dimension: the lowest bins along the last one; along any other the lowest
    /// non-negative and negative frequencies together.
    pub modes: Vec<usize>,
    /// Channels of the input.
    #[config(default = 1)]
    pub in_channels: usize,
    /// Channels of the output.
    #[config(default = 1)]
    pub out_channels: usize,
    /// Channels of the layers.
    #[config(default = 32)]
    pub width: usize,
    /// Number of layers.
    #[config(default = 4)]
    pub layers: usize,
    /// Kind of the layers.
    #[config(default = "FnoKind::Dense")]
    pub kind: FnoKind,
    /// Hidden channels between the input and the first layer; a single linear layer if `None`.
    pub lifting: Option<usize>,
    /// Hidden channels between the last layer and the output.
    #[config(default = 128)]
    pub projection: usize,
    /// Whether the coordinates of each point, from 0 to 1, are channels of the input too.
    #[config(default = true)]
    pub coordinates: bool,
    /// Whether the last point's coordinate is 1, so that points are k/(n − 1), or else points are k/n.
    #[config(default = true)]
    pub endpoint: bool,
    /// Zeros appended to the field along each dimension, for fields that are not periodic; they are removed from the
    /// output.
    #[config(default = 0)]
    pub padding: usize,
    /// Zeros appended to the field, as a share of its domain. The domain ends at the last point with `endpoint`, and
    /// one point after it without. The number of zeros is rounded and depends on the resolution; the padded domain does
    /// not.
    #[config(default = 0.0)]
    pub padding_share: f64,
    /// Points along each dimension of the declared inputs; fields of other lengths are accepted as well.
    #[config(default = 64)]
    pub points: usize,
}

impl FnoConfig {
    /// Number of dimensions of a field.
    pub fn dims(&self) -> usize {
        self.modes.len()
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        let (dims, share) = (self.dims(), self.padding_share);
        ensure((1..=3).contains(&dims), NAME, "modes", format_args!("for {dims} dimensions"), "for one to three")?;
        ensure_least!(self, NAME, in_channels: 1.0, out_channels: 1.0, width: 1.0, layers: 1.0)?;
        ensure(self.lifting != Some(0), NAME, "lifting", 0, "at least 1")?;
        ensure_least!(self, NAME, projection: 1.0)?;
        ensure_most(NAME, "layers", self.layers, MAX_DEPTH)?;
        ensure((0.0..=MAX_PADDING_SHARE).contains(&share), NAME, "padding_share", share, "from 0 to 4")?;
        let points = vec![self.points; self.dims()];
        self.validate_points(NAME, "modes", &points)
    }

    /// Zeros behind a field along a dimension of `points`.
    pub(super) fn zeros_behind(&self, points: usize) -> usize {
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

    /// Checks that a field of `points` has the modes; `argument` is what the error names.
    pub(super) fn validate_points(
        &self,
        operation: &'static str,
        argument: &'static str,
        points: &[usize],
    ) -> Result<(), ArgumentError> {
        for (dim, (&modes, &points)) in self.modes.iter().zip(points).enumerate() {
            let most = self.most_modes(dim, points);
            let got = format!("{modes} along dimension {dim}");
            let expected = format!("from 1 to {most} modes for {points} points");
            ensure((1..=most).contains(&modes), operation, argument, got, expected)?;
        }
        Ok(())
    }
}
