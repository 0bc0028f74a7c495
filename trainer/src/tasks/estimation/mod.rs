//! Task `estimation`: spectral estimates of the zoo that do less work, trained towards the exact estimate that they
//! stand in for.

mod adaptive;
mod comparison;
mod config;
mod estimator;
mod evaluate;
mod learned_fft;
mod memory;
mod predict;
mod report;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::Device;
use firefly_models::zoo::ZooModel;
use serde_json::Value;

pub use config::{LossSection, TrainingSection};

use self::comparison::Comparison;
use self::config::{frame, untrained};
use self::estimator::estimator;
use super::frame_sets::named_frames;
use super::gate_noise::GateNoise;
use super::scores::ScoreRow;
use super::zoo_model::{self, ZooSection, ZooTask};
use crate::config::{ConfigError, Resolved, RunConfig, Sections, locate_frames};
use crate::data::{DataConfig, DataSets, FrameBatches, Frames, frames_to_tensor};
use crate::metrics::{Metric, StepLoss, TrainingPoint, Validation};
use crate::progress::Monitor;
use crate::task::{
    BatchShare, GroupRate, LoadedModel, MetricCurve, ModelError, OtherEvaluation, Placed, Predictions, ReportParts,
    Task, TaskError,
};
use crate::tasks::TaskName;

/// Settings that the exact estimate depends on.
const OF_REFERENCE: [&str; 7] = ["n_fft", "hop", "window", "features", "bands", "sample_rate", "k"];

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimation;

/// Configuration of a run of the task.
pub type EstimationConfig = RunConfig<Estimation>;

/// The frames of a run, on a device.
pub struct EstimationData {
    sets: Arc<DataSets>,
    batches: FrameBatches,
    validation: Frames,
    device: Device,
}

impl ZooTask for Estimation {
    const DEFAULT_MODEL: &'static str = "learned_fft";
    const FAMILIES: &'static [&'static str] = &["learned_fft", "adaptive_welch_peaks"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[];
}

impl Sections for Estimation {
    const NAME: TaskName = TaskName::Estimation;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataConfig;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn models() -> Vec<&'static str> {
        ZooSection::<Self>::accepted()
    }

    fn choose_model(config: &mut EstimationConfig, name: &str) -> Result<(), ConfigError> {
        config.model.name = name.into();
        config.model.validate()
    }

    fn validate(config: &EstimationConfig) -> Result<(), ConfigError> {
        config::validate(config)
    }

    fn check_memory(config: &EstimationConfig, available: u64) -> Result<(), ConfigError> {
        memory::check(config, available)
    }

    fn locate_data(config: &mut EstimationConfig, root: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
        locate_frames(&mut config.data, root)
    }

    fn are_comparable(a: &EstimationConfig, b: &EstimationConfig) -> bool {
        let segments = |config: &EstimationConfig| -> Option<Value> {
            config.model.setting("rounds")?.as_array()?.last().cloned()
        };
        a.model.family() == b.model.family()
            && OF_REFERENCE.iter().all(|key| a.model.setting(key) == b.model.setting(key))
            && (&a.data, a.seed, segments(a)) == (&b.data, b.seed, segments(b))
    }
}

