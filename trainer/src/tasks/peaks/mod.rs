//! Task `peaks`: learned Welch peaks, fitted to the peaks of the exact reference.

mod config;
mod data;
pub mod ephemeral;
pub mod evaluate;
mod loss;
pub mod report;

use firefly_models::LearnedWelchPeaks;
use firefly_models::learned_welch_peaks::LearnedTransform;
use firefly_models::zoo::ZooError;
use firefly_recordings::read_recording;

pub use config::{LossSection, ModelSection, Parameters, REFERENCE_SEGMENTS, TrainingSection};
pub use data::PeaksData;
pub use evaluate::{Agreement, PeaksRow};

use self::data::{POWER_ERROR_DB, PeaksBatch, named_frames};
use self::evaluate::{active_share, batches, read_back};
use self::loss::{gates_and_work, learns, peak_losses, price, total_loss};
use self::report::PeaksReport;
use crate::data::{Corpus, frames_to_tensor, frames_without_overlap};
use crate::metrics::TrainingPoint;
use crate::task::GroupRate;
use crate::tasks::prelude::*;

/// Logarithm of a gain that adds nothing to a bin's own power but rounding.
const NO_LOG_GAIN: f32 = -40.0;

/// The task.
#[derive(Debug, Clone, PartialEq)]
pub struct PeaksTask;

/// Configuration of a run of the task.
pub type PeaksConfig = RunConfig<PeaksTask>;

