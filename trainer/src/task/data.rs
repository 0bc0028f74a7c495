//! Opened data of a run.

use std::sync::Arc;

use burn::tensor::Device;

use crate::config::{RunConfig, Sections, Training};
use crate::data::EpochOrder;

/// Opened data of a run, on a device.
pub trait TaskData: Send + Sync {
    /// Number that changes with the samples of the data; 0 where seed and configuration determine them.
    fn fingerprint(&self) -> u64;

    /// The data for training on a further device; data in host memory are shared.
    #[must_use]
    fn on_device(&self, device: &Device) -> Self;

    /// Order of the examples to train on; none where training data have no end.
    fn order(&self) -> Option<&EpochOrder>;

    /// Number of recordings that are left out because they are too short.
    fn skipped(&self) -> usize {
        0
    }
}

/// Examples to train, validate and test on, in host memory.
pub trait HostSets: Send + Sync {
    /// Number of examples to train on.
    fn training_examples(&self) -> usize;

    /// Number that changes with the samples; 0 where seed and configuration determine them.
    fn fingerprint(&self) -> u64;

    /// Number of recordings that are left out because they have no samples.
    fn skipped(&self) -> usize {
        0
    }
}

/// Examples in host memory, and the order of those to train on.
pub struct ExampleData<S> {
    /// The examples.
    pub sets: Arc<S>,
    /// Order of those to train on.
    pub order: Arc<EpochOrder>,
    /// Device that batches are put on.
    pub device: Device,
}

impl<S: HostSets> ExampleData<S> {
    /// The examples of a run.
    pub fn new<T: Sections>(sets: S, config: &RunConfig<T>, device: &Device) -> Self {
        let order = EpochOrder::new(config.seed, sets.training_examples(), config.training.common().batch);
        Self { sets: sets.into(), order: order.into(), device: device.clone() }
    }
}

impl<S: HostSets> TaskData for ExampleData<S> {
    fn fingerprint(&self) -> u64 {
        self.sets.fingerprint()
    }

    fn on_device(&self, device: &Device) -> Self {
        Self { sets: self.sets.clone(), order: self.order.clone(), device: device.clone() }
    }

    fn order(&self) -> Option<&EpochOrder> {
        Some(&self.order)
    }

    fn skipped(&self) -> usize {
        self.sets.skipped()
    }
}
