//! Data of a run on a device: training frames, validation frames with their reference, and test frames.

use std::sync::Arc;

use burn::tensor::IndexingUpdateOp;
use firefly_models::{LearnedWelchPeaks, WelchPeaks};
use firefly_ops::from_host::HostPeaks;
use firefly_ops::top_k;
use firefly_ops::training::PeakTargets;

use super::evaluate::{Agreement, has_power, peaks_of};
use super::loss::{FixedGates, hard_work, peak_losses, total_loss};
use super::{PeaksConfig, REFERENCE_SEGMENTS};
use crate::data::{
    Corpus, DataSets, EpochOrder, EvaluationSet, FrameBatches, Frames, Part, Synthetic, SyntheticConfig,
    frames_to_tensor, frames_without_overlap,
};
use crate::tasks::prelude::*;

/// Metric of a validation: median error of the power of the peaks that were found, in decibels.
pub(super) const POWER_ERROR_DB: &str = "power_error_db";
/// Added to a frame's mean power, so that a silent frame can be divided by it.
const MIN_LEVEL: f64 = 1e-30;

/// Opened data of a run.
pub struct PeaksData {
    /// The sets of frames.
    pub sets: Arc<DataSets>,
    /// Training frames by their number.
    pub(super) frames: FrameBatches,
    /// The exact estimate that a model is fitted to.
    pub(super) reference: WelchPeaks,
    /// Validation frames with their reference, on the first device.
    pub validation: Arc<ValidationSet>,
    /// The gates, if none are learned.
    pub(super) fixed_gates: FixedGates,
    /// The device.
    pub device: Device,
}

impl PeaksData {
    /// Opens the data of a run on a device without autodiff. An error if the recordings can't be read, or do not fit
    /// the reference.
    pub fn open(config: &PeaksConfig, device: &Device) -> Result<Self> {
        let sets = config.data.open(config.model.frame(), config.seed)?;
        let reference = config.model.exact(REFERENCE_SEGMENTS).try_init(device)?;
        let frames = sets.validation.evenly_spaced(config.schedule.validation_frames);
        let validation = ValidationSet::new(frames, &reference, device)?.into();
        // What can't be evaluated is refused before it is trained for.
        let is_silent =
            |set: &&EvaluationSet| !set.frames.iter().any(|frame| frame.iter().any(|sample| *sample != 0.0));
        if let Some(set) = sets.evaluation.iter().find(is_silent) {
            return Err(TaskError::NoPower(set.name.clone()));
        }
        Ok(Self {
            frames: FrameBatches::new(sets.train.clone(), device.clone()),
            reference,
            sets: sets.into(),
            validation,
            fixed_gates: FixedGates::default(),
            device: device.clone(),
        })
    }
}

impl TaskData for PeaksData {
    fn fingerprint(&self) -> u64 {
        self.sets.fingerprint()
    }

    fn on_device(&self, device: &Device) -> Self {
        Self {
            frames: self.frames.on_device(device),
            reference: self.reference.clone().to_device(device),
            sets: self.sets.clone(),
            validation: self.validation.clone(),
            fixed_gates: FixedGates::default(),
            device: device.clone(),
        }
    }

    fn order(&self) -> Option<&EpochOrder> {
        None
    }
}

/// A batch of frames and the peaks of their reference.
pub(super) struct PeaksBatch {
    /// `[batch, frame]`.
    pub(super) signal: Tensor<2>,
    /// The reference's strongest bins; the unit of power is a frame's mean.
    pub(super) targets: PeakTargets<2>,
}

impl PeaksBatch {
    /// Frames and their reference; `signal` is `[batch, frame]`.
    pub(super) fn new(signal: Tensor<2>, reference: &WelchPeaks) -> Result<Self, ArgumentError> {
        let power = reference.try_psd(signal.clone())?;
        let bins = top_k(power.clone(), reference.k())?.bins;
        let mean = power.clone().mean_dim(1) + MIN_LEVEL;
        // A frame without finite power has no peaks: its bins are −1 and add 0 to bin 0.
        let is_peak = bins.clone().greater_equal_elem(0).float();
        let peaks = power.zeros_like().scatter(1, bins.clamp_min(0), is_peak, IndexingUpdateOp::Add);
        Ok(Self { signal, targets: PeakTargets::new(peaks, power, mean) })
    }
}

/// Validation frames with their reference.
pub struct ValidationSet {
    frames: Frames,
    batch: PeaksBatch,
    reference: HostPeaks,
}

impl ValidationSet {
    fn new(frames: Frames, reference: &WelchPeaks, device: &Device) -> Result<Self> {
        if frames.is_empty() {
            return Err(TaskError::NoValidationFrames);
        }
        let peaks = peaks_of(&frames, device, |signal| reference.try_forward(signal))?;
        if !has_power(&peaks) {
            return Err(TaskError::NoValidationPower);
        }
        Ok(Self {
            batch: PeaksBatch::new(frames_to_tensor(frames.rows(0..frames.len()), frames.frame(), device), reference)?,
            reference: peaks,
            frames,
        })
    }

    /// Loss, recall and power error with hard gates, which the finished model runs with.
    pub fn measure(&self, model: &LearnedWelchPeaks, config: &PeaksConfig) -> Result<Validation> {
        let gates = model.hard_gates();
        let device = self.batch.signal.device();
        let work = hard_work(config, model, &gates);
        let loss = total_loss(peak_losses(model, &gates, &self.batch, &config.loss)?, work, config.loss.price);
        let loss = f64::from(loss.total.into_scalar::<f32>());
        let found = peaks_of(&self.frames, &device, |signal| model.try_forward(signal, &gates))?;
        let agreement = Agreement::of(&found, &self.reference, config.model.k);
        // There is no error where no peak was found.
        let error = Some(agreement.median_power_error_db).filter(|error| error.is_finite());
        let recall = Metric::real("recall", agreement.recall);
        let metrics = [recall].into_iter().chain(error.map(|error| Metric::real(POWER_ERROR_DB, error)));
        Ok(Validation { loss, metrics: metrics.collect() })
    }
}

/// Frames of a folder of recordings, of all synthetic signals, or of one family of them. An error if there are no data of
/// this name, or they can't be read.
pub(super) fn named_frames(config: &PeaksConfig, name: &str) -> Result<Frames> {
    let (data, frame) = (&config.data, config.model.frame());
    let synthetic = |signals: SyntheticConfig| -> Result<Frames> {
        let source = Synthetic::new(signals, frame, config.seed)?;
        Ok(source.for_part(Part::Test).frames(data.synthetic_frames))
    };
    if name == "synthetic" {
        synthetic(data.synthetic.clone())
    } else if let Ok(family) = name.parse() {
        synthetic(SyntheticConfig { families: vec![family], ..data.synthetic.clone() })
    } else if Path::new(name).exists() {
        Ok(frames_without_overlap(&Corpus::load(Path::new(name), frame)?, frame)?)
    } else {
        Err(TaskError::UnknownData(
            name.into(),
            "is neither a folder, nor `synthetic`, nor one of tones, harmonics, am, fm, chirps and noise",
        ))
    }
}
