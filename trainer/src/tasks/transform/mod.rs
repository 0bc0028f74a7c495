//! Task `transform`: a fast transform learned from its matrix or from examples, after T. Dao et al., "Learning fast
//! algorithms for linear transforms using butterfly factorizations" (2019).

mod config;
mod starts;
mod target;

use std::iter::once;

use firefly_recordings::read_table;

pub use config::{DataSection, LearningData, OutputPart, TrainingSection};
pub use starts::Starts;
pub use target::{ComplexMatrix, Transform, TransformData};

use target::{MatrixErrors, apply};

use crate::data::{Part, normal_rows};
use crate::step::initialise;
use crate::tasks::prelude::*;

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformTask;

/// Configuration of a run of the task.
pub type TransformConfig = RunConfig<TransformTask>;

/// The start with the lowest error of its matrix.
fn best<'a>(starts: &'a Starts, data: &TransformData) -> Result<&'a ZooModel> {
    starts.best(|model| Ok(MatrixErrors::of(model, data)?.rmse))
}

impl Task for TransformTask {
    const CURVES: &'static [MetricCurve] =
        &[MetricCurve::new("validation_rmse", "Error of the matrix", "root mean square error per element")];

    type Model = Starts;
    type Data = TransformData;
    type Row = ScoreRow;

    fn open(config: &TransformConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<TransformData> {
        Ok(TransformData::of(config, device))
    }

    /// Start s is that of a run whose seed is s more.
    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<Starts> {
        let config = run.config;
        let derived = || Settings::new().with("n", config.data.size);
        let seeds = (0..config.training.starts as u64).map(|start| config.seed.wrapping_add(start));
        // Each is drawn from its own seed, before the next one is set.
        let model = |seed| config.model.create(derived(), seed, device).inspect(initialise);
        Ok(Starts::new(seeds.map(model).collect::<Result<_, _>>()?, device))
    }

    fn freeze(starts: Starts, _config: &TransformConfig) -> Starts {
        starts.frozen()
    }

    /// Rounds the permutations of butterflies once, and drops the worse starts.
    fn advance(run: &OpenRun<'_, Self>, starts: Starts, step: usize, steps: usize) -> Result<Starts> {
        let OpenRun { config, data } = *run;
        let training = &config.training;
        let share = training.round_after;
        // At every step from there on: a run that is resumed reads the logits as parameters that are still learned.
        let is_rounded = share < 1.0 && step >= (share * steps as f64) as usize;
        let starts = if is_rounded { starts.map(rounded) } else { starts };
        let left = training.starts_left(step, steps);
        if step == 0 || left == training.starts_left(step - 1, steps) {
            return Ok(starts);
        }
        starts.keep(left, |model| Ok(MatrixErrors::of(&model.valid(), data)?.rmse))
    }

    /// The sum of the errors of the starts that are trained, so that each is trained as it would be alone.
    fn loss(run: &OpenRun<'_, Self>, starts: &Starts, share: &BatchShare, _: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        let (rows, target) = match config.data.from {
            LearningData::Matrix => data.units_of(&share.rows),
            LearningData::Examples => {
                let (rows, n) = (share.rows.len(), data.matrix.n);
                let values = normal_rows(config.seed, Part::Train, share.first(config.training.batch), rows, n);
                let rows: Tensor<2> = Tensor::from_data(TensorData::new(values, [rows, n]), &data.device);
                let target = data.of_rows(&rows);
                (rows, target)
            }
        };
        let error = |model| data.mean_squared_error(model, rows.clone(), target.clone());
        let errors = starts.trained().into_iter().map(error).collect::<Result<Vec<_>, _>>()?;
        let sum = errors.into_iter().reduce(|sum, error| sum + error);
        Ok(StepLoss::single(sum.unwrap_or_else(|| Tensor::zeros([1], &data.device))))
    }

    fn measure(run: &OpenRun<'_, Self>, starts: &Starts) -> Result<Validation> {
        let data = run.data;
        let errors = MatrixErrors::of(best(starts, data)?, data)?;
        let metrics = vec![Metric::real("rmse", errors.rmse), Metric::real("relative_error", errors.relative)];
        Ok(Validation { loss: errors.rmse.powi(2), metrics })
    }

