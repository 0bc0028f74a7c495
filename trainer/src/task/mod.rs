//! Contract of a task: what the loop, the run folder and the report call and show.

mod error;
mod placed;
mod predictions;
mod share;

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::Device;
use firefly_app::page::figure::Figure;
use serde::Serialize;

use crate::config::{Resolved, RunConfig, Sections, Training};
use crate::metrics::{Metric, StepLoss, TrainingPoint, Validation};
use crate::progress::Monitor;

pub use self::error::{ModelError, TaskError};
pub use self::placed::{Placed, over_devices};
pub use self::predictions::{PredictionFile, PredictionForm, PredictionTable, Predictions};
pub use self::share::{BatchShare, DeviceRank};

/// One model measured on one data set.
pub trait EvaluationRow: Debug + Clone + Serialize {
    /// The rows as tables on a terminal.
    fn terminal(rows: &[Self]) -> String;
}

/// Share of the learning rate that a parameter gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupRate {
    /// Path of the parameter in the model.
    pub path: &'static str,
    /// Share of the learning rate.
    pub share: f64,
}

/// Curve of the report: a metric over the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricCurve {
    /// Name of the metric, with `validation_` before it where a validation measures it.
    pub metric: &'static str,
    /// Name of the curve.
    pub name: &'static str,
    /// Title of its figure.
    pub title: &'static str,
    /// Label of the vertical axis.
    pub axis: &'static str,
    /// Whether the metric is a share in `0..=1`.
    pub is_share: bool,
    /// Text of the figure where the metric was not measured.
    pub empty: &'static str,
}

/// The parts of a run's page that a task contributes.
#[derive(Default)]
pub struct ReportParts {
    /// Name of the data that the run is reported on.
    pub data_set: String,
    /// Names and values that identify the run, besides data, device, versions and seed.
    pub facts: Vec<(String, String)>,
    /// Tables of the evaluation as HTML.
    pub tables: Vec<String>,
    /// Figures of the evaluation.
    pub figures: Vec<Figure>,
    /// Figures of the learned model.
    pub model: Vec<Figure>,
}

/// Kind of training: data, loss, metrics and evaluation, beside the [`Sections`] of its configuration.
///
/// An implementation holds the opened data of one run. The loop, checkpoints, sweeps and the report are generic over
/// the task.
pub trait Task: Sections {
    /// Terms of the loss: name in the metrics, and name in the report.
    const TERMS: &'static [(&'static str, &'static str)];
    /// Further curves of the report, a figure each.
    const CURVES: &'static [MetricCurve];

    /// Form of [`predict`](Self::predict)'s outputs.
    const PREDICTIONS: PredictionForm = PredictionForm::Table;

    /// The module that is trained.
    type Model: Module;
    /// Opened data, on a device.
    type Data: Send + Sync;
    /// A row of the evaluation.
    type Row: EvaluationRow;

    /// Opens the data of a run on a device without autodiff. Long work reports its progress to `monitor`.
    ///
    /// # Errors
    /// If the data can't be read or don't fit the model; [`TaskError::Interrupted`] if `monitor` says to stop.
    fn open(config: &RunConfig<Self>, device: &Device, monitor: &Monitor<'_>) -> Result<Self::Data, TaskError>;

    /// The data for training on a further device; data in host memory are shared.
    ///
    /// # Errors
    /// If the data don't fit the model.
    fn replicate(config: &RunConfig<Self>, data: &Self::Data, device: &Device) -> Result<Self::Data, TaskError>;

    /// Number of recordings that are left out because they are too short.
    fn skipped(_data: &Self::Data) -> usize {
        0
    }

    /// Number that changes with the samples of the data; 0 where seed and configuration determine them.
    fn fingerprint(data: &Self::Data) -> u64;

    /// Rows of the batch of this number, at least one.
    fn batch_rows(config: &RunConfig<Self>, _data: &Self::Data, _batch: usize) -> usize {
        config.training.batch()
    }

    /// Reason why the loss is not a mean over the examples of a batch, so that a batch can't be divided among devices;
    /// `None` if it is such a mean.
    fn joins_examples(_config: &RunConfig<Self>) -> Option<&'static str> {
        None
    }

    /// Batches of an epoch; none where training data have no end.
    fn batches_per_epoch(config: &RunConfig<Self>, data: &Self::Data) -> Option<usize>;