impl Task for PeaksTask {
    const TERMS: &'static [(&'static str, &'static str)] =
        &[("ranking", "ranking"), ("log_power", "log power"), ("price", "price on gates")];
    const CURVES: &'static [MetricCurve] = &[
        MetricCurve::share("validation_recall", "Validation recall", "recall of the reference peaks (exact bin)"),
        MetricCurve::share(
            "active_share",
            "Active butterflies, hard gates",
            "open butterflies, share of the reference's",
        ),
    ];

    type Model = LearnedWelchPeaks;
    type Data = PeaksData;
    type Row = PeaksRow;

    fn open(config: &PeaksConfig, device: &Device, _monitor: &Monitor<'_>) -> Result<PeaksData> {
        PeaksData::open(config, device)
    }

    fn init(run: &OpenRun<'_, Self>, device: &Device) -> Result<LearnedWelchPeaks> {
        let config = run.config;
        Ok(config.model.learned().try_init(device)?)
    }

    fn freeze(mut model: LearnedWelchPeaks, config: &PeaksConfig) -> LearnedWelchPeaks {
        let learned = |group| learns(config, group);
        model.taper = model.taper.set_require_grad(learned(Parameters::Taper));
        model.transform = model.transform.map(|transform| LearnedTransform {
            twiddles: transform.twiddles.set_require_grad(learned(Parameters::Twiddles)),
            gate_logits: transform.gate_logits.set_require_grad(learned(Parameters::Gates)),
        });
        model.segment_logits = model.segment_logits.set_require_grad(learned(Parameters::Segments));
        model.log_gain = model.log_gain.set_require_grad(learned(Parameters::Gain));
        let weights = model.product_weights;
        model.product_weights = weights.map(|weights| weights.set_require_grad(learned(Parameters::Gain)));
        model
    }

    fn rates(config: &PeaksConfig) -> Vec<GroupRate> {
        let training = &config.training;
        [("taper", training.taper_rate), ("transform.twiddles", training.twiddle_rate)]
            .map(|(path, share)| GroupRate { path, share })
            .into()
    }

    fn loss(run: &OpenRun<'_, Self>, model: &LearnedWelchPeaks, share: &BatchShare, step: usize) -> Result<StepLoss> {
        let OpenRun { config, data } = *run;
        let signal = data.frames.rows(share.first(config.training.batch), share.rows.len());
        let batch = PeaksBatch::new(signal, &data.reference)?;
        let (gates, work) = gates_and_work(config, &data.fixed_gates, model, share.number)?;
        let losses = peak_losses(model, &gates, &batch, &config.loss)?;
        Ok(total_loss(losses, work, price(config, step)))
    }

    fn properties(config: &PeaksConfig, model: &LearnedWelchPeaks) -> Vec<Metric> {
        let butterflies = model.count_open_butterflies();
        let share = active_share(&config.model, butterflies);
        vec![Metric::whole("butterflies", butterflies), Metric::real("active_share", share)]
    }

    fn measure(run: &OpenRun<'_, Self>, model: &LearnedWelchPeaks) -> Result<Validation> {
        let OpenRun { config, data } = *run;
        data.validation.measure(model, config)
    }

    /// A price closes gates over the whole run: models before its end have not paid it yet.
    fn keeps_best(config: &PeaksConfig) -> bool {
        config.loss.price == 0.0
    }

    /// The model at its first step, without gain from neighbours unless one is given: an exact estimate of its segments.
    fn untrained(run: &OpenRun<'_, Self>, device: &Device) -> Result<Option<LearnedWelchPeaks>> {
        if !Self::keeps_best(run.config) {
            return Ok(None);
        }
        let learned = run.config.model.learned();
        let mut model = learned.try_init(device)?;
        if learned.neighbour_gain.is_none() && learned.product_weight.is_none() {
            let gain = Tensor::<2>::from_floats([[NO_LOG_GAIN, 0.0, NO_LOG_GAIN]], device);
            model.log_gain = model.log_gain.map(|gains| gains.zeros_like() + gain);
        }
        Ok(Some(model))
    }

    /// Less recall, or a greater error of power.
    fn is_worse(validation: &Validation, untrained: &Validation) -> bool {
        let recall = |validation: &Validation| validation.metric("recall").unwrap_or(0.0);
        let error = |validation: &Validation| validation.metric(POWER_ERROR_DB).unwrap_or(f64::INFINITY);
        recall(validation) < recall(untrained) || error(validation) > error(untrained)
    }

    fn describe(point: &TrainingPoint) -> String {
        let active = point.metric("active_share").map(|share| format!("active {:.1}%", 100.0 * share));
        point.description(Self::TERMS, active.as_slice())
    }

    fn save(model: &LearnedWelchPeaks, _config: &PeaksConfig, folder: &Path) -> Result<(), ModelError> {
        zoo_model::save(&model.clone().into(), folder)
    }

    fn load(folder: &Path, config: &PeaksConfig, device: &Device) -> Result<LoadedModel<Self>, ModelError> {
        let model = zoo_model::read(folder, device)?;
        let expected = config.model.learned().try_init(device).map_err(ZooError::from)?.into();
        let differences = zoo_model::differences(&model, &expected);
        match model {
            ZooModel::LearnedWelchPeaks(model) => Ok(LoadedModel { model, differences }),
            _ => Err(ModelError::Weights(folder.into(), differences.join(", "))),
        }
    }

    fn evaluate(run: &OpenRun<'_, Self>, models: &[(String, LearnedWelchPeaks)]) -> Result<Vec<PeaksRow>> {
        let OpenRun { config, data } = *run;
        data.sets.evaluated(|name, frames| evaluate::compare(name, frames, &config.model, models, &data.device))
    }

    fn evaluate_on(
        config: &PeaksConfig,
        name: &str,
        models: &[(String, LearnedWelchPeaks)],
        device: &Device,
    ) -> Result<Vec<PeaksRow>> {
        evaluate::compare(name, &named_frames(config, name)?, &config.model, models, device)
    }

    /// Peaks of the frames of recordings, a row each.
    fn predict(
        config: &PeaksConfig,
        placed: &mut [Placed<LearnedWelchPeaks>],
        inputs: &[PathBuf],
    ) -> Result<Predictions> {
        let (k, frame) = (config.model.k, config.model.frame());
        let mut rows = Vec::new();
        for path in inputs {
            for recording in read_recording(path)? {
                let place = [recording.path.display().to_string(), recording.channel.to_string()];
                let frames = frames_without_overlap(&Corpus::from_recordings(vec![recording], frame)?, frame)?;
                let found = over_devices(placed, &batches(&frames), |Placed { model, device }, rows| {
                    let signal = frames_to_tensor(frames.rows(rows.clone()), frame, device);
                    Ok::<_, TaskError>(read_back(model.try_forward(signal, &model.hard_gates())?))
                })?;
                let peaks = found.iter().flat_map(|peaks| peaks.bins.iter().zip(&peaks.power));
                for (index, (bin, power)) in peaks.enumerate() {
                    let rank = [(index / k).to_string(), (index % k + 1).to_string()];
                    rows.push([&place[..], &rank, &[bin.to_string(), power.to_string()]].concat());
                }
            }
        }
        let columns = ["file", "channel", "frame", "rank", "bin", "power"].map(String::from).into();
        Ok(Predictions::Table(PredictionTable { columns, rows }))
    }

    fn report(run: &OpenRun<'_, Self>, model: &LearnedWelchPeaks, rows: &[PeaksRow]) -> Result<ReportParts> {
        Ok(PeaksReport::of_run(run.config, model, rows).parts())
    }
}
