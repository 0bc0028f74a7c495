//! Task `operator`: a map between fields on equally spaced grids in one to three dimensions, from samples in files or
//! of differential equations that are solved here. The loss is the relative L2 error; models are evaluated at any
//! resolution.

mod config;
mod domain;
mod evaluate;
mod fields;
mod memory;
mod model;
mod report;
mod samples;
mod solvers;
mod symmetry;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use firefly_app::files::write_atomically;
use firefly_app::host::available_memory;
use firefly_models::zoo::Settings;

pub use config::{Boundary, DataSection, Equation, FieldFiles, GeneratedSection, LossSection, Symmetries};
pub use domain::{Closing, Domain};
pub use fields::{FieldPairs, Fields};
pub use model::{ChannelScales, FieldDescription, FieldOperator};
pub use samples::{SampleSets, TestSet};

use self::config::dims;
use self::symmetry::DomainSymmetry;
use super::scores::{self, ScoreRow};
use super::zoo_model::{self, ZooSection, ZooTask};
use crate::config::{ConfigError, Resolved, RunConfig, Sections, TrainingSection, locate};
use crate::data::formats::Array;
use crate::data::{EpochOrder, Part, stem, uniform};
use crate::metrics::{Metric, StepLoss, Validation};
use crate::progress::Monitor;
use crate::task::{
    BatchShare, LoadedModel, MetricCurve, ModelError, OtherEvaluation, Placed, PredictionFile, PredictionForm,
    Predictions, ReportParts, Task, TaskError,
};
use crate::tasks::TaskName;

/// File of the description of the fields in a model's folder.
const FIELDS: &str = "fields.json";

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorTask;

/// Configuration of a run of the task.
pub type OperatorConfig = RunConfig<OperatorTask>;

/// The samples of a run, and the order of those to train on.
pub struct OperatorData {
    sets: Arc<SampleSets>,
    order: Arc<EpochOrder>,
    device: Device,
}

impl OperatorConfig {
    /// Domain of the problem.
    fn domain(&self) -> Domain {
        Domain::of(&self.data, dims(self))
    }
}

/// The settings of the model that follow from the fields.
fn derived(fields: &FieldDescription) -> Settings {
    let points = fields.points.iter().copied().min().unwrap_or(1);
    Settings::new()
        .with("in_channels", fields.input.channels())
        .with("out_channels", fields.output.channels())
        .with("points", points)
}

impl ZooTask for OperatorTask {
    const DEFAULT_MODEL: &'static str = "fno1d_tiny";
    const FAMILIES: &'static [&'static str] = &["fno1d", "fno2d", "fno3d"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[
        ("in_channels", "they are those of the inputs"),
        ("out_channels", "they are those of the outputs"),
        ("points", "they are those of the training samples"),
    ];
}

impl Sections for OperatorTask {
    const NAME: TaskName = TaskName::Operator;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn models() -> Vec<&'static str> {
        ZooSection::<Self>::accepted()
    }

    fn choose_model(config: &mut OperatorConfig, name: &str) -> Result<(), ConfigError> {
        config.model.name = name.into();
        config.model.validate()?;
        // Generated samples of as many dimensions.
        let dims = dims(config);
        let generated = &mut config.data.generated;
        match dims {
            1 => {}
            2 => (generated.equation, generated.solver_points) = (Equation::Darcy, 128),
            _ => {
                (generated.equation, generated.solver_points) = (Equation::Darcy3d, 32);
                (generated.points, generated.test_points) = (16, vec![16, 32]);
            }
        }
        Ok(())
    }

    fn validate(config: &OperatorConfig) -> Result<(), ConfigError> {
        config::validate(config)
    }

    fn check_memory(config: &OperatorConfig, available: u64) -> Result<(), ConfigError> {
        memory::check(config, available)
    }

    fn locate_data(config: &mut OperatorConfig, root: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
        let data = &mut config.data;
        if locate(&mut data.generated.cache, root)?.is_some() {
            data.generated.cache = None;
        }
        let files = data.files.iter_mut().chain(&mut data.tests).flat_map(FieldFiles::paths);
        let missing = locate(files, root)?;
        if missing.is_some() {
            (data.files, data.tests) = (None, Vec::new());
        }
        Ok(missing)
    }
}

