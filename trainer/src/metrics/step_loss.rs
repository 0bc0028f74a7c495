//! Losses of steps and results of validations, as a task returns them.

use burn::tensor::Tensor;

use super::point::Metric;

/// The loss of one batch, still on the device.
#[derive(Debug, Clone)]
pub struct StepLoss {
    /// The loss, `[1]`.
    pub total: Tensor<1>,
    /// Its terms by their names in the metrics, `[1]` each, as they enter the total; empty where there is but one.
    pub terms: Vec<(&'static str, Tensor<1>)>,
}

impl StepLoss {
    /// A loss of a single term.
    pub fn single(total: Tensor<1>) -> Self {
        Self { total, terms: Vec::new() }
    }

    /// The loss times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        self.map(|tensor| tensor * factor)
    }

    /// The loss without its graph.
    #[must_use]
    pub fn detached(self) -> Self {
        self.map(Tensor::detach)
    }

    /// The sum of two losses of the same terms.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let terms = self.terms.into_iter().zip(other.terms);
        Self { total: self.total + other.total, terms: terms.map(|((name, a), (_, b))| (name, a + b)).collect() }
    }

    fn map(self, change: impl Fn(Tensor<1>) -> Tensor<1>) -> Self {
        let terms = self.terms.into_iter().map(|(name, term)| (name, change(term))).collect();
        Self { total: change(self.total), terms }
    }
}

/// Result of a validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// Total loss, which early stopping compares.
    pub loss: f64,
    /// Further metrics of the task.
    pub metrics: Vec<Metric>,
}
