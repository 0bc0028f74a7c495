//! Contract of a task: what the loop, the run folder and the report call and show.

mod devices;

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use firefly_app::page::figure::Figure;
use firefly_models::ArgumentError;
use firefly_models::zoo::ZooError;
use firefly_recordings::RecordingError;
use serde::Serialize;
use thiserror::Error;

pub use self::devices::{BatchShare, DeviceRank, Placed, over_devices};

use crate::config::{ConfigError, ModelChoice, RunConfig, Sections, Training};
use crate::data::{DataError, EpochOrder};
use crate::metrics::{Metric, StepLoss, TrainingPoint, Validation};
use crate::progress::Monitor;

/// Result whose error is that of a task unless another is named.
pub(crate) type Result<V, E = TaskError> = std::result::Result<V, E>;

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
    /// Title of its figure.
    pub title: &'static str,
    /// Label of the vertical axis.
    pub axis: &'static str,
    /// Whether the metric is a share in `0..=1`.
    pub is_share: bool,
}

impl MetricCurve {
    /// The curve of a metric.
    pub const fn new(metric: &'static str, title: &'static str, axis: &'static str) -> Self {
        Self { metric, title, axis, is_share: false }
    }

    /// The curve of a metric that is a share.
    pub const fn share(metric: &'static str, title: &'static str, axis: &'static str) -> Self {
        Self { is_share: true, ..Self::new(metric, title, axis) }
    }
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

/// Form of a task's predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictionForm {
    /// One CSV file.
    Table,
    /// A folder with a file per input.
    Files,
}

/// Outputs of a model for files.
#[derive(Debug, Clone, PartialEq)]
pub enum Predictions {
    /// Rows, which are written as one CSV file.
    Table(PredictionTable),
    /// Files, which are written into one folder.
    Files(Vec<PredictionFile>),
}

/// Outputs of a model, as they are written to a CSV file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PredictionTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// Output of a model as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictionFile {
    /// Name in the folder, which no other file of the predictions has.
    pub name: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// Opened data of a run, on a device.
pub trait TaskData: Send + Sync {
    /// Number that changes with the samples of the data; 0 where seed and configuration determine them.
    fn fingerprint(&self) -> u64;

    /// The data for training on a further device; data in host memory are shared.
    #[must_use]
    fn on_device(&self, device: &Device) -> Self;

    /// Order of the examples to train on; none where training data have no end.
    fn order(&self) -> Option<&EpochOrder>;
}

/// Examples to train, validate and test on, in host memory.
pub trait HostSets: Send + Sync {
    /// Number of examples to train on.
    fn training_examples(&self) -> usize;

    /// Number that changes with the samples; 0 where seed and configuration determine them.
    fn fingerprint(&self) -> u64;
}

/// Examples in host memory, and the order of those to train on.
pub struct ExampleData<S> {
    /// The examples.
    pub sets: Arc<S>,
    /// Order of those to train on.
    pub order: Arc<EpochOrder>,
    /// Device that batches are put on.
    pub device: Device,
}

impl<S: HostSets> ExampleData<S> {
    /// The examples of a run.
    pub fn new<T: Sections>(sets: S, config: &RunConfig<T>, device: &Device) -> Self {
        let order = EpochOrder::new(config.seed, sets.training_examples(), config.training.common().batch);
        Self { sets: sets.into(), order: order.into(), device: device.clone() }
    }
}

impl<S: HostSets> TaskData for ExampleData<S> {
    fn fingerprint(&self) -> u64 {
        self.sets.fingerprint()
    }

    fn on_device(&self, device: &Device) -> Self {
        Self { sets: self.sets.clone(), order: self.order.clone(), device: device.clone() }
    }

    fn order(&self) -> Option<&EpochOrder> {
        Some(&self.order)
    }
}

/// Configuration of a run, and its opened data on a device.
pub struct OpenRun<'a, T: Task> {
    /// The configuration.
    pub config: &'a RunConfig<T>,
    /// The data.
    pub data: &'a T::Data,
}

/// Kind of training: data, loss, metrics and evaluation, with the [`Sections`] of its configuration.
///
/// The loop, checkpoints, sweeps and the report are generic over the task.
pub trait Task: Sections {
    /// Terms of the loss: name in the metrics, and name in the report; none where the loss is one term.
    const TERMS: &'static [(&'static str, &'static str)] = &[];
    /// Further curves of the report, a figure each.
    const CURVES: &'static [MetricCurve];

    /// Form of [`predict`](Self::predict)'s outputs.
    const PREDICTIONS: PredictionForm = PredictionForm::Table;

    /// The module that is trained.
    type Model: Module;
    /// Opened data, on a device.
    type Data: TaskData;
    /// A row of the evaluation.
    type Row: EvaluationRow;

    /// Opens the data of a run on a device without autodiff. Long work reports its progress to `monitor`. An error if
    /// the data can't be read or don't fit the model; [`TaskError::Interrupted`] if `monitor` says to stop.
    fn open(config: &RunConfig<Self>, device: &Device, monitor: &Monitor<'_>) -> Result<Self::Data>;

    /// Statistics of the whole batch that the loss depends on, so that a batch can't be divided among devices; none
    /// where the loss is a mean over examples.
    fn batch_statistics(config: &RunConfig<Self>) -> Option<&'static str> {
        config.model.batch_statistics()
    }

