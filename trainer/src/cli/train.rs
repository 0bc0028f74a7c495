//! `firefly-train CONFIG`: one run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::run;
use crate::run_folder::RunFolder;
use anyhow::{Context, Result};
use clap::Args;

use super::options::{RUNS, TrainingOptions};
use super::outcome::{interrupter, report_outcome};
use super::progress::StderrProgress;

#[derive(Args)]
pub struct TrainArgs {
    /// The configuration.
    #[arg(required = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: TrainingOptions,
    /// Continue the run in the folder from its last checkpoint.
    #[arg(long)]
    resume: bool,
}

/// Trains one run.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let device = args.options.device.open()?;
    let config = args.config.as_deref().context("a configuration is needed")?;
    let resolved = args.options.resolve(config, &[])?;
    let folder = args.options.out.clone().unwrap_or_else(|| default_folder(&resolved.config.name, args.resume));
    let folder = RunFolder::new(folder);
    let rows = run::train(&folder, &resolved, &device, args.resume, &interrupter()?, &mut StderrProgress::default())?;
    report_outcome(&folder, rows.as_deref(), "--resume")
}

/// runs/NAME, or runs/NAME-2 and so on if that exists. A resumed run is the one with the highest number.
fn default_folder(name: &str, resume: bool) -> PathBuf {
    let numbered = |number: usize| match number {
        1 => Path::new(RUNS).join(name),
        number => Path::new(RUNS).join(format!("{name}-{number}")),
    };
    let free = (1..).find(|number| !numbered(*number).exists()).unwrap_or(1);
    numbered(if resume { (free - 1).max(1) } else { free })
}
