//! Task `peaks`: learned Welch peaks, fitted to the peaks of the exact reference tier.

pub mod batch;
mod checks;
mod config;
mod data;
pub mod ephemeral;
pub mod evaluate;
mod gated_loss;
mod loss;
mod memory;
mod predicted_times;
pub mod report;
mod row;
mod segment_times;
mod table;

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig, Tier};
use firefly_ops::HostPeaks;

pub use config::{LossSection, ModelSection, Parameters, TrainingSection};
pub use data::PeaksData;
pub use row::PeaksRow;

use self::evaluate::active_share;
use self::report::PeaksReport;
use super::found_peaks::{append, read_back};
use super::frame_sets::{OfRecording, named_frames, of_recordings};
use crate::config::{ConfigError, Resolved, RunConfig, Sections, ensure, locate_frames};
use crate::data::DataConfig;
use crate::metrics::{Metric, StepLoss, TrainingPoint, Validation};
use crate::progress::Monitor;
use crate::task::{
    BatchShare, GroupRate, LoadedModel, MetricCurve, ModelError, OtherEvaluation, Placed, PredictionTable, Predictions,
    ReportParts, Task, TaskError,
};
use crate::tasks::TaskName;

/// Name of the model.
const MODEL: &str = "learned_welch_peaks";

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct PeaksTask;

/// Configuration of a run of the task.
pub type PeaksConfig = RunConfig<PeaksTask>;

impl Sections for PeaksTask {
    const NAME: TaskName = TaskName::Peaks;

    type ModelSection = ModelSection;
    type DataSection = DataConfig;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn models() -> Vec<&'static str> {
        vec![MODEL]
    }

    fn choose_model(_config: &mut PeaksConfig, name: &str) -> Result<(), ConfigError> {
        ensure(name == MODEL, "--model", name, MODEL)
    }

    fn validate(config: &PeaksConfig) -> Result<(), ConfigError> {
        checks::validate(config)
    }

    fn check_memory(config: &PeaksConfig, available: u64) -> Result<(), ConfigError> {
        memory::check(config, available)
    }

    fn complete(config: &mut PeaksConfig) -> Result<(), ConfigError> {
        segment_times::complete(&mut config.loss, &config.model)?;
        checks::validate(config)
    }

    fn locate_data(config: &mut PeaksConfig, root: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
        locate_frames(&mut config.data, root)
    }

    fn are_comparable(a: &PeaksConfig, b: &PeaksConfig) -> bool {
        a.model.exact(Tier::Reference) == b.model.exact(Tier::Reference)
            && (a.model.frame(), &a.data, a.seed) == (b.model.frame(), &b.data, b.seed)
    }
}

