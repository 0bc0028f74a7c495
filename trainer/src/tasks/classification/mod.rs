//! Task `classification`: the class of a recording, or of a part of it.

mod config;
mod examples;
mod model;

use burn::nn::loss::CrossEntropyLossConfig;
use firefly_models::{LogMel, LogMelConfig};
use firefly_recordings::read_recording;

pub use config::{DataSection, LabelPart, LossSection};
pub use examples::{ExampleSets, Examples};
pub use model::{Classifier, InputForm, OutputLayer};

use super::ridge;
use crate::data::Corpus;
use crate::tasks::prelude::*;
use crate::tasks::ridge::{Pairs, RidgeRegression};

/// Examples per batch of an evaluation.
const BATCH: usize = 64;
/// File of the names of the classes in a model's folder.
const CLASSES: &str = "classes.json";

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification;

/// Configuration of a run of the task.
pub type ClassificationConfig = RunConfig<Classification>;

/// The examples of a run, and the order of those to train on.
pub type ClassificationData = ExampleData<ExampleSets>;

/// Probabilities of examples, or other scores of which the greatest is the class that is found: true class, and score of
/// each class.
struct ClassProbabilities {
    classes: Vec<usize>,
    probabilities: Vec<Vec<f32>>,
}

impl ClassProbabilities {
    /// Of examples, with noise of a signal-to-noise ratio, by a function of signals `[batch, samples]`.
    fn of(
        examples: &Examples,
        snr_db: Option<f64>,
        device: &Device,
        probabilities: impl Fn(Tensor<2>) -> Result<Tensor<2>>,
    ) -> Result<Self> {
        let mut all = Self { classes: Vec::new(), probabilities: Vec::new() };
        let indices: Vec<usize> = (0..examples.len()).collect();
        for indices in indices.chunks(BATCH) {
            let batch = examples.batch(indices, snr_db, device);
            let probabilities = probabilities(batch.signal)?;
            let [_, classes] = probabilities.dims();
            let values: Vec<f32> = probabilities.into_data().iter().collect();
            all.probabilities.extend(values.chunks(classes).map(<[f32]>::to_vec));
            all.classes.extend(indices.iter().map(|index| examples.class(*index)));
        }
        Ok(all)
    }

    /// Share of the examples whose most probable class is theirs.
    fn accuracy(&self) -> f64 {
        let hits = self.classes.iter().zip(&self.probabilities).filter(|(class, row)| most_probable(row) == **class);
        hits.count() as f64 / self.classes.len() as f64
    }

    /// Mean of the classes' shares of examples that are found.
    fn balanced_accuracy(&self) -> f64 {
        let mut counts = vec![[0f32; 2]; self.probabilities.first().map_or(0, Vec::len)];
        for (class, row) in self.classes.iter().zip(&self.probabilities) {
            let [found, all] = &mut counts[*class];
            *found += f32::from(most_probable(row) == *class);
            *all += 1.0;
        }
        let shares = counts.iter().filter(|[_, all]| *all > 0.0).map(|[found, all]| f64::from(found / all));
        let shares: Vec<f64> = shares.collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    }

    /// Mean cross entropy in nats.
    fn cross_entropy(&self) -> f64 {
        let least = f64::from(f32::MIN_POSITIVE);
        let of = |(class, row): (&usize, &Vec<f32>)| -f64::from(row[*class]).max(least).ln();
        self.classes.iter().zip(&self.probabilities).map(of).sum::<f64>() / self.classes.len() as f64
    }
}

/// Index of the greatest probability, the first of equal ones.
fn most_probable(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}