impl Task for OperatorTask {
    const PREDICTIONS: PredictionForm = PredictionForm::Files;
    const TERMS: &'static [(&'static str, &'static str)] = &[];
    const CURVES: &'static [MetricCurve] = &[MetricCurve {
        metric: "validation_relative_l2",
        name: "relative L2 error",
        title: "Validation error",
        axis: "relative L2 error",
        is_share: false,
        empty: "The error was not measured.",
    }];

    type Model = FieldOperator;
    type Data = OperatorData;
    type Row = ScoreRow;

    fn open(config: &OperatorConfig, device: &Device, monitor: &Monitor<'_>) -> Result<OperatorData, TaskError> {
        if config.data.files.is_none() {
            // What the model can't be run on is not worth solving.
            ensure_runs(config, &generated_fields(config), &generated_tests(config), device)?;
        }
        let sets = SampleSets::open(config, monitor)?;
        if let Some(available) = available_memory() {
            memory::check_step(config, &sets.train.input.points, available)?;
        }
        let tests: Vec<_> =
            sets.tests.iter().map(|test| (test.name.clone(), test.pairs.input.points.clone())).collect();
        ensure_runs(config, &sets.description(&config.data), &tests, device)?;
        let order = EpochOrder::new(config.seed, sets.train.len(), config.training.batch);
        Ok(OperatorData { sets: sets.into(), order: order.into(), device: device.clone() })
    }

    fn fingerprint(data: &OperatorData) -> u64 {
        data.sets.fingerprint
    }

    fn replicate(_config: &OperatorConfig, data: &OperatorData, device: &Device) -> Result<OperatorData, TaskError> {
        Ok(OperatorData { sets: data.sets.clone(), order: data.order.clone(), device: device.clone() })
    }

    fn batch_rows(_config: &OperatorConfig, data: &OperatorData, batch: usize) -> usize {
        data.order.rows(batch)
    }

    fn batches_per_epoch(_config: &OperatorConfig, data: &OperatorData) -> Option<usize> {
        Some(data.order.batches_per_epoch())
    }

    fn init(config: &OperatorConfig, data: &OperatorData, device: &Device) -> Result<FieldOperator, TaskError> {
        let fields = data.sets.description(&config.data);
        let model = config.model.create(derived(&fields), config.seed, device)?;
        Ok(FieldOperator { model, fields })
    }

    fn loss(
        config: &OperatorConfig,
        data: &OperatorData,
        model: &FieldOperator,
        share: &BatchShare,
        _step: usize,
    ) -> Result<StepLoss, TaskError> {
        let indices = &data.order.batch(share.number)[share.rows.clone()];
        let symmetries = drawn_symmetries(config, &data.sets.domain, share);
        let (FieldPairs { input, output }, domain) = (&data.sets.train, &data.sets.domain);
        let inputs = input.batch(indices, &symmetries, domain.input, &data.device);
        let outputs = output.batch(indices, &symmetries, domain.output, &data.device);
        let found = model.try_forward(inputs, &domain.points(&input.points))?;
        Ok(StepLoss::single(evaluate::relative_l2(found, outputs, data.sets.output_unit).mean()))
    }

    fn measure(config: &OperatorConfig, data: &OperatorData, model: &FieldOperator) -> Result<Validation, TaskError> {
        let all = &data.sets.validation;
        let first: Vec<usize> = (0..all.len().min(config.schedule.validation_frames)).collect();
        let error =
            evaluate::mean_error(model, &all.selected(&first), &data.sets.domain.without_symmetries(), &data.device)?;
        Ok(Validation { loss: error, metrics: vec![Metric::real("relative_l2", error)] })
    }

    fn save(model: &FieldOperator, _config: &OperatorConfig, folder: &Path) -> Result<(), ModelError> {
        let path = folder.join(FIELDS);
        let FieldOperator { model, fields } = model
            .in_own_units()
            .map_err(|error| ModelError::Weights { path: path.clone(), reason: error.to_string() })?;
        zoo_model::save(&model, folder)?;
        let text = serde_json::to_vec_pretty(&fields)
            .map_err(|error| ModelError::Weights { path: path.clone(), reason: error.to_string() })?;
        write_atomically(&path, &text).map_err(|source| ModelError::File { path, source })
    }

    fn load(folder: &Path, config: &OperatorConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = zoo_model::read(folder, device)?;
        let path = folder.join(FIELDS);
        let text = fs::read(&path).map_err(|source| ModelError::File { path: path.clone(), source })?;
        let fields: FieldDescription =
            serde_json::from_slice(&text).map_err(|error| ModelError::Weights { path, reason: error.to_string() })?;
        let expected = config.model.create(derived(&fields), config.seed, device)?;
        let differences = zoo_model::differences(&model, &expected);
        Ok(LoadedModel { model: FieldOperator { model, fields }, differences })
    }

    fn evaluate(
        _config: &OperatorConfig,
        data: &OperatorData,
        models: &[(String, FieldOperator)],
    ) -> Result<Vec<ScoreRow>, TaskError> {
        let sets = &data.sets;
        evaluate::compare(&sets.tests, &sets.mean_output(), &sets.domain, models, &data.device)
    }

    /// A file of inputs, with the outputs in it or beside it.
    fn evaluate_on(
        config: &OperatorConfig,
        name: &str,
        models: &[(String, FieldOperator)],
        device: &Device,
    ) -> Result<OtherEvaluation<Self>, TaskError> {
        if !Path::new(name).is_file() {
            return Err(TaskError::UnknownData { name: name.into(), expected: "is no file of inputs" });
        }
        let sets = SampleSets::open(config, &Monitor::none())?;
        let test = TestSet::read(&[FieldFiles::new(name)], dims(config))?.remove(0);
        let refused = |reason| TaskError::Input { path: name.into(), reason };
        sets.check(&test.name, &test.pairs).map_err(refused)?;
        let rows = evaluate::compare(&[test], &sets.mean_output(), &sets.domain, models, device)?;
        Ok(OtherEvaluation { rows, skipped: 0 })
    }

    /// The output of each file of inputs, averaged over the symmetries of the run, as an NPY file
    /// `[samples, points…]`, or `[samples, channels, points…]` of several channels.
    fn predict(
        config: &OperatorConfig,
        placed: &mut [Placed<FieldOperator>],
        inputs: &[PathBuf],
    ) -> Result<Predictions, TaskError> {
        let dims = dims(config);
        let domain = config.domain();
        let mut files: Vec<PredictionFile> = Vec::new();
        let fields = placed.first().map(|placed| placed.model.fields.clone());
        for path in inputs {
            let refused = |reason: String| TaskError::Input { path: path.clone(), reason };
            let input = Fields::of(Array::read(path, "x")?, dims, path, "x")?;
            let expected = fields.as_ref().map_or(0, |fields| fields.input.channels());
            if input.channels != expected {
                let found = input.channels;
                return Err(refused(format!("its fields have {found} channels, but the model takes {expected}")));
            }
            domain.check(&input.points).map_err(refused)?;
            let name = format!("{}.npy", stem(path));
            if files.iter().any(|file| file.name == name) {
                return Err(refused(format!("another input has the same name: both would be written to {name}")));
            }
            let output = evaluate::outputs_on(placed, &input, &domain)?;
            let mut shape = output.shape();
            if output.channels == 1 {
                shape.remove(1);
            }
            let values: Vec<f32> = output.values().collect();
            files.push(PredictionFile { name, bytes: Array { shape, values: values.into() }.to_npy() });
        }
        Ok(Predictions::Files(files))
    }

    fn report(
        resolved: &Resolved<Self>,
        data: &OperatorData,
        model: &FieldOperator,
        rows: &[ScoreRow],
    ) -> Result<ReportParts, TaskError> {
        let config = &resolved.config;
        let facts = [
            ("model", config.model.name.clone()),
            ("settings", model.model.settings().to_string()),
            ("parameters", model.num_params().to_string()),
            ("training samples", format!("{}, {} points", data.sets.train.len(), data.sets.train.resolution())),
        ];
        let name = match &config.data.files {
            Some(files) => files.x.display().to_string(),
            None => format!("generated {}", config.data.generated.equation.as_str()),
        };
        Ok(ReportParts {
            data_set: name,
            facts: facts.map(|(name, value)| (name.to_string(), value)).into(),
            tables: scores::tables(rows),
            figures: report::figures(&data.sets, model, rows, &data.device)?,
            ..ReportParts::default()
        })
    }
}

