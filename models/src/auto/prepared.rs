//! Estimate of a learned model that is made once.

use std::sync::{Arc, OnceLock};

use burn::module::{Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor};
use burn::tensor::Device;
use firefly_ops::ArgumentError;

use crate::learned_welch_peaks::{LearnedEstimate, LearnedWelchPeaks};

/// Estimate of a learned model with hard gates: without it a call computes the gates, a dozen small operations, and reads
/// them back.
///
/// A module without parameters beside the model that they follow from. Whatever makes another module of that one,
/// perhaps with other values or on another device, makes an empty one of this; a clone shares the estimate.
#[derive(Debug, Clone, Default)]
pub struct PreparedEstimate(Arc<OnceLock<LearnedEstimate>>);

impl PreparedEstimate {
    /// The estimate of `model`.
    ///
    /// # Errors
    /// [`ArgumentError`] as [`LearnedWelchPeaks::try_estimate`].
    pub fn of(&self, model: &LearnedWelchPeaks) -> Result<&LearnedEstimate, ArgumentError> {
        if let Some(prepared) = self.0.get() {
            return Ok(prepared);
        }
        let prepared = model.try_estimate(&model.hard_gates())?;
        Ok(self.0.get_or_init(|| prepared))
    }
}

impl Module for PreparedEstimate {
    fn collect_devices(&self, devices: Devices) -> Devices {
        devices
    }

    fn fork(self, _: &Device) -> Self {
        Self::default()
    }

    fn to_device(self, _: &Device) -> Self {
        Self::default()
    }

    fn train(self) -> Self {
        Self::default()
    }

    fn valid(&self) -> Self {
        Self::default()
    }

    fn materialize(self) -> Self {
        Self::default()
    }

    fn visit<V: ModuleVisitor>(&self, _: &mut V) {}

    fn map<M: ModuleMapper>(self, _: &mut M) -> Self {
        Self::default()
    }
}

impl ModuleDisplayDefault for PreparedEstimate {
    fn content(&self, _: Content) -> Option<Content> {
        None
    }
}

impl ModuleDisplay for PreparedEstimate {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned_welch_peaks::LearnedWelchPeaksConfig;

    #[test]
    fn an_estimate_is_made_once_and_forgotten_by_another_module() {
        let device = Device::flex();
        let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(3).init(&device);
        let estimate = PreparedEstimate::default();
        let made = estimate.of(&model).unwrap();
        assert!(std::ptr::eq(made, estimate.of(&model).unwrap()));
        assert!(std::ptr::eq(made, estimate.clone().of(&model).unwrap()));
        for other in [estimate.valid(), estimate.clone().train(), estimate.clone().to_device(&device)] {
            assert!(other.0.get().is_none());
        }
    }
}
