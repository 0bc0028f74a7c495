//! Contract of the families that the task trains: an estimate, and the exact ones that it is compared with.

use burn::tensor::{Device, Tensor};
use firefly_models::zoo::ZooModel;
use firefly_models::{ArgumentError, Peaks};

use super::LossSection;
use crate::metrics::StepLoss;
use crate::task::TaskError;
use crate::tasks::gate_noise::GateNoise;

/// Spectral estimate of frames.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// What is estimated.
    pub output: Output,
    /// Segments that each frame took, `[rows, 1]`, where their number differs between frames.
    pub segments: Option<Tensor<2>>,
}

/// Features of frames.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "an output is one value among tensors")]
pub enum Output {
    /// Power of every bin, `[rows, bins]`.
    Power(Tensor<2>),
    /// Natural logarithm of power in bands, `[rows, bands]`.
    LogPower(Tensor<2>),
    /// Strongest bins and their power, `[rows, k]`.
    Peaks(Peaks<2>),
}

/// Estimate of frames `[rows, frame]`.
pub type EstimateFn<'a> = Box<dyn Fn(Tensor<2>) -> Result<Estimate, ArgumentError> + 'a>;

/// An estimate that is compared with others.
pub struct Compared<'a> {
    /// Its name.
    pub name: String,
    /// Whether it was trained.
    pub is_learned: bool,
    /// Open butterflies as a share of all, for transforms whose butterflies have gates.
    pub open_share: Option<f64>,
    /// The estimate.
    pub estimate: EstimateFn<'a>,
}

/// Model whose estimate takes less work than the exact one that it is trained towards.
pub trait Estimator {
    /// Samples in a frame.
    fn frame(&self) -> usize;

    /// Loss of frames `[rows, frame]`: the error in place of the exact estimate, and the price of the work. Gates are
    /// drawn from `noise`, and hard where there is none.
    ///
    /// # Errors
    /// [`ArgumentError`] for frames of another length.
    fn loss(
        &self,
        frames: Tensor<2>,
        section: &LossSection,
        noise: Option<GateNoise>,
    ) -> Result<StepLoss, ArgumentError>;

    /// The model's estimate with hard decisions.
    ///
    /// # Errors
    /// [`ArgumentError`] for frames of another length.
    fn estimate(&self, frames: Tensor<2>) -> Result<Estimate, ArgumentError>;

    /// Open gates as a share of all, if the model has gates.
    fn open_share(&self) -> Option<f64>;

    /// Exact estimates on `device`, the last of which is the reference.
    fn exact(&self, device: &Device) -> Vec<Compared<'static>>;
}

/// The contract of a model of the zoo.
///
/// # Errors
/// [`TaskError::Unsuitable`] for a model of another family.
pub fn estimator(model: &ZooModel) -> Result<&dyn Estimator, TaskError> {
    match model {
        ZooModel::LearnedFft(model) => Ok(model),
        ZooModel::AdaptiveWelchPeaks(model) => Ok(model),
        other => Err(TaskError::Unsuitable {
            model: other.family().name.into(),
            reason: "it has no exact estimate beside it".into(),
        }),
    }
}
