//! Task `denoising`: recordings without the noise that was added to them.

mod baselines;
mod config;
mod denoised;
mod evaluate;
mod examples;

pub use baselines::{Change, Noisy, SpectralSubtraction, Tunable, WienerFilter, tuned};
pub use config::{DataSection, LossSection};
pub use evaluate::{si_snr, si_snr_rows, snr, spectral_difference};
pub use examples::{Condition, ExampleSets, Examples, NoisyBatch};

use crate::tasks::prelude::*;
use evaluate::{Comparison, Ratios};

/// Examples per batch of an evaluation.
const BATCH: usize = 32;
/// Fractional part of the golden ratio: its multiples fill a range evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_8;

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct Denoising;

/// Configuration of a run of the task.
pub type DenoisingConfig = RunConfig<Denoising>;

/// The examples of a run, and the order of those to train on.
pub type DenoisingData = ExampleData<ExampleSets>;

/// Rows `[rows, samples]` without noise.
fn denoised(model: &ZooModel, noisy: Tensor<2>) -> Result<Tensor<2>> {
    Ok(zoo_model::first_output(model, vec![noisy.into()])?.try_float::<2>("denoising", "denoised")?)
}

/// The settings of the model that follow from the data.
fn derived(config: &DenoisingConfig) -> Settings {
    Settings::new().with("samples", config.data.samples)
}

/// Loss of estimates: the negative ratio in decibels, and the weighted spectral term.
fn loss_of(section: &LossSection, estimate: Tensor<2>, clean: Tensor<2>) -> Result<StepLoss> {
    let ratio = si_snr_rows(estimate.clone(), clean.clone()).mean().neg();
    if section.spectral == 0.0 {
        return Ok(StepLoss::single(ratio));
    }
    let spectral = spectral_difference(estimate, clean)? * section.spectral;
    let total = ratio.clone() + spectral.clone();
    Ok(StepLoss { total, terms: vec![("si_snr", ratio), ("spectral", spectral)] })
}

/// Noise of a validation example: the kinds in turn, and ratios that fill the range of the training.
fn validation_condition(data: &DataSection, index: usize) -> Condition {
    let [least, greatest] = data.snr_db;
    let kind = data.noises[index % data.noises.len()];
    Condition { kind, snr_db: least + (greatest - least) * (GOLDEN * index as f64).fract() }
}

impl Task for Denoising {
    const PREDICTIONS: PredictionForm = PredictionForm::Files;
    const TERMS: &'static [(&'static str, &'static str)] =
        &[("si_snr", "negative SI-SNR (dB)"), ("spectral", "spectral term")];
    const CURVES: &'static [MetricCurve] = &[MetricCurve::new(
        "validation_si_snr_improvement_db",
        "Validation: improvement of the ratio",
        "SI-SNR improvement (dB)",
    )];

    type Model = ZooModel;
    type Data = DenoisingData;
    type Row = ScoreRow;

    fn open(config: &DenoisingConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<DenoisingData> {
        Ok(ExampleData::new(ExampleSets::open(config)?, config, device))
    }

    fn batch_statistics(config: &DenoisingConfig) -> Option<&'static str> {
        (config.loss.spectral > 0.0).then_some("the spectral term of the loss is a ratio of sums over the whole batch")
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<ZooModel> {
        let config = run.config;
        Ok(config.model.create(derived(config), config.seed, device)?)
    }

    fn loss(run: &OpenRun<'_, Self>, model: &ZooModel, share: &BatchShare, _: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        let (indices, first) = (data.order.batch(share.number), share.first(config.training.batch));
        let indices = &indices[share.rows.clone()];
        let NoisyBatch { clean, noisy } = data.sets.train.augmented(indices, config, first, &data.device);
        loss_of(&config.loss, denoised(model, noisy)?, clean)
    }

    fn measure(run: &OpenRun<'_, Self>, model: &ZooModel) -> Result<Validation> {
        let OpenRun { config, data } = *run;
        let examples = &data.sets.validation;
        let count = config.schedule.validation_frames.min(examples.len());
        let indices: Vec<usize> = (0..count).map(|index| index * examples.len() / count).collect();
        let (mut before, mut after, mut loss) = (Ratios::default(), Ratios::default(), 0.0);
        for indices in indices.chunks(BATCH) {
            // The place of an example among those that are validated: their kinds of noise come in turn.
            let place = |index: usize| (index * count).div_ceil(examples.len());
            let condition = |index| validation_condition(&config.data, place(index));
            let NoisyBatch { clean, noisy } = examples.mixed(indices, condition, &data.device);
            let estimate = denoised(model, noisy.clone())?;
            let of_batch = loss_of(&config.loss, estimate.clone(), clean.clone())?.total;
            loss += f64::from(of_batch.into_scalar::<f32>()) * indices.len() as f64 / count as f64;
            before.add(noisy, clean.clone());
            after.add(estimate, clean);
        }
        let metrics = vec![
            Metric::real("si_snr_db", after.si_snr()),
            Metric::real("si_snr_improvement_db", after.si_snr() - before.si_snr()),
            Metric::real("snr_db", after.snr()),
        ];
        Ok(Validation { loss, metrics })
    }

    fn save(model: &ZooModel, _config: &DenoisingConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(model, folder)
    }

    fn load(folder: &Path, config: &DenoisingConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let expected = config.model.create(derived(config), config.seed, device)?;
        let model = zoo_model::read(folder, device)?;
        Ok(LoadedModel { differences: zoo_model::differences(&model, &expected), model })
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, ZooModel)]) -> Result<Vec<ScoreRow>> {
        let OpenRun { config, data } = *run;
        let ExampleSets { train, test, test_name, .. } = &*data.sets;
        Comparison { config, train, test, models, device: &data.device }.rows(test_name)
    }

    /// A folder of recordings without noise.
    fn evaluate_on(
        config: &DenoisingConfig,
        name: &str,
        models: &[(String, ZooModel)],
        device: &Device,
    ) -> Result<Vec<ScoreRow>> {
        if !Path::new(name).is_dir() {
            return Err(TaskError::UnknownData(name.into(), "is no folder of recordings"));
        }
        // Spectral subtraction is tuned on the run's training examples.
        let train = &ExampleSets::open(config)?.train;
        let test = &Examples::of_folder(Path::new(name), config)?;
        Comparison { config, train, test, models, device }.rows(name)
    }

    /// A WAV file without noise for each file of recordings.
    fn predict(config: &DenoisingConfig, placed: &mut [Placed<ZooModel>], inputs: &[PathBuf]) -> Result<Predictions> {
        Ok(Predictions::Files(denoised::files(config, placed, inputs)?))
    }

    fn report(run: &OpenRun<'_, Self>, model: &ZooModel, rows: &[ScoreRow]) -> Result<ReportParts> {
        evaluate::parts(run, model, rows)
    }
}
