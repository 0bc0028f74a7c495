//! `firefly-train sweep`: one run per value of a key.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::run_folder::{RUNS, RunFolder};
use crate::sweep::{SweepAxis, sweep};
use crate::task::Task;
use crate::with_task;
use anyhow::{Result, bail};
use burn::tensor::Device;
use clap::Args;

use super::options::{TrainingOptions, open_device};
use super::outcome::{interrupter, report_outcome};
use super::progress::StderrProgress;

#[derive(Args)]
pub struct SweepArgs {
    /// The configuration.
    config: PathBuf,
    /// The key and its values, as in loss.price=0,0.1,0.3.
    #[arg(long, value_name = "SECTION.KEY=VALUE,…")]
    over: SweepAxis,
    #[command(flatten)]
    options: TrainingOptions,
}

/// Trains the runs of a sweep.
pub fn run(args: &SweepArgs) -> Result<ExitCode> {
    let device = open_device(args.options.device)?;
    if args.options.sets(args.over.key()) {
        bail!("{} is both swept over and set", args.over.key());
    }
    with_task!(args.options.task(&args.config)?, T => run_task::<T>(args, &device))
}

/// Trains the runs of a task.
fn run_task<T: Task>(args: &SweepArgs, device: &Device) -> Result<ExitCode> {
    let resolve = |setting: String| args.options.resolve::<T>(&args.config, &[setting]);
    let runs = args.over.settings().into_iter().map(resolve).collect::<Result<Vec<_>>>()?;
    let name = runs.first().map(|run| format!("{}-sweep", run.config.name)).unwrap_or_default();
    let folder = RunFolder::new(args.options.out.clone().unwrap_or_else(|| Path::new(RUNS).join(name)));
    let rows = sweep(&folder, &args.over, &runs, device, &interrupter()?, &mut StderrProgress::default())?;
    report_outcome(&folder, rows.as_deref(), "the same command")
}
