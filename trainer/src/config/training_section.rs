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
    /// Steps of the optimizer, if they are given.
    fn steps(&self) -> Option<usize>;

    /// Passes over the training data, if they are given.
    fn epochs(&self) -> Option<usize> {
        None
    }

    /// Examples per batch.
    fn batch(&self) -> usize;

    /// Learning rate at the start, or after the warm-up.
    fn learning_rate(&self) -> f64;

    /// Length of the training: steps if they are given, or else epochs.
    fn length(&self) -> Length {
        self.steps().map_or_else(|| Length::Epochs(self.epochs().unwrap_or(DEFAULT_EPOCHS)), Length::Steps)
    }

    /// Whether both steps and epochs are given.
    fn is_ambiguous(&self) -> bool {
        self.steps().is_some() && self.epochs().is_some()
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
    fn steps(&self) -> Option<usize> {
        self.steps
    }

    fn epochs(&self) -> Option<usize> {
        self.epochs
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn learning_rate(&self) -> f64 {
        self.learning_rate
    }
}
