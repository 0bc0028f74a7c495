//! Task `transform`: a fast transform learned from its matrix or from examples, after T. Dao et al., "Learning fast
//! algorithms for linear transforms using butterfly factorizations" (2019).

mod matrix;

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::zoo::{Settings, ZooModel};
use serde::{Deserialize, Serialize};

pub use matrix::{ComplexMatrix, Transform};

use super::scores::{self, ScoreRow};
use super::zoo_model::{self, ZooSection, ZooTask};
use crate::config::{self as common, ConfigError, Resolved, RunConfig, Training, ensure};
use crate::data::{Part, normal_rows, read_recording};
use crate::metrics::Metric;
use crate::task::{
    LoadedModel, MetricCurve, ModelError, OtherEvaluation, PredictionTable, Predictions, ReportParts, StepLoss, Task,
    TaskError, Validation,
};
use crate::tasks::TaskName;

/// Accepted sizes.
const SIZES: [usize; 2] = [4, 4096];

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformTask;

/// Configuration of a run of the task.
pub type TransformConfig = RunConfig<TransformTask>;

/// What the model learns from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Every element of the matrix, at each step.
    #[default]
    Matrix,
    /// Random rows and their transforms, a new batch at each step.
    Examples,
}

/// Section `[data]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSection {
    /// The transform.
    pub transform: Transform,
    /// Values per row, n.
    pub size: usize,
    /// What the model learns from.
    pub from: Origin,
}

impl Default for DataSection {
    fn default() -> Self {
        Self { transform: Transform::Dft, size: 8, from: Origin::Matrix }
    }
}

/// Section `[training]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSection {
    /// Steps, unless epochs are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Passes over the matrix, unless steps are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// Rows per batch of examples.
    pub batch: usize,
    /// Learning rate at the start, or after the warm-up.
    pub learning_rate: f64,
    /// Share of the steps after which permutations are rounded to their most likely steps; 1 for never.
    pub round_after: f64,
}

impl Default for TrainingSection {
    fn default() -> Self {
        let common::TrainingSection { steps, epochs, batch, learning_rate } = common::TrainingSection::default();
        Self { steps, epochs, batch, learning_rate, round_after: 1.0 }
    }
}

impl Training for TrainingSection {
    fn steps(&self) -> Option<usize> {
        self.steps
    }

    fn epochs(&self) -> Option<usize> {
        self.epochs
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }
}

/// Section `[loss]`, without keys: the loss is the mean squared error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSection {}

/// The matrix to learn, on a device. Row j of the tensors is the transform of the unit vector j.
pub struct TransformData {
    matrix: ComplexMatrix,
    re: Tensor<2>,
    im: Tensor<2>,
    device: Device,
}

impl TransformData {
    /// Row k of a matrix are the weights of output k: transposed, row j is the transform of the unit vector j.
    fn new(matrix: ComplexMatrix, device: &Device) -> Self {
        let n = matrix.n;
        let part = |values: &[f64]| -> Tensor<2> {
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Tensor::from_data(TensorData::new(values, [n, n]), device).transpose()
        };
        Self { re: part(&matrix.re), im: part(&matrix.im), matrix, device: device.clone() }
    }

    /// The model's matrix, transposed as the target.
    fn matrix_of(&self, model: &ZooModel) -> Result<[Tensor<2>; 2], TaskError> {
        let rows = Tensor::eye(self.matrix.n, &self.device);
        apply(model, rows)
    }
}

/// Transforms of real rows `[rows, n]`: real and imaginary parts.
fn apply(model: &ZooModel, rows: Tensor<2>) -> Result<[Tensor<2>; 2], TaskError> {
    const NAME: &str = "transform";
    let zeros = rows.zeros_like();
    let mut outputs = model.try_forward(vec![rows.into(), zeros.into()])?.into_iter();
    let mut part = |name| match outputs.next() {
        Some(part) => Ok(part.try_float::<2>(NAME, name)?),
        None => Err(unsuitable(model)),
    };
    Ok([part("re")?, part("im")?])
}

fn unsuitable(model: &ZooModel) -> TaskError {
    let reason = "it has no outputs re and im for inputs re and im".to_string();
    TaskError::Unsuitable { model: model.family().name.into(), reason }
}

