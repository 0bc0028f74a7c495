//! Section `[optimizer]`: the optimizer, its learning rate over the steps, and what is done with gradients and weights.

use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::validate::ensure;

/// Optimizer of the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Adam (Kingma and Ba, 2015).
    #[default]
    Adam,
    /// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
    AdamW,
    /// Stochastic gradient descent, with momentum.
    Sgd,
}

impl Optimizer {
    /// Every optimizer.
    pub const ALL: [Self; 3] = [Self::Adam, Self::AdamW, Self::Sgd];
}

/// Learning rate over the steps that follow the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSchedule {
    /// The same throughout.
    Constant,
    /// Half a cosine down to zero.
    #[default]
    Cosine,
    /// Multiplied by a factor each time a number of steps is done.
    Step,
    /// A straight line down to zero.
    Linear,
}

impl RateSchedule {
    /// Every schedule.
    pub const ALL: [Self; 4] = [Self::Constant, Self::Cosine, Self::Step, Self::Linear];
}

/// The optimizer. A key that the chosen optimizer or schedule has no use for must keep its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSection {
    /// The optimizer.
    pub kind: Optimizer,
    /// Decay of the mean of the gradients in Adam and AdamW.
    pub beta_1: f64,
    /// Decay of the mean of their squares.
    pub beta_2: f64,
    /// Added to the root of that mean.
    pub epsilon: f64,
    /// Momentum of SGD; 0 for none.
    pub momentum: f64,
    /// Whether the momentum of SGD is Nesterov's.
    pub nesterov: bool,
    /// Weight decay; added to the gradients in Adam and SGD, decoupled from them in AdamW.
    pub weight_decay: f64,
    /// Learning rate over the steps.
    pub schedule: RateSchedule,
    /// Steps over which the learning rate rises from near zero before.
    pub warm_up: usize,
    /// Steps from one fall of the schedule `step` to the next.
    pub step_every: usize,
    /// Factor of each fall.
    pub step_factor: f64,
    /// Largest Euclidean norm of all gradients together; 0 for any.
    pub clip_norm: f64,
    /// Largest magnitude of a gradient's element; 0 for any.
    pub clip_value: f64,
    /// Batches whose mean gradient a step takes.
    pub accumulate: usize,
    /// Decay of the exponential moving average of the weights, which is validated, evaluated and kept; 0 for none.
    pub average_decay: f64,
}

impl Default for OptimizerSection {
    fn default() -> Self {
        Self {
            kind: Optimizer::Adam,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            momentum: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            schedule: RateSchedule::Cosine,
            warm_up: 0,
            step_every: 1000,
            step_factor: 0.1,
            clip_norm: 0.0,
            clip_value: 0.0,
            accumulate: 1,
            average_decay: 0.0,
        }
    }
}

impl OptimizerSection {
    /// Checks every value.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        for (key, value) in [
            ("optimizer.beta_1", self.beta_1),
            ("optimizer.beta_2", self.beta_2),
            ("optimizer.momentum", self.momentum),
            ("optimizer.average_decay", self.average_decay),
        ] {
            ensure((0.0..1.0).contains(&value), key, value, "from 0 to below 1")?;
        }
        ensure(self.epsilon > 0.0 && self.epsilon <= 1.0, "optimizer.epsilon", self.epsilon, "above 0 and at most 1")?;
        ensure(
            self.step_factor > 0.0 && self.step_factor < 1.0,
            "optimizer.step_factor",
            self.step_factor,
            "above 0 and below 1",
        )?;
        for (key, value) in [
            ("optimizer.weight_decay", self.weight_decay),
            ("optimizer.clip_norm", self.clip_norm),
            ("optimizer.clip_value", self.clip_value),
        ] {
            ensure((0.0..=1e6).contains(&value), key, value, "from 0 to 1e6")?;
        }
        for (key, value) in [("optimizer.step_every", self.step_every), ("optimizer.accumulate", self.accumulate)] {
            ensure((1..=1_000_000_000).contains(&value), key, value, "from 1 to 1,000,000,000")?;
        }
        ensure(self.warm_up <= 1_000_000_000, "optimizer.warm_up", self.warm_up, "at most 1,000,000,000")?;
        self.validate_use()
    }

    /// Checks that no key is set which the optimizer or the schedule ignores.
    fn validate_use(&self) -> Result<(), ConfigError> {
        let default = Self::default();
        let is_sgd = self.kind == Optimizer::Sgd;
        let only_sgd = "left out unless optimizer.kind is \"sgd\"";
        ensure(is_sgd || self.momentum == 0.0, "optimizer.momentum", self.momentum, only_sgd)?;
        ensure(is_sgd || !self.nesterov, "optimizer.nesterov", self.nesterov, only_sgd)?;
        ensure(
            !self.nesterov || self.momentum > 0.0,
            "optimizer.nesterov",
            self.nesterov,
            "false where optimizer.momentum is 0",
        )?;
        for (key, value, unused) in [
            ("optimizer.beta_1", self.beta_1, default.beta_1),
            ("optimizer.beta_2", self.beta_2, default.beta_2),
            ("optimizer.epsilon", self.epsilon, default.epsilon),
        ] {
            ensure(!is_sgd || value == unused, key, value, "left out where optimizer.kind is \"sgd\"")?;
        }
        let is_step = self.schedule == RateSchedule::Step;
        let only_step = "left out unless optimizer.schedule is \"step\"";
        ensure(is_step || self.step_every == default.step_every, "optimizer.step_every", self.step_every, only_step)?;
        ensure(is_step || self.step_factor == default.step_factor, "optimizer.step_factor", self.step_factor, only_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_would_be_ignored_are_refused() {
        let message = |change: fn(&mut OptimizerSection)| {
            let mut section = OptimizerSection::default();
            change(&mut section);
            section.validate().unwrap_err().to_string()
        };
        assert!(OptimizerSection::default().validate().is_ok());
        assert!(message(|s| s.momentum = 0.9).contains("left out unless optimizer.kind is \"sgd\""));
        assert!(message(|s| s.step_every = 7).contains("left out unless optimizer.schedule is \"step\""));
        assert!(message(|s| (s.kind, s.beta_1) = (Optimizer::Sgd, 0.8)).starts_with("optimizer.beta_1 is 0.8"));
        assert!(message(|s| (s.kind, s.nesterov) = (Optimizer::Sgd, true)).contains("where optimizer.momentum is 0"));
        assert!(message(|s| s.clip_norm = f64::NAN).starts_with("optimizer.clip_norm is NaN"));
        assert!(message(|s| s.accumulate = 0).starts_with("optimizer.accumulate is 0"));
    }
}
