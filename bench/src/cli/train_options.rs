//! Options of commands that measure learned models.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::value_parser;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks::PeaksTask;

use crate::harness::parameters::ParameterMap;
use crate::suites::peaks::LearnedSource;

const MOST_STEPS: u64 = 1_000_000;
/// Steps where a learned model is named and no number is given.
const DEFAULT_STEPS: usize = 200;
/// Names of the strategy.
const NAMES: [&str; 2] = ["learned", "learned_compiled"];

/// Origin of the learned models that are measured.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TrainOptions {
    /// Steps to train learned models for, from 0 (train none) to 1000000; adds the strategy `learned`, which trains for
    /// 200 steps if it is named without this option
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = value_parser!(u64).range(..=MOST_STEPS))]
    pub train_steps: Option<u64>,
    /// Folder of a training run whose model is the learned one instead, where n_fft and K are the model's and frames
    /// are long enough; adds the strategy `learned`
    #[arg(long, value_name = "FOLDER", conflicts_with = "train_steps")]
    pub run: Option<PathBuf>,
}

impl TrainOptions {
    /// Steps that learned models are trained for.
    pub fn steps(&self) -> usize {
        self.train_steps.map_or(DEFAULT_STEPS, |steps| steps as usize)
    }

    /// Source of learned models; frames to train on are made from `seed`.
    pub fn source(&self, seed: u64) -> LearnedSource {
        match &self.run {
            Some(folder) => LearnedSource::Run(folder.clone()),
            None => LearnedSource::Trained { steps: self.steps(), seed },
        }
    }

    /// The options as a report has them.
    pub fn parameters(&self, own: ParameterMap) -> ParameterMap {
        let run = self.run.as_ref().map(|folder| folder.display().to_string());
        own.with("train_steps", self.train_steps).with("run", run)
    }

    /// Strategies that are measured besides what `--strategy` names.
    pub fn added(&self) -> Vec<&'static str> {
        let is_asked = self.run.is_some() || self.train_steps.is_some_and(|steps| steps > 0);
        if is_asked { vec![NAMES[0]] } else { Vec::new() }
    }

    /// Checks that a learned model that is named is trained, and that a run is there.
    ///
    /// # Errors
    /// If it is named with no step of training, and for a folder without a run.
    pub fn check(&self, strategies: Option<&[String]>) -> anyhow::Result<()> {
        if let Some(folder) = &self.run {
            RunFolder::new(folder).resolved::<PeaksTask>().context("--run")?;
        }
        let is_named = strategies.unwrap_or_default().iter().any(|name| NAMES.contains(&name.trim()));
        ensure!(
            !is_named || self.steps() > 0,
            "--strategy learned: the model is trained first, and --train-steps is 0; give a number of steps, \
             such as 200"
        );
        Ok(())
    }
}
