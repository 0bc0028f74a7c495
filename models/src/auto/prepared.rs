//! Arguments of the learned operation that are computed once.

use std::sync::{Arc, OnceLock};

use burn::module::{Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor};
use burn::tensor::Device;
use firefly_ops::{ArgumentError, LearnedParameters, WelchOptions};

use crate::learned_welch_peaks::LearnedWelchPeaks;

/// Arguments of a learned model's operation with hard gates: without them a call computes the gates, a dozen small
/// operations, and the operation reads them back from a GPU.
///
/// A module without parameters beside the model that they follow from. Whatever makes another module of that one,
/// perhaps with other values or on another device, makes an empty one of this; a clone shares the arguments.
#[derive(Debug, Clone, Default)]
pub struct PreparedArguments(Arc<OnceLock<(LearnedParameters, WelchOptions)>>);

impl PreparedArguments {
    /// The arguments that `model` has.
    ///
    /// # Errors
    /// [`ArgumentError`] as [`LearnedWelchPeaks::try_parameters`].
    pub fn of(&self, model: &LearnedWelchPeaks) -> Result<&(LearnedParameters, WelchOptions), ArgumentError> {
        if let Some(prepared) = self.0.get() {
            return Ok(prepared);
        }
        let gates = model.hard_gates();
        let prepared = (model.try_parameters(&gates)?, model.options_with(&gates));
        Ok(self.0.get_or_init(|| prepared))
    }
}

impl Module for PreparedArguments {
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

impl ModuleDisplayDefault for PreparedArguments {
    fn content(&self, _: Content) -> Option<Content> {
        None
    }
}

impl ModuleDisplay for PreparedArguments {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned_welch_peaks::LearnedWelchPeaksConfig;

    #[test]
    fn arguments_are_made_once_and_forgotten_by_another_module() {
        let device = Device::flex();
        let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(3).init(&device);
        let arguments = PreparedArguments::default();
        let made = arguments.of(&model).unwrap();
        assert!(std::ptr::eq(made, arguments.of(&model).unwrap()));
        assert!(std::ptr::eq(made, arguments.clone().of(&model).unwrap()));
        for other in [arguments.valid(), arguments.clone().train(), arguments.clone().to_device(&device)] {
            assert!(other.0.get().is_none());
        }
    }
}
