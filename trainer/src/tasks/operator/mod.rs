//! Task `operator`: a map between fields on equally spaced grids in one to three dimensions, from samples in files or
//! of differential equations that are solved here. The loss is the relative L2 error; models are evaluated at any
//! resolution.

mod config;
mod domain;
mod evaluate;
mod fields;
mod model;
mod solvers;

use firefly_recordings::{Array, stem};

pub use config::{Boundary, DataSection, Equation, FieldFiles, GeneratedSection, Symmetries};
pub use domain::{Closing, Domain};
pub use fields::{FieldPairs, Fields, SampleSets, TestSet};
pub use model::{ChannelScales, FieldDescription, FieldOperator};

use self::config::dims;
use self::domain::DomainSymmetry;
use crate::data::{Part, uniform};
use crate::tasks::prelude::*;

/// File of the description of the fields in a model's folder.
const FIELDS: &str = "fields.json";

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorTask;

/// Configuration of a run of the task.
pub type OperatorConfig = RunConfig<OperatorTask>;

/// The samples of a run, and the order of those to train on.
pub type OperatorData = ExampleData<SampleSets>;

impl OperatorConfig {
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

impl Task for OperatorTask {
    const PREDICTIONS: PredictionForm = PredictionForm::Files;
    const CURVES: &'static [MetricCurve] =
        &[MetricCurve::new("validation_relative_l2", "Validation error", "relative L2 error")];

    type Model = FieldOperator;
    type Data = OperatorData;
    type Row = ScoreRow;

    fn open(config: &OperatorConfig, device: &Device, monitor: &Monitor<'_>) -> Result<OperatorData> {
        if config.data.files.is_none() {
            // What the model can't be run on is not worth solving.
            let generated = &config.data.generated;
            let shape = |points: usize| vec![points; generated.equation.dims()];
            let points = config.domain().points(&shape(generated.points));
            let identity = ChannelScales::identity(1);
            let fields = FieldDescription { points, input: identity.clone(), output: identity };
            let tests = generated.test_points.iter().map(|points| (format!("{points} points"), shape(*points)));
            ensure_runs(config, fields, tests, device)?;
        }
        let sets = SampleSets::open(config, monitor)?;
        let tests = sets.tests.iter().map(|test| (test.name.clone(), test.pairs.input.points.clone()));
        ensure_runs(config, sets.description(&config.data), tests, device)?;
        Ok(ExampleData::new(sets, config, device))
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<FieldOperator> {
        let OpenRun { config, data } = *run;
        let fields = data.sets.description(&config.data);
        let model = config.model.create(derived(&fields), config.seed, device)?;
        Ok(FieldOperator { model, fields })
    }

    fn loss(run: &OpenRun<'_, Self>, model: &FieldOperator, share: &BatchShare, _: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        let indices = &data.order.batch(share.number)[share.rows.clone()];
        let symmetries = drawn_symmetries(config, &data.sets.domain, share);
        let (FieldPairs { input, output }, domain) = (&data.sets.train, &data.sets.domain);
        let inputs = input.batch(indices, &symmetries, domain.input, &data.device);
        let outputs = output.batch(indices, &symmetries, domain.output, &data.device);
        let found = model.try_forward(inputs, &domain.points(&input.points))?;
        Ok(StepLoss::single(evaluate::relative_l2(found, outputs, data.sets.output_unit).mean()))
    }

    fn measure(run: &OpenRun<'_, Self>, model: &FieldOperator) -> Result<Validation> {
        let OpenRun { config, data } = *run;
        let all = &data.sets.validation;
        let first: Vec<usize> = (0..all.len().min(config.schedule.validation_frames)).collect();
        let domain = data.sets.domain.without_symmetries();
        let error = evaluate::mean(&evaluate::errors_of(model, &all.selected(&first), &domain, &data.device)?);
        Ok(Validation { loss: error, metrics: vec![Metric::real("relative_l2", error)] })
    }

    fn save(model: &FieldOperator, _config: &OperatorConfig, folder: &Path) -> Result<(), ModelError> {
        let path = folder.join(FIELDS);
        let FieldOperator { model, fields } =
            model.with_scales_in_weights().map_err(|error| ModelError::Weights(path.clone(), error.to_string()))?;
        zoo_model::save(&model, folder)?;
        zoo_model::write_json(path, &fields)
    }

    fn load(folder: &Path, config: &OperatorConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = zoo_model::read(folder, device)?;
        let fields: FieldDescription = zoo_model::read_json(folder.join(FIELDS))?;
        let expected = config.model.create(derived(&fields), config.seed, device)?;
        let differences = zoo_model::differences(&model, &expected);
        Ok(LoadedModel { model: FieldOperator { model, fields }, differences })
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, FieldOperator)]) -> Result<Vec<ScoreRow>> {
        let data = run.data;
        evaluate::compare(&data.sets, &data.sets.tests, models, &data.device)
    }

    /// A file of inputs, with the outputs in it or beside it.
    fn evaluate_on(
        config: &OperatorConfig,
        name: &str,
        models: &[(String, FieldOperator)],
        device: &Device,
    ) -> Result<Vec<ScoreRow>> {
        if !Path::new(name).is_file() {
            return Err(TaskError::UnknownData(name.into(), "is no file of inputs"));
        }
        let sets = SampleSets::open(config, &Monitor::none())?;
        let test = TestSet::read(&[FieldFiles::new(name)], dims(config))?.remove(0);
        let refused = |reason| TaskError::Input(name.into(), reason);
        sets.check(&test.name, &test.pairs).map_err(refused)?;
        evaluate::compare(&sets, &[test], models, device)
    }

    /// The output of each file of inputs, averaged over the symmetries of the run, as an NPY file
    /// `[samples, points…]`, or `[samples, channels, points…]` of several channels.
    fn predict(
        config: &OperatorConfig,
        placed: &mut [Placed<FieldOperator>],
        inputs: &[PathBuf],
    ) -> Result<Predictions> {
        let dims = dims(config);
        let domain = config.domain();
        let mut files: Vec<PredictionFile> = Vec::new();
        let fields = placed.first().map(|placed| placed.model.fields.clone());
        for path in inputs {
            let refused = |reason: String| TaskError::Input(path.clone(), reason);
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

    fn report(run: &OpenRun<'_, Self>, model: &FieldOperator, rows: &[ScoreRow]) -> Result<ReportParts> {
        let OpenRun { config, data } = *run;
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
        let figures = evaluate::figures(&data.sets, model, rows, &data.device)?;
        Ok(ReportParts { figures, ..scores::report(name, facts, rows) })
    }
}

/// Checks that the model of a run can be made, and be run on each of its test sets, given by name and points. An error
/// if a setting of the model is out of range, or it has more modes than a test set has points for.
fn ensure_runs(
    config: &OperatorConfig,
    fields: FieldDescription,
    tests: impl Iterator<Item = (String, Vec<usize>)>,
    device: &Device,
) -> Result<()> {
    let model = FieldOperator { model: config.model.create(derived(&fields), config.seed, device)?, fields };
    for (name, points) in tests {
        let points = config.domain().points(&points);
        let values = model.fields.input.channels() * points.iter().product::<usize>();
        model
            .try_forward(Tensor::zeros([1, values], device), &points)
            .map_err(|error| TaskError::TestSet(name, error.to_string()))?;
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