impl Task for Classification {
    const CURVES: &'static [MetricCurve] = &[
        MetricCurve::share("validation_accuracy", "Validation accuracy", "share of the examples"),
        MetricCurve::new("validation_loss", "Validation loss", "cross entropy (nats)"),
    ];

    type Model = Classifier;
    type Data = ClassificationData;
    type Row = ScoreRow;

    fn open(config: &ClassificationConfig, device: &Device, monitor: &Monitor<'_>) -> Result<ClassificationData> {
        let sets = ExampleSets::open(config)?;
        if let [class] = &sets.classes[..] {
            monitor.on(Event::OneClass(class));
        }
        if sets.validation.is_empty() {
            return Err(TaskError::NoValidationFrames);
        }
        Ok(ExampleData::new(sets, config, device))
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<Classifier> {
        let OpenRun { config, data } = *run;
        Ok(Classifier::new(config, data.sets.classes.clone(), device)?)
    }

    fn loss(run: &OpenRun<'_, Self>, model: &Classifier, share: &BatchShare, _: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        let (indices, first) = (data.order.batch(share.number), share.first(config.training.batch));
        let indices = &indices[share.rows.clone()];
        let batch = data.sets.train.augmented(indices, config, first, &data.device);
        let logits = model.try_forward(batch.signal)?;
        let smoothing = Some(config.loss.smoothing as f32).filter(|share| *share > 0.0);
        let loss = CrossEntropyLossConfig::new().with_smoothing(smoothing).init(&logits.device());
        Ok(StepLoss::single(loss.forward(logits, batch.classes)))
    }

    fn measure(run: &OpenRun<'_, Self>, model: &Classifier) -> Result<Validation> {
        let data = run.data;
        let found =
            ClassProbabilities::of(&data.sets.validation, None, &data.device, |signal| model.probabilities(signal))?;
        Ok(Validation { loss: found.cross_entropy(), metrics: vec![Metric::real("accuracy", found.accuracy())] })
    }

    fn save(model: &Classifier, _config: &ClassificationConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(&model.model, folder)?;
        if let Some(layer) = &model.output {
            layer.save(folder)?;
        }
        zoo_model::write_json(folder.join(CLASSES), &model.classes)
    }

    fn load(folder: &Path, config: &ClassificationConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = zoo_model::read(folder, device)?;
        let expected = Classifier::new(config, zoo_model::read_json(folder.join(CLASSES))?, device)?;
        let differences = zoo_model::differences(&model, &expected.model);
        let output = expected.output.map(|layer| layer.restored(folder)).transpose()?;
        Ok(LoadedModel { model: Classifier { model, output, ..expected }, differences })
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, Classifier)]) -> Result<Vec<ScoreRow>> {
        let OpenRun { config, data } = *run;
        let (sets, device) = (&data.sets, &data.device);
        compare(config, &sets.test_name, &sets.test, baselines(config, sets, models, device)?, models, device)
    }

    /// A folder of labelled recordings. Baselines are those of the run's training data, and left out without these.
    fn evaluate_on(
        config: &ClassificationConfig,
        name: &str,
        models: &[(String, Classifier)],
        device: &Device,
    ) -> Result<Vec<ScoreRow>> {
        if !Path::new(name).is_dir() {
            return Err(TaskError::UnknownData(name.into(), "is no folder of recordings"));
        }
        let classes = models.first().map(|(_, model)| model.classes.clone()).unwrap_or_default();
        let examples = Examples::of(&Corpus::load(Path::new(name), 1)?, &config.data, &classes)?;
        let baselines = ExampleSets::open(config).and_then(|sets| baselines(config, &sets, models, device));
        let baselines = baselines.unwrap_or_else(|error| {
            let error = anyhow::Error::from(error);
            tracing::warn!("{name}: no most frequent class and linear classifier beside the models: {error:#}");
            Vec::new()
        });
        compare(config, name, &examples, baselines, models, device)
    }

    /// The most probable class of each recording, or of each of its parts.
    fn predict(
        config: &ClassificationConfig,
        placed: &mut [Placed<Classifier>],
        inputs: &[PathBuf],
    ) -> Result<Predictions> {
        let of_file = |Placed { model, device }: &Placed<Classifier>, path: &PathBuf| {
            let mut rows: Vec<Vec<String>> = Vec::new();
            for recording in read_recording(path)? {
                let channel = recording.channel.to_string();
                let corpus = Corpus::from_recordings(vec![recording], 1)?;
                let examples = Examples::unlabelled(&corpus, &config.data)?;
                let found = ClassProbabilities::of(&examples, None, device, |signal| model.probabilities(signal))?;
                for (index, row) in found.probabilities.iter().enumerate() {
                    let class = most_probable(row);
                    let place = [path.display().to_string(), channel.clone(), index.to_string()];
                    let found = [model.classes[class].clone(), row[class].to_string()];
                    rows.push(place.into_iter().chain(found).collect());
                }
            }
            Ok::<_, TaskError>(rows)
        };
        let rows = over_devices(placed, inputs, of_file)?.concat();
        let columns = ["file", "channel", "part", "class", "probability"].map(String::from).into();
        Ok(Predictions::Table(PredictionTable { columns, rows }))
    }

    fn report(run: &OpenRun<'_, Self>, model: &Classifier, rows: &[ScoreRow]) -> Result<ReportParts> {
        let config = run.config;
        let facts = [
            ("model", config.model.name.clone()),
            ("settings", model.model.settings().to_string()),
            ("parameters", model.num_params().to_string()),
            ("classes", model.classes.join(", ")),
            ("samples", config.data.samples.to_string()),
        ];
        let data_set = rows.first().map(|row| row.data_set.clone()).unwrap_or_default();
        Ok(scores::report(data_set, facts, rows))
    }
}

