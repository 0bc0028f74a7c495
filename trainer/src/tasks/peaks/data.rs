//! Data of a run on a device: training batches, validation frames with their reference, and test frames.

use std::sync::Arc;

use burn::tensor::Device;
use firefly_models::{LearnedWelchPeaks, Tier, WelchPeaks};
use firefly_ops::HostPeaks;

use super::PeaksConfig;
use super::batch::{Batches, PeaksBatch};
use super::gated_loss::{FixedGates, hard_work};
use super::loss::peak_losses;
use crate::data::{DataSets, Frames, frames_to_tensor};
use crate::metrics::{Metric, Validation};
use crate::task::TaskError;
use crate::tasks::found_peaks::{Agreement, has_power, peaks_of};

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
        let reference = config.model.exact(Tier::Reference).try_init(device)?;
        let frames = sets.validation.evenly_spaced(config.schedule.validation_frames);
        let validation = ValidationSet::new(frames, &reference, device)?.into();
        let batches = Batches::new(sets.train.clone(), reference, config.training.batch, device.clone());
        let fixed_gates = FixedGates::default();
        Ok(Self { sets: sets.into(), batches, validation, fixed_gates, device: device.clone() })
    }

    /// The same data with training batches on another device without autodiff.
    ///
    /// # Errors
    /// If the reference can't be made.
    pub fn on_device(&self, config: &PeaksConfig, device: &Device) -> Result<Self, TaskError> {
        let reference = config.model.exact(Tier::Reference).try_init(device)?;
        let (sets, validation) = (self.sets.clone(), self.validation.clone());
        let batches = self.batches.on_device(reference, device);
        Ok(Self { sets, batches, validation, fixed_gates: FixedGates::default(), device: device.clone() })
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

    /// Loss and recall with hard gates, which the finished model runs with.
    ///
    /// # Errors
    /// If the frames don't fit the model.
    pub fn measure(&self, model: &LearnedWelchPeaks, config: &PeaksConfig) -> Result<Validation, TaskError> {
        let gates = model.hard_gates();
        let device = self.batch.signal.device();
        let work = hard_work(config, model, &gates);
        let loss = peak_losses(model, &gates, &self.batch, None, &config.loss)?.total(work, config.loss.price);
        let loss = f64::from(loss.total.into_scalar::<f32>());
        let found = peaks_of(&self.frames, &device, |signal| model.try_forward(signal, &gates))?;
        let recall = Agreement::of(&found, &self.reference, config.model.k).recall;
        Ok(Validation { loss, metrics: vec![Metric::real("recall", recall)] })
    }
}