/// Mean squared error per element of a complex matrix.
fn mean_squared_error([re, im]: [Tensor<2>; 2], target: [Tensor<2>; 2]) -> Tensor<1> {
    let [target_re, target_im] = target;
    (re - target_re).square().mean() + (im - target_im).square().mean()
}

/// Errors of a model's matrix: root mean square, relative, largest.
struct MatrixErrors {
    rmse: f64,
    relative: f64,
    largest: f64,
}

impl MatrixErrors {
    fn of(model: &ZooModel, data: &TransformData) -> Result<Self, TaskError> {
        let [re, im] = data.matrix_of(model)?;
        // In float64, so that the errors of small matrices are those of the model alone.
        let values = |part: Tensor<2>| -> Vec<f64> { part.transpose().into_data().convert::<f64>().iter().collect() };
        let (re, im) = (values(re), values(im));
        let squares: Vec<f64> = (0..re.len())
            .map(|place| (re[place] - data.matrix.re[place]).powi(2) + (im[place] - data.matrix.im[place]).powi(2))
            .collect();
        let sum: f64 = squares.iter().sum();
        Ok(Self {
            rmse: (sum / squares.len() as f64).sqrt(),
            relative: sum.sqrt() / data.matrix.norm(),
            largest: squares.iter().copied().fold(0.0, f64::max).sqrt(),
        })
    }
}

impl ZooTask for TransformTask {
    const DEFAULT_MODEL: &'static str = "butterfly";
    const FAMILIES: &'static [&'static str] = &["butterfly"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[("n", "it is data.size")];
}