impl Task for Estimation {
    const TERMS: &'static [(&'static str, &'static str)] = &[("error", "error"), ("price", "price of the work")];
    const CURVES: &'static [MetricCurve] = &[
        MetricCurve {
            metric: "validation_rms_error_db",
            name: "validation error",
            title: "Validation error of features",
            axis: "root mean square error of power (dB)",
            is_share: false,
            empty: "Peaks are compared by their bins.",
        },
        MetricCurve {
            metric: "validation_recall",
            name: "validation recall",
            title: "Validation recall",
            axis: "recall of the reference peaks (exact bin)",
            is_share: true,
            empty: "The features are no peaks.",
        },
        MetricCurve {
            metric: "open_share",
            name: "open share",
            title: "Open butterflies, hard gates",
            axis: "open butterflies, share of all",
            is_share: true,
            empty: "The model has no gates.",
        },
        MetricCurve {
            metric: "validation_segments",
            name: "segments",
            title: "Segments per validation frame",
            axis: "segments per frame, mean",
            is_share: false,
            empty: "The estimate is of one segment.",
        },
    ];

    type Model = ZooModel;
    type Data = EstimationData;
    type Row = ScoreRow;

    fn open(config: &EstimationConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<EstimationData, TaskError> {
        let sets = config.data.open(frame(config)?, config.seed)?;
        let validation = sets.validation.evenly_spaced(config.schedule.validation_frames);
        if validation.is_empty() {
            return Err(TaskError::NoValidationFrames);
        }
        let batches = FrameBatches::new(sets.train.clone(), device.clone());
        Ok(EstimationData { sets: sets.into(), batches, validation, device: device.clone() })
    }

    fn fingerprint(data: &EstimationData) -> u64 {
        data.sets.fingerprint()
    }

    fn replicate(
        _config: &EstimationConfig,
        data: &EstimationData,
        device: &Device,
    ) -> Result<EstimationData, TaskError> {
        let (sets, validation) = (data.sets.clone(), data.validation.clone());
        Ok(EstimationData { sets, batches: data.batches.on_device(device), validation, device: device.clone() })
    }

    fn skipped(data: &EstimationData) -> usize {
        data.sets.skipped
    }

    fn batches_per_epoch(_config: &EstimationConfig, _data: &EstimationData) -> Option<usize> {
        None
    }

    fn init(config: &EstimationConfig, _data: &EstimationData, device: &Device) -> Result<ZooModel, TaskError> {
        Ok(untrained(config, device)?)
    }

    fn rates(config: &EstimationConfig) -> Vec<GroupRate> {
        vec![GroupRate { path: "LearnedFft.twiddles", share: config.training.twiddle_rate }]
    }

    fn loss(
        config: &EstimationConfig,
        data: &EstimationData,
        model: &ZooModel,
        share: &BatchShare,
        _step: usize,
    ) -> Result<StepLoss, TaskError> {
        let frames = data.batches.rows(share.first(config.training.batch), share.rows.len());
        let noise = GateNoise::new(config.seed, share.number);
        Ok(estimator(model)?.loss(frames, &config.loss, Some(noise))?)
    }

    fn properties(_config: &EstimationConfig, model: &ZooModel) -> Vec<Metric> {
        let open_share = estimator(model).ok().and_then(|model| model.open_share());
        open_share.map(|share| Metric::real("open_share", share)).into_iter().collect()
    }

    fn measure(config: &EstimationConfig, data: &EstimationData, model: &ZooModel) -> Result<Validation, TaskError> {
        let (frames, device, model) = (&data.validation, &data.device, estimator(model)?);
        let exact = model.exact(device);
        let reference = &exact[exact.len() - 1].estimate;
        let comparison = Comparison::of(frames, device, |frames| model.estimate(frames), reference, config.loss.floor)?;
        if !comparison.has_power {
            return Err(TaskError::NoValidationPower);
        }
        let all = frames_to_tensor(frames.rows(0..frames.len()), frames.frame(), device);
        let loss = model.loss(all, &config.loss, None)?.total.into_scalar::<f64>();
        // A power error is not a number where no peak is found.
        let mut metrics = comparison.metrics();
        metrics.retain(|metric| metric.value.as_f64().is_finite());
        Ok(Validation { loss, metrics })
    }

    fn describe(point: &TrainingPoint) -> String {
        let open = point.metric("open_share").map(|share| format!("open {:.1}%", 100.0 * share));
        point.description(Self::TERMS, open.as_slice())
    }

    fn save(model: &ZooModel, _config: &EstimationConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(model, folder)
    }

    fn load(folder: &Path, config: &EstimationConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        Ok(zoo_model::compared(zoo_model::read(folder, device)?, &untrained(config, device)?))
    }

    fn evaluate(
        config: &EstimationConfig,
        data: &EstimationData,
        models: &[(String, ZooModel)],
    ) -> Result<Vec<ScoreRow>, TaskError> {
        data.sets.evaluated(|name, frames| evaluate::compare(config, name, frames, models, &data.device))
    }

    fn evaluate_on(
        config: &EstimationConfig,
        name: &str,
        models: &[(String, ZooModel)],
        device: &Device,
    ) -> Result<OtherEvaluation<Self>, TaskError> {
        let (frames, skipped) = named_frames(&config.data, frame(config)?, config.seed, name)?;
        Ok(OtherEvaluation { rows: evaluate::compare(config, name, &frames, models, device)?, skipped })
    }

    /// Features or peaks of the frames of recordings.
    fn predict(
        config: &EstimationConfig,
        placed: &mut [Placed<ZooModel>],
        inputs: &[PathBuf],
    ) -> Result<Predictions, TaskError> {
        Ok(predict::table(config, placed, inputs)?.into())
    }

    fn report(
        resolved: &Resolved<Self>,
        data: &EstimationData,
        model: &ZooModel,
        rows: &[ScoreRow],
    ) -> Result<ReportParts, TaskError> {
        let names: Vec<&str> = data.sets.evaluation.iter().map(|set| set.name.as_str()).collect();
        Ok(report::parts(resolved, names.join(", "), model, rows))
    }
}