    /// Writes the best start alone.
    fn save(starts: &Starts, config: &TransformConfig, folder: &Path) -> Result<(), ModelError> {
        let failed = |error: TaskError| ModelError::Weights(folder.into(), error.to_string());
        let model = best(starts, &TransformData::of(config, &starts.device())).map_err(failed)?;
        zoo_model::save(model, folder)
    }

    fn load(folder: &Path, config: &TransformConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let derived = Settings::new().with("n", config.data.size);
        let expected = config.model.create(derived, config.seed, device)?;
        let model = zoo_model::read(folder, device)?;
        let differences = zoo_model::differences(&model, &expected);
        Ok(LoadedModel { model: Starts::single(model), differences })
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, Starts)]) -> Result<Vec<ScoreRow>> {
        let OpenRun { config, data } = *run;
        let row = |(name, starts): &(String, Starts)| {
            let model = best(starts, data)?;
            let errors = MatrixErrors::of(model, data)?;
            Ok(ScoreRow {
                name: name.clone(),
                is_learned: true,
                data_set: data_set(config),
                scores: vec![
                    Metric::real("rmse", errors.rmse),
                    Metric::real("relative_error", errors.relative),
                    Metric::real("largest_error", errors.largest),
                    Metric::whole("parameters", model.num_params()),
                ],
            })
        };
        models.iter().map(row).collect()
    }

    fn evaluate_on(
        _config: &TransformConfig,
        name: &str,
        _models: &[(String, Starts)],
        _device: &Device,
    ) -> Result<Vec<ScoreRow>> {
        Err(TaskError::UnknownData(name.into(), "can't be given: a transform has no other data"))
    }

    /// Rows of n channels in files of recordings, each row a sample of every channel.
    fn predict(config: &TransformConfig, placed: &mut [Placed<Starts>], inputs: &[PathBuf]) -> Result<Predictions> {
        let names: &[&str] = match config.data.output {
            OutputPart::Complex => &["re", "im"],
            OutputPart::Real => &["re"],
        };
        let of_file = |Placed { model, device }: &Placed<Starts>, path: &PathBuf| {
            let model = best(model, &TransformData::of(config, device))?;
            let channels = read_table(path)?;
            let (n, rows) = (channels.len(), channels.first().map_or(0, |channel| channel.samples.len()));
            let values: Vec<f32> =
                (0..rows).flat_map(|row| channels.iter().map(move |channel| channel.samples[row])).collect();
            let rows: Tensor<2> = Tensor::from_data(TensorData::new(values, [rows, n]), device);
            let parts = apply(model, rows).map_err(|error| TaskError::Input(path.clone(), error.to_string()))?;
            let parts: Vec<Vec<f32>> =
                parts.into_iter().take(names.len()).map(|part| part.into_data().iter().collect()).collect();
            let cells = |row: usize| parts.iter().flat_map(move |part| &part[row * n..(row + 1) * n]);
            let named = |row| once(path.display().to_string()).chain(cells(row).map(ToString::to_string)).collect();
            let rows = (0..parts[0].len() / n).map(named).collect();
            let columns = names.iter().flat_map(|name| (0..n).map(move |k| format!("{name}_{k}")));
            let columns = once("file".to_string()).chain(columns).collect();
            Ok::<_, TaskError>(PredictionTable { columns, rows })
        };
        let mut table = PredictionTable::default();
        for of_file in over_devices(placed, inputs, of_file)? {
            table.columns = of_file.columns;
            table.rows.extend(of_file.rows);
        }
        Ok(Predictions::Table(table))
    }

    fn report(run: &OpenRun<'_, Self>, starts: &Starts, rows: &[ScoreRow]) -> Result<ReportParts> {
        let OpenRun { config, data } = *run;
        let facts = [
            ("model", config.model.name.clone()),
            ("settings", best(starts, data)?.settings().to_string()),
            ("learned from", format!("{:?}", config.data.from).to_lowercase()),
            ("random starts", config.training.starts.to_string()),
        ];
        Ok(scores::report(data_set(config), facts, rows))
    }
}

/// A model with its permutation rounded, if it has one.
fn rounded(model: ZooModel) -> ZooModel {
    match model {
        ZooModel::Butterfly(model) => model.rounded().into(),
        model => model,
    }
}

/// Name of the transform with its size.
fn data_set(config: &TransformConfig) -> String {
    format!("{} of {} values", format!("{:?}", config.data.transform).to_lowercase(), config.data.size)
}