    /// The model at its first step, on a device with autodiff.
    ///
    /// # Errors
    /// If the configuration is out of range.
    fn init(config: &RunConfig<Self>, data: &Self::Data, device: &Device) -> Result<Self::Model, TaskError>;

    /// The model with the parameters that are not learned excluded from autodiff.
    fn freeze(model: Self::Model, _config: &RunConfig<Self>) -> Self::Model {
        model
    }

    /// The model before the step that follows `step` of `steps` steps.
    ///
    /// # Errors
    /// If the data don't fit the model.
    fn advance(
        model: Self::Model,
        _config: &RunConfig<Self>,
        _data: &Self::Data,
        _step: usize,
        _steps: usize,
    ) -> Result<Self::Model, TaskError> {
        Ok(model)
    }

    /// Groups of parameters with a learning rate of their own.
    fn rates(_config: &RunConfig<Self>) -> Vec<GroupRate> {
        Vec::new()
    }

    /// Mean loss of the model over rows of a batch of training data: a function of the seed, the number of the batch
    /// and the rows. `step` counts the steps taken before.
    ///
    /// # Errors
    /// If the batch does not fit the model.
    fn loss(
        config: &RunConfig<Self>,
        data: &Self::Data,
        model: &Self::Model,
        share: &BatchShare,
        step: usize,
    ) -> Result<StepLoss, TaskError>;

    /// Properties of the model that are recorded with the loss.
    fn properties(_config: &RunConfig<Self>, _model: &Self::Model) -> Vec<Metric> {
        Vec::new()
    }

    /// Loss and metrics on validation data. `model` is without autodiff.
    ///
    /// # Errors
    /// If the data don't fit the model.
    fn measure(config: &RunConfig<Self>, data: &Self::Data, model: &Self::Model) -> Result<Validation, TaskError>;

    /// One line about a point of the training history.
    fn describe(point: &TrainingPoint) -> String {
        point.description(Self::TERMS, &[])
    }

    /// Writes a model into a folder.
    ///
    /// # Errors
    /// If a file can't be written.
    fn save(model: &Self::Model, config: &RunConfig<Self>, folder: &Path) -> Result<(), ModelError>;

    /// Reads a model from a folder.
    ///
    /// # Errors
    /// If the files are damaged.
    fn load(folder: &Path, config: &RunConfig<Self>, device: &Device) -> Result<LoadedModel<Self>, ModelError>;

    /// Evaluates models, each with its name, and the baselines of the task on test data.
    ///
    /// # Errors
    /// If there are no data, or they don't fit the models.
    fn evaluate(
        config: &RunConfig<Self>,
        data: &Self::Data,
        models: &[(String, Self::Model)],
    ) -> Result<Vec<Self::Row>, TaskError>;

    /// Evaluates models on other data, of this name.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate), and if there are no data of this name.
    fn evaluate_on(
        config: &RunConfig<Self>,
        name: &str,
        models: &[(String, Self::Model)],
        device: &Device,
    ) -> Result<OtherEvaluation<Self>, TaskError>;

    /// Outputs of a model for the files `inputs`, whose batches are shared among the devices it is placed on, at least
    /// one.
    ///
    /// # Errors
    /// If a file can't be read or does not fit the model.
    fn predict(
        config: &RunConfig<Self>,
        placed: &mut [Placed<Self::Model>],
        inputs: &[PathBuf],
    ) -> Result<Predictions, TaskError>;

    /// The task's parts of a run's page.
    ///
    /// # Errors
    /// If the data don't fit the model.
    fn report(
        resolved: &Resolved<Self>,
        data: &Self::Data,
        model: &Self::Model,
        rows: &[Self::Row],
    ) -> Result<ReportParts, TaskError>;
}

/// A model that was read from a folder.
pub struct LoadedModel<T: Task> {
    /// The model.
    pub model: T::Model,
    /// Differences of its configuration from that of the run, as parts of a sentence.
    pub differences: Vec<String>,
}

/// Evaluation on other data than the run's own.
pub struct OtherEvaluation<T: Task> {
    /// The rows.
    pub rows: Vec<T::Row>,
    /// Recordings that are left out because they are too short.
    pub skipped: usize,
}