/// Description of the fields that a run generates.
fn generated_fields(config: &OperatorConfig) -> FieldDescription {
    let generated = &config.data.generated;
    let points = vec![generated.points; generated.equation.dims()];
    let identity = ChannelScales::identity(1);
    FieldDescription { points: config.domain().points(&points), input: identity.clone(), output: identity }
}

/// Names and points of the test sets that a run generates.
fn generated_tests(config: &OperatorConfig) -> Vec<(String, Vec<usize>)> {
    let generated = &config.data.generated;
    let test = |points: &usize| (format!("{points} points"), vec![*points; generated.equation.dims()]);
    generated.test_points.iter().map(test).collect()
}

/// Checks that the model of a run can be made, and be run on each of its test sets, given by name and points.
///
/// # Errors
/// If a setting of the model is out of range, or it has more modes than a test set has points for.
fn ensure_runs(
    config: &OperatorConfig,
    fields: &FieldDescription,
    tests: &[(String, Vec<usize>)],
    device: &Device,
) -> Result<(), TaskError> {
    let model = config.model.create(derived(fields), config.seed, device)?;
    let model = FieldOperator { model, fields: fields.clone() };
    for (name, points) in tests {
        let points = config.domain().points(points);
        let values = fields.input.channels() * points.iter().product::<usize>();
        model
            .try_forward(Tensor::zeros([1, values], device), &points)
            .map_err(|error| TaskError::TestSet { data_set: name.clone(), reason: error.to_string() })?;
    }
    Ok(())
}

/// A symmetry for each sample of a share, a function of the seed, the number of the batch and the row; none where the
/// problem has none.
fn drawn_symmetries(config: &OperatorConfig, domain: &Domain, share: &BatchShare) -> Vec<DomainSymmetry> {
    let symmetries = &domain.symmetries;
    if symmetries.is_empty() {
        return Vec::new();
    }
    let first = share.first(config.training.batch);
    let drawn = |draw: u64| {
        let [share, _] = uniform(config.seed, Part::Train, draw);
        symmetries[(share * symmetries.len() as f64) as usize].clone()
    };
    (first..).take(share.rows.len()).map(drawn).collect()
}
