//! Options of commands that measure learned models.

use anyhow::ensure;
use clap::value_parser;

const MOST_STEPS: u64 = 1_000_000;
/// Steps where a learned model is named and no number is given.
const DEFAULT_STEPS: usize = 200;
/// Names of the strategy.
const NAMES: [&str; 2] = ["learned", "learned_compiled"];

/// Training of learned models before they are measured.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct TrainOptions {
    /// Steps to train learned models for, from 0 (train none) to 1000000; adds the strategy `learned`, which trains for
    /// 200 steps if it is named without this option
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u64).range(..=MOST_STEPS))]
    pub train_steps: Option<u64>,
}

impl TrainOptions {
    /// Steps that learned models are trained for.
    pub fn steps(&self) -> usize {
        self.train_steps.map_or(DEFAULT_STEPS, |steps| steps as usize)
    }

    /// Strategies that are measured besides what `--strategy` names.
    pub fn added(&self) -> Vec<&'static str> {
        if self.train_steps.is_some_and(|steps| steps > 0) { vec![NAMES[0]] } else { Vec::new() }
    }

    /// Checks that a learned model that is named is trained.
    ///
    /// # Errors
    /// If it is named with no step of training.
    pub fn check(&self, strategies: Option<&[String]>) -> anyhow::Result<()> {
        let is_named = strategies.unwrap_or_default().iter().any(|name| NAMES.contains(&name.trim()));
        ensure!(
            !is_named || self.steps() > 0,
            "--strategy learned: the model is trained first, and --train-steps is 0; give a number of steps, \
             such as 200"
        );
        Ok(())
    }
}