/// Row of an evaluation: its name, whether it is of a trained model, and scores `[batch, classes]` of signals
/// `[batch, samples]`.
type Scorer<'a> = (&'a str, bool, Box<dyn Fn(Tensor<2>) -> Result<Tensor<2>> + 'a>);

/// The most frequent class of the training examples, and a linear classifier unless there are too many classes. An error
/// if the classes are not those of the models.
fn baselines<'a>(
    config: &ClassificationConfig,
    sets: &ExampleSets,
    models: &[(String, Classifier)],
    device: &Device,
) -> Result<Vec<Scorer<'a>>> {
    if let Some((_, model)) = models.iter().find(|(_, model)| model.classes != sets.classes) {
        let [now, then] = [&sets.classes, &model.classes].map(|classes| classes.join(", "));
        let reason =
            format!("training files have the labels {now}, and had {then}: put them back, or give other --data");
        return Err(TaskError::TestSet(sets.test_name.clone(), reason));
    }
    let (classes, most_frequent) = (sets.classes.len(), sets.most_frequent());
    let row: Vec<f32> = (0..classes).map(|class| f32::from(class == most_frequent)).collect();
    let row = Tensor::<1>::from_data(TensorData::new(row, [classes]), device);
    let always = move |signal: Tensor<2>| Ok(row.clone().expand([signal.dims()[0], classes]));
    let mut baselines: Vec<Scorer<'a>> = vec![("most frequent class", false, Box::new(always))];
    match LogMelRidge::fit(sets, config.data.sample_rate, device)? {
        Some(ridge) => baselines.push(("linear, log-mel bands", false, Box::new(move |signal| ridge.scores(signal)))),
        None => ridge::warn_too_large(),
    }
    Ok(baselines)
}

/// Scores of models and baselines on examples without and with noise.
fn compare<'a>(
    config: &ClassificationConfig,
    name: &str,
    examples: &Examples,
    baselines: Vec<Scorer<'a>>,
    models: &'a [(String, Classifier)],
    device: &Device,
) -> Result<Vec<ScoreRow>> {
    let learned = |(name, model): &'a (String, Classifier)| -> Scorer<'a> {
        (name, true, Box::new(|signal| model.probabilities(signal)))
    };
    let scorers: Vec<_> = baselines.into_iter().chain(models.iter().map(learned)).collect();
    let ratios = std::iter::once(None).chain(config.data.test_snr_db.iter().copied().map(Some));
    let mut rows = Vec::new();
    for ratio in ratios {
        let data_set = match ratio {
            Some(ratio) => format!("{name}, white noise at {ratio} dB SNR"),
            None => name.to_string(),
        };
        for (name, is_learned, scores) in &scorers {
            let found = ClassProbabilities::of(examples, ratio, device, scores)?;
            rows.push(ScoreRow {
                name: (*name).into(),
                is_learned: *is_learned,
                data_set: data_set.clone(),
                scores: vec![
                    Metric::real("accuracy", found.accuracy()),
                    Metric::real("balanced_accuracy", found.balanced_accuracy()),
                    Metric::whole("examples", examples.len()),
                ],
            });
        }
    }
    Ok(rows)
}

