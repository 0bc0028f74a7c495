//! Data of a run on a device: training batches, validation frames with their reference, and test frames.

use std::sync::Arc;

use burn::tensor::Device;
use firefly_models::{LearnedWelchPeaks, WelchPeaks};
use firefly_ops::from_host::HostPeaks;

use super::batch::{Batches, PeaksBatch};
use super::found_peaks::{Agreement, has_power, peaks_of};
use super::loss::{FixedGates, hard_work, peak_losses, total_loss};
use super::{PeaksConfig, REFERENCE_SEGMENTS};
use crate::data::{DataSets, EpochOrder, EvaluationSet, Frames, frames_to_tensor};
use crate::metrics::{Metric, Validation};
use crate::task::{TaskData, TaskError};

/// Metric of a validation: median error of the power of the peaks that were found, in decibels.
pub(super) const POWER_ERROR_DB: &str = "power_error_db";

/// Opened data of a run.
pub struct PeaksData {
    /// The sets of frames.
    pub sets: Arc<DataSets>,
    /// Training batches by their number.
    pub batches: Batches,
    /// Validation frames with their reference, on the first device.
    pub validation: Arc<ValidationSet>,
    /// The gates, if none are learned.
    pub(super) fixed_gates: FixedGates,
    /// The device.
    pub device: Device,
}

impl PeaksData {
    /// Opens the data of a run on a device without autodiff.
    ///
    /// # Errors
    /// If the recordings can't be read, or do not fit the reference.
    pub fn open(config: &PeaksConfig, device: &Device) -> Result<Self, TaskError> {
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
        let batches = Batches::new(sets.train.clone(), reference, config.training.batch, device.clone());
        let fixed_gates = FixedGates::default();
        Ok(Self { sets: sets.into(), batches, validation, fixed_gates, device: device.clone() })
    }
}

impl TaskData for PeaksData {
    fn fingerprint(&self) -> u64 {
        self.sets.fingerprint()
    }

    fn on_device(&self, device: &Device) -> Self {
        let (sets, validation) = (self.sets.clone(), self.validation.clone());
        let batches = self.batches.on_device(device);
        Self { sets, batches, validation, fixed_gates: FixedGates::default(), device: device.clone() }
    }

    fn order(&self) -> Option<&EpochOrder> {
        None
    }

    fn skipped(&self) -> usize {
        self.sets.skipped
    }
}

/// Validation frames with their reference.
pub struct ValidationSet {
    frames: Frames,
    batch: PeaksBatch,
    reference: HostPeaks,
}

impl ValidationSet {
    fn new(frames: Frames, reference: &WelchPeaks, device: &Device) -> Result<Self, TaskError> {
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
    ///
    /// # Errors
    /// If the frames don't fit the model.
    pub fn measure(&self, model: &LearnedWelchPeaks, config: &PeaksConfig) -> Result<Validation, TaskError> {
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