impl Task for TransformTask {
    const NAME: TaskName = TaskName::Transform;
    const TERMS: &'static [(&'static str, &'static str)] = &[];
    const CURVES: &'static [MetricCurve] = &[MetricCurve {
        metric: "validation_rmse",
        name: "root mean square",
        title: "Error of the matrix",
        axis: "root mean square error per element",
        is_share: false,
        empty: "The error was not measured.",
    }];

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;
    type Model = ZooModel;
    type Data = TransformData;
    type Row = ScoreRow;

    fn models() -> Vec<&'static str> {
        ZooSection::<Self>::accepted()
    }

    fn choose_model(config: &mut TransformConfig, name: &str) -> Result<(), ConfigError> {
        config.model.name = name.into();
        config.model.validate()
    }

    fn validate(config: &TransformConfig) -> Result<(), ConfigError> {
        config.model.validate()?;
        let (size, [least, most]) = (config.data.size, SIZES);
        ensure(
            size.is_power_of_two() && (least..=most).contains(&size),
            "data.size",
            size,
            "a power of two from 4 to 4,096",
        )?;
        let share = config.training.round_after;
        ensure((0.0..=1.0).contains(&share), "training.round_after", share, "from 0 to 1")
    }

    fn open(config: &TransformConfig, device: &Device) -> Result<TransformData, TaskError> {
        Ok(TransformData::new(config.data.transform.matrix(config.data.size, config.seed), device))
    }

    fn fingerprint(_data: &TransformData) -> u64 {
        0
    }

    /// An epoch is a pass over the matrix; examples have no end.
    fn batches_per_epoch(config: &TransformConfig, _data: &TransformData) -> Option<usize> {
        (config.data.from == Origin::Matrix).then_some(1)
    }

    fn init(config: &TransformConfig, _data: &TransformData, device: &Device) -> Result<ZooModel, TaskError> {
        let derived = Settings::new().with("n", config.data.size);
        Ok(config.model.create(derived, config.seed, device)?)
    }

    /// Rounds the permutations of a butterfly once.
    fn advance(model: ZooModel, config: &TransformConfig, step: usize, steps: usize) -> ZooModel {
        let share = config.training.round_after;
        match model {
            ZooModel::Butterfly(model) if share < 1.0 && step == (share * steps as f64) as usize => {
                model.rounded().into()
            }
            model => model,
        }
    }

    fn loss(
        config: &TransformConfig,
        data: &TransformData,
        model: &ZooModel,
        batch: usize,
        _step: usize,
    ) -> Result<StepLoss, TaskError> {
        let target = [data.re.clone(), data.im.clone()];
        let total = match config.data.from {
            Origin::Matrix => mean_squared_error(data.matrix_of(model)?, target),
            Origin::Examples => {
                let (rows, n) = (config.training.batch, data.matrix.n);
                let values = normal_rows(config.seed, Part::Train, (batch * rows) as u64, rows, n);
                let rows: Tensor<2> = Tensor::from_data(TensorData::new(values, [rows, n]), &data.device);
                let target = target.map(|part| rows.clone().matmul(part));
                mean_squared_error(apply(model, rows)?, target)
            }
        };
        Ok(StepLoss::single(total))
    }

    fn measure(_config: &TransformConfig, data: &TransformData, model: &ZooModel) -> Result<Validation, TaskError> {
        let errors = MatrixErrors::of(model, data)?;
        let metrics = vec![Metric::real("rmse", errors.rmse), Metric::real("relative_error", errors.relative)];
        Ok(Validation { loss: errors.rmse.powi(2), metrics })
    }

    fn save(model: &ZooModel, _config: &TransformConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(model, folder)
    }

    fn load(folder: &Path, config: &TransformConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let derived = Settings::new().with("n", config.data.size);
        let expected = config.model.create(derived, config.seed, device)?;
        Ok(zoo_model::compared(zoo_model::read(folder, device)?, &expected))
    }

    fn evaluate(
        config: &TransformConfig,
        data: &TransformData,
        models: &[(String, ZooModel)],
    ) -> Result<Vec<ScoreRow>, TaskError> {
        let row = |(name, model): &(String, ZooModel)| {
            let errors = MatrixErrors::of(model, data)?;
            Ok(ScoreRow {
                name: name.clone(),
                is_learned: true,
                data_set: data_set(config),
                scores: vec![
                    Metric::real("rmse", errors.rmse),
                    Metric::real("relative_error", errors.relative),
                    Metric::real("largest_error", errors.largest),
                    Metric::whole("parameters", burn::module::Module::num_params(model)),
                ],
            })
        };
        models.iter().map(row).collect()
    }

    fn evaluate_on(
        _config: &TransformConfig,
        name: &str,
        _models: &[(String, ZooModel)],
        _device: &Device,
    ) -> Result<OtherEvaluation<Self>, TaskError> {
        Err(TaskError::UnknownData { name: name.into(), expected: "can't be given: a transform has no other data" })
    }

    /// Rows of n channels in files of recordings, each row a sample of every channel.
    fn predict(
        _config: &TransformConfig,
        model: &ZooModel,
        inputs: &[PathBuf],
        device: &Device,
    ) -> Result<Predictions, TaskError> {
        let mut table = PredictionTable::default();
        for path in inputs {
            let channels = read_recording(path)?;
            let (n, rows) = (channels.len(), channels.first().map_or(0, |channel| channel.samples.len()));
            let values: Vec<f32> =
                (0..rows).flat_map(|row| channels.iter().map(move |channel| channel.samples[row])).collect();
            let rows: Tensor<2> = Tensor::from_data(TensorData::new(values, [rows, n]), device);
            let [re, im] = apply(model, rows)
                .map_err(|error| TaskError::Input { path: path.clone(), reason: error.to_string() })?;
            let parts = [re, im].map(|part| part.into_data().iter::<f32>().collect::<Vec<f32>>());
            let cells = |row: usize| parts.iter().flat_map(move |part| &part[row * n..(row + 1) * n]);
            table.rows.extend((0..parts[0].len() / n).map(|row| cells(row).map(ToString::to_string).collect()));
            let names = |part: &'static str| (0..n).map(move |k| format!("{part}_{k}"));
            table.columns = names("re").chain(names("im")).collect();
        }
        Ok(table.into())
    }

    fn report(
        resolved: &Resolved<Self>,
        _data: &Self::Data,
        model: &ZooModel,
        rows: &[ScoreRow],
    ) -> Result<ReportParts, TaskError> {
        let config = &resolved.config;
        let facts = [
            ("model", config.model.name.clone()),
            ("settings", model.settings().to_string()),
            ("learned from", format!("{:?}", config.data.from).to_lowercase()),
        ];
        Ok(ReportParts {
            data_set: data_set(config),
            facts: facts.map(|(name, value)| (name.to_string(), value)).into(),
            tables: scores::tables(rows),
            ..ReportParts::default()
        })
    }
}

/// Name of the transform with its size.
fn data_set(config: &TransformConfig) -> String {
    format!("{} of {} values", format!("{:?}", config.data.transform).to_lowercase(), config.data.size)
}
