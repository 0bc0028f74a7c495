//! Section `[optimizer]`: the optimizer, its learning rate over the steps, and what is done with gradients and weights.

use std::fmt::Display;

use super::{ConfigError, choice, ensure, section};

choice! {
    /// Optimizer of the weights.
    pub enum Optimizer {
        /// Adam (Kingma and Ba, 2015).
        Adam = "adam",
        /// Adam with decoupled weight decay (Loshchilov and Hutter, 2019).
        AdamW = "adamw",
        /// Stochastic gradient descent, with momentum.
        Sgd = "sgd",
    }
}

choice! {
    /// Learning rate over the steps that follow the warm-up.
    pub enum RateSchedule {
        Constant = "constant",
        Cosine = "cosine",
        Step = "step",
        Linear = "linear",
    }
}

section! {
    /// The optimizer. A key that the chosen optimizer or schedule has no use for must keep its default.
    pub struct OptimizerSection {
        pub kind: Optimizer = Optimizer::Adam,
        pub beta_1: f64 = 0.9,
        pub beta_2: f64 = 0.999,
        pub epsilon: f64 = 1e-8,
        pub momentum: f64 = 0.0,
        pub nesterov: bool = false,
        pub weight_decay: f64 = 0.0,
        pub schedule: RateSchedule = RateSchedule::Cosine,
        pub warm_up: usize = 0,
        pub step_every: usize = 1000,
        pub step_factor: f64 = 0.1,
        pub clip_norm: f64 = 0.0,
        pub clip_value: f64 = 0.0,
        pub accumulate: usize = 1,
        pub average_decay: f64 = 0.0,
    }
}

impl OptimizerSection {
    /// Checks every value, and that no key is set which the optimizer or the schedule ignores.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let Self { beta_1, beta_2, epsilon, momentum, nesterov, average_decay, accumulate, warm_up, .. } = self;
        let Self { weight_decay, clip_norm, clip_value, step_every, step_factor, .. } = self;
        let unset = Self::default();
        let (is_sgd, is_step) = (self.kind == Optimizer::Sgd, self.schedule == RateSchedule::Step);
        let share = |value: &f64| (0.0..1.0).contains(value);
        let limit = |value: &f64| (0.0..=1e6).contains(value);
        let count = |value: &usize| (1..=1_000_000_000).contains(value);
        let (shares, limits, counts) = ("from 0 to below 1", "from 0 to 1e6", "from 1 to 1,000,000,000");
        let only_sgd = "left out unless optimizer.kind is \"sgd\"";
        let not_sgd = "left out where optimizer.kind is \"sgd\"";
        let only_step = "left out unless optimizer.schedule is \"step\"";
        let rules: [(&str, &dyn Display, bool, &'static str); 20] = [
            ("beta_1", beta_1, share(beta_1), shares),
            ("beta_2", beta_2, share(beta_2), shares),
            ("momentum", momentum, share(momentum), shares),
            ("average_decay", average_decay, share(average_decay), shares),
            ("epsilon", epsilon, *epsilon > 0.0 && *epsilon <= 1.0, "above 0 and at most 1"),
            ("step_factor", step_factor, *step_factor > 0.0 && *step_factor < 1.0, "above 0 and below 1"),
            ("weight_decay", weight_decay, limit(weight_decay), limits),
            ("clip_norm", clip_norm, limit(clip_norm), limits),
            ("clip_value", clip_value, limit(clip_value), limits),
            ("step_every", step_every, count(step_every), counts),
            ("accumulate", accumulate, count(accumulate), counts),
            ("warm_up", warm_up, *warm_up <= 1_000_000_000, "at most 1,000,000,000"),
            ("momentum", momentum, is_sgd || *momentum == 0.0, only_sgd),
            ("nesterov", nesterov, is_sgd || !nesterov, only_sgd),
            ("nesterov", nesterov, !nesterov || *momentum > 0.0, "false where optimizer.momentum is 0"),
            ("beta_1", beta_1, !is_sgd || *beta_1 == unset.beta_1, not_sgd),
            ("beta_2", beta_2, !is_sgd || *beta_2 == unset.beta_2, not_sgd),
            ("epsilon", epsilon, !is_sgd || *epsilon == unset.epsilon, not_sgd),
            ("step_every", step_every, is_step || *step_every == unset.step_every, only_step),
            ("step_factor", step_factor, is_step || *step_factor == unset.step_factor, only_step),
        ];
        let check = |(key, got, holds, expected)| ensure(holds, &format!("optimizer.{key}"), got, expected);
        rules.into_iter().try_for_each(check)
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