const BANDS: usize = 40;
/// Seconds of a segment of a spectrum, about.
const SEGMENT_SECONDS: f64 = 0.025;

/// Linear classifier that trained ones are compared with: ridge regression from mean and deviation of log-mel bands to the
/// classes, each a number that is 1 for its examples and 0 for others. The class of the greatest number is found.
struct LogMelRidge {
    spectrum: LogMel,
    map: RidgeRegression,
}

impl LogMelRidge {
    /// The classifier that fits the training examples, with the penalty of the lowest error on those of the validation;
    /// `None` if there are too many classes. An error if examples are too short for a spectrum.
    fn fit(sets: &ExampleSets, sample_rate: f64, device: &Device) -> Result<Option<Self>> {
        let samples = sets.train.samples();
        let n_fft = ((SEGMENT_SECONDS * sample_rate) as usize).next_power_of_two().clamp(2, samples.max(2));
        let config = LogMelConfig::new().with_sample_rate(sample_rate).with_samples(samples).with_bands(BANDS);
        let spectrum = config.with_n_fft(n_fft).with_hop((n_fft / 2).max(1)).try_init(device)?;
        let pairs = |examples: &Examples| -> Result<Pairs> {
            let indices: Vec<usize> = (0..examples.len()).collect();
            let mut rows = Vec::with_capacity(examples.len());
            for indices in indices.chunks(BATCH) {
                rows.extend(features(&spectrum, examples.batch(indices, None, device).signal)?);
            }
            let is_class = |class: usize, index: usize| f64::from(u8::from(examples.class(index) == class));
            let outputs = |index: &usize| (0..sets.classes.len()).map(|class| is_class(class, *index)).collect();
            Ok((rows, indices.iter().map(outputs).collect()))
        };
        let map = RidgeRegression::fit(&pairs(&sets.train)?, &pairs(&sets.validation)?);
        Ok(map.map(|map| Self { spectrum, map }))
    }

    /// Numbers of the classes `[batch, classes]` of recordings `[batch, samples]`.
    fn scores(&self, signal: Tensor<2>) -> Result<Tensor<2>> {
        let device = signal.device();
        let scores: Vec<Vec<f64>> = features(&self.spectrum, signal)?.iter().map(|row| self.map.predict(row)).collect();
        let shape = [scores.len(), scores.first().map_or(0, Vec::len)];
        let values: Vec<f32> = scores.concat().into_iter().map(|score| score as f32).collect();
        Ok(Tensor::from_data(TensorData::new(values, shape), &device))
    }
}

/// Mean and deviation over the frames of each band of a batch `[batch, samples]`.
fn features(spectrum: &LogMel, signal: Tensor<2>) -> Result<Vec<Vec<f64>>> {
    let bands: Tensor<3> = spectrum.try_forward(signal)?;
    let mean = bands.clone().mean_dim(2);
    let deviation = (bands - mean.clone()).square().mean_dim(2).sqrt();
    let features = Tensor::cat(vec![mean, deviation], 1);
    let [_, count, _] = features.dims();
    let values: Vec<f32> = features.into_data().iter().collect();
    Ok(values.chunks(count).map(|row| row.iter().copied().map(f64::from).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_without_examples_does_not_count_in_the_balanced_accuracy() {
        let found = |rows: &[[f32; 3]]| ClassProbabilities {
            classes: vec![0, 0, 0, 1],
            probabilities: rows.iter().map(|row| row.to_vec()).collect(),
        };
        let always = found(&[[1.0, 0.0, 0.0]; 4]);
        assert_eq!((always.accuracy(), always.balanced_accuracy()), (0.75, 0.5));
        let never = found(&[[0.0, 0.0, 1.0]; 4]);
        assert_eq!(never.balanced_accuracy(), 0.0);
    }
}
