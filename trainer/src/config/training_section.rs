//! Length of a training, batches and learning rate.

use serde::{Deserialize, Serialize};

/// Epochs where neither steps nor epochs are given.
const DEFAULT_EPOCHS: usize = 10;

/// Length of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// Steps of the optimizer.
    Steps(usize),
    /// Passes over the training data.
    Epochs(usize),
}

/// Settings that the section `[training]` of every task has.
pub trait Training {
    /// These settings, as a section without further keys.
    fn common(&self) -> TrainingSection;

    /// Length of the training: steps if they are given, or else epochs.
    fn length(&self) -> Length {
        let TrainingSection { steps, epochs, .. } = self.common();
        steps.map_or_else(|| Length::Epochs(epochs.unwrap_or(DEFAULT_EPOCHS)), Length::Steps)
    }
}

/// Section `[training]` of the tasks that have no further keys in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSection {
    /// Steps, unless epochs are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
    /// Passes over the training data, unless steps are given; 10 if neither is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epochs: Option<usize>,
    /// Examples per batch.
    pub batch: usize,
    /// Learning rate at the start, or after the warm-up.
    pub learning_rate: f64,
}

impl Default for TrainingSection {
    fn default() -> Self {
        Self { steps: None, epochs: None, batch: 32, learning_rate: 1e-3 }
    }
}

impl Training for TrainingSection {
    fn common(&self) -> TrainingSection {
        self.clone()
    }
}