    /// The model at its first step, on a device with autodiff. An error if the configuration is out of range.
    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<Self::Model>;

    /// The model with the parameters that are not learned excluded from autodiff.
    fn freeze(model: Self::Model, _config: &RunConfig<Self>) -> Self::Model {
        model
    }

    /// The model before the step that follows `step` of `steps` steps. An error if the data don't fit the model.
    fn advance(_run: &OpenRun<'_, Self>, model: Self::Model, _step: usize, _steps: usize) -> Result<Self::Model> {
        Ok(model)
    }

    /// Groups of parameters with a learning rate of their own.
    fn rates(_config: &RunConfig<Self>) -> Vec<GroupRate> {
        Vec::new()
    }

    /// Mean loss of the model over rows of a batch of training data: a function of the seed, the number of the batch
    /// and the rows. `step` counts the steps taken before. An error if the batch does not fit the model.
    fn loss(run: &OpenRun<'_, Self>, model: &Self::Model, share: &BatchShare, step: usize) -> Result<StepLoss>;

    /// Properties of the model that are recorded with the loss.
    fn properties(_config: &RunConfig<Self>, _model: &Self::Model) -> Vec<Metric> {
        Vec::new()
    }

    /// Loss and metrics on validation data. `model` is without autodiff. An error if the data don't fit the model.
    fn measure(run: &OpenRun<'_, Self>, model: &Self::Model) -> Result<Validation>;

    /// Whether the model of the lowest validation loss is kept, and not the last one, in runs without early stopping.
    fn keeps_best(_config: &RunConfig<Self>) -> bool {
        true
    }

    /// The model that training must not make worse, and that is kept where no validation shows a better one; none
    /// unless the task has one. An error if the configuration is out of range.
    fn untrained(_run: &OpenRun<'_, Self>, _device: &Device) -> Result<Option<Self::Model>> {
        Ok(None)
    }

    /// Whether a validation is worse than that of the [untrained](Self::untrained) model in what its loss does not say.
    fn is_worse(_validation: &Validation, _untrained: &Validation) -> bool {
        false
    }

    /// One line about a point of the training history.
    fn describe(point: &TrainingPoint) -> String {
        point.description(Self::TERMS, &[])
    }

    /// Writes a model into a folder. An error if a file can't be written.
    fn save(model: &Self::Model, config: &RunConfig<Self>, folder: &Path) -> Result<(), ModelError>;

    /// Reads a model from a folder. An error if the files are damaged.
    fn load(folder: &Path, config: &RunConfig<Self>, device: &Device) -> Result<LoadedModel<Self>, ModelError>;

    /// Evaluates models, each with its name, and the baselines of the task on test data. An error if there are no data,
    /// or they don't fit the models.
    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, Self::Model)]) -> Result<Vec<Self::Row>>;

    /// Evaluates models on other data, of this name. Errors as [`evaluate`](Self::evaluate), and if there are no data
    /// of this name.
    fn evaluate_on(
        config: &RunConfig<Self>,
        name: &str,
        models: &[(String, Self::Model)],
        device: &Device,
    ) -> Result<Vec<Self::Row>>;

    /// Outputs of a model for the files `inputs`, whose batches are shared among the devices it is placed on, at least
    /// one. An error if a file can't be read or does not fit the model.
    fn predict(config: &RunConfig<Self>, placed: &mut [Placed<Self::Model>], inputs: &[PathBuf])
    -> Result<Predictions>;

    /// The task's parts of a run's page. An error if the data don't fit the model.
    fn report(run: &OpenRun<'_, Self>, model: &Self::Model, rows: &[Self::Row]) -> Result<ReportParts>;
}

/// A model that was read from a folder.
pub struct LoadedModel<T: Task> {
    /// The model.
    pub model: T::Model,
    /// Differences of its configuration from that of the run, as parts of a sentence.
    pub differences: Vec<String>,
}

/// Failure of a task: its data, its model or its evaluation.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum TaskError {
    #[error("can't open the data")]
    Data(#[from] DataError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Model(#[from] ZooError),
    #[error("interrupted")]
    Interrupted,
    #[error("there are no validation frames")]
    NoValidationFrames,
    #[error("no validation frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoValidationPower,
    #[error("{0}: there are no frames to evaluate")]
    NoFrames(String),
    #[error("{0}: no frame has power: the samples are silent, or too small or too large to be squared in f32")]
    NoPower(String),
    #[error("the solver of {equation} does not converge on sample {sample}: in data.generated, give {remedy}")]
    NotConverged { equation: &'static str, sample: usize, remedy: &'static str },
    #[error("the model can't be evaluated on {0}: {1}")]
    TestSet(String, String),
    #[error("the model {0} can't be trained for this task: {1}")]
    Unsuitable(String, String),
    #[error("{}: {}", .0.display(), .1)]
    Input(PathBuf, String),
    #[error(
        "data.noises has {0}, but there is none: babble needs two files with power in each part of the data, \
         recorded noise one"
    )]
    NoNoise(&'static str),
    #[error("`{0}` {1}")]
    UnknownData(String, &'static str),
}

impl From<RecordingError> for TaskError {
    fn from(error: RecordingError) -> Self {
        Self::Data(error.into())
    }
}

/// Failure to write or read a model.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ModelError {
    #[error(transparent)]
    Zoo(#[from] ZooError),
    #[error("{}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("{}: {}", .0.display(), .1)]
    Weights(PathBuf, String),
}