impl Task for PeaksTask {
    const TERMS: &'static [(&'static str, &'static str)] =
        &[("ranking", "ranking"), ("log_power", "log power"), ("price", "price on gates")];
    const CURVES: &'static [MetricCurve] = &[
        MetricCurve {
            metric: "validation_recall",
            name: "validation recall",
            title: "Validation recall",
            axis: "recall of the reference peaks (exact bin)",
            is_share: true,
            empty: "Validation recall was not measured.",
        },
        MetricCurve {
            metric: "active_share",
            name: "active share",
            title: "Active butterflies, hard gates",
            axis: "open butterflies, share of the reference's",
            is_share: true,
            empty: "No finite value was recorded.",
        },
    ];

    type Model = LearnedWelchPeaks;
    type Data = PeaksData;
    type Row = PeaksRow;

    fn open(config: &PeaksConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<PeaksData, TaskError> {
        PeaksData::open(config, device)
    }

    fn replicate(config: &PeaksConfig, data: &PeaksData, device: &Device) -> Result<PeaksData, TaskError> {
        data.on_device(config, device)
    }

    fn skipped(data: &PeaksData) -> usize {
        data.sets.skipped
    }

    fn fingerprint(data: &PeaksData) -> u64 {
        data.sets.fingerprint()
    }

    fn batches_per_epoch(_config: &PeaksConfig, _data: &PeaksData) -> Option<usize> {
        None
    }

    fn init(config: &PeaksConfig, _data: &PeaksData, device: &Device) -> Result<LearnedWelchPeaks, TaskError> {
        Ok(config.model.learned().try_init(device)?)
    }

    fn freeze(model: LearnedWelchPeaks, config: &PeaksConfig) -> LearnedWelchPeaks {
        gated_loss::freeze(model, config)
    }

    fn rates(config: &PeaksConfig) -> Vec<GroupRate> {
        let training = &config.training;
        [("taper", training.taper_rate), ("twiddles", training.twiddle_rate)]
            .map(|(path, share)| GroupRate { path, share })
            .into()
    }

    fn loss(
        config: &PeaksConfig,
        data: &PeaksData,
        model: &LearnedWelchPeaks,
        share: &BatchShare,
        step: usize,
    ) -> Result<StepLoss, TaskError> {
        Ok(gated_loss::step_loss(config, data, model, share, step)?)
    }

    fn properties(config: &PeaksConfig, model: &LearnedWelchPeaks) -> Vec<Metric> {
        let butterflies = model.count_open_butterflies();
        let share = active_share(&config.model, butterflies);
        vec![Metric::whole("butterflies", butterflies), Metric::real("active_share", share)]
    }

    fn measure(config: &PeaksConfig, data: &PeaksData, model: &LearnedWelchPeaks) -> Result<Validation, TaskError> {
        data.validation.measure(model, config)
    }

    fn describe(point: &TrainingPoint) -> String {
        let active = point.metric("active_share").map(|share| format!("active {:.1}%", 100.0 * share));
        point.description(Self::TERMS, active.as_slice())
    }

    fn save(model: &LearnedWelchPeaks, _config: &PeaksConfig, folder: &Path) -> Result<(), ModelError> {
        Ok(model.save(folder)?)
    }

    fn load(folder: &Path, config: &PeaksConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = LearnedWelchPeaks::load(folder, device)?;
        Ok(LoadedModel { differences: differences(model.config(), &config.model.learned()), model })
    }

    fn evaluate(
        config: &PeaksConfig,
        data: &PeaksData,
        models: &[(String, LearnedWelchPeaks)],
    ) -> Result<Vec<PeaksRow>, TaskError> {
        data.sets.evaluated(|name, frames| evaluate::compare(name, frames, &config.model, models, &data.device))
    }

    fn evaluate_on(
        config: &PeaksConfig,
        name: &str,
        models: &[(String, LearnedWelchPeaks)],
        device: &Device,
    ) -> Result<OtherEvaluation<Self>, TaskError> {
        let (frames, skipped) = named_frames(&config.data, config.model.frame(), config.seed, name)?;
        Ok(OtherEvaluation { rows: evaluate::compare(name, &frames, &config.model, models, device)?, skipped })
    }

    /// Peaks of the frames of recordings, a row each.
    fn predict(
        config: &PeaksConfig,
        placed: &mut [Placed<LearnedWelchPeaks>],
        inputs: &[PathBuf],
    ) -> Result<Predictions, TaskError> {
        let k = config.model.k;
        let of_batch =
            |model: &LearnedWelchPeaks, frames| Ok(read_back(model.try_forward(frames, &model.hard_gates())?));
        let mut rows = Vec::new();
        for OfRecording { place, batches } in of_recordings(placed, inputs, config.model.frame(), of_batch)? {
            let mut peaks = HostPeaks::default();
            batches.into_iter().for_each(|batch| append(&mut peaks, batch));
            for (index, (bin, power)) in peaks.bins.iter().zip(&peaks.power).enumerate() {
                let values = [(index / k).to_string(), (index % k + 1).to_string(), bin.to_string(), power.to_string()];
                rows.push(place.clone().into_iter().chain(values).collect());
            }
        }
        let columns = ["file", "channel", "frame", "rank", "bin", "power"].map(String::from).into();
        Ok(PredictionTable { columns, rows }.into())
    }

    fn report(
        resolved: &Resolved<Self>,
        _data: &Self::Data,
        model: &LearnedWelchPeaks,
        rows: &[PeaksRow],
    ) -> Result<ReportParts, TaskError> {
        Ok(PeaksReport::of_run(resolved, model, rows).parts())
    }
}

/// The fields in which a model's configuration differs from its run's.
fn differences(model: &LearnedWelchPeaksConfig, run: &LearnedWelchPeaksConfig) -> Vec<String> {
    let fields = |config| match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (model, run) = (fields(model), fields(run));
    let differs = |(name, value): (&String, &serde_json::Value)| {
        let of_run = run.get(name).unwrap_or(&serde_json::Value::Null);
        (of_run != value).then(|| format!("its {name} is {value}, the run's {of_run}"))
    };
    model.iter().filter_map(differs).collect()
}
