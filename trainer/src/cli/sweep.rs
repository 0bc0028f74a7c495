//! `firefly-train sweep`: one run per value of a key.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::run_folder::{RUNS, RunFolder};
use crate::sweep::{SweepAxis, sweep};
use crate::task::Task;
use crate::with_task;
use anyhow::{Result, bail};
use clap::Args;

use super::options::{TrainingOptions, open_devices};
use super::outcome::{interrupter, report_outcome};
use super::stderr_progress::StderrProgress;

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
    if args.options.sets(args.over.key()) {
        bail!("{} is both swept over and set", args.over.key());
    }
    if args.over.key() == "devices" {
        bail!("devices can't be swept over: results do not depend on them");
    }
    with_task!(args.options.task(&args.config)?, T => run_task::<T>(args))
}

/// Trains the runs of a task.
fn run_task<T: Task>(args: &SweepArgs) -> Result<ExitCode> {
    let resolve = |setting: String| args.options.resolve::<T>(&args.config, &[setting]);
    let runs = args.over.settings().into_iter().map(resolve).collect::<Result<Vec<_>>>()?;
    let (runs, devices): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let devices = devices.first().map_or_else(|| Ok(Vec::new()), open_devices)?;
    let name = runs.first().map(|run| format!("{}-sweep", run.config.name)).unwrap_or_default();
    let folder = RunFolder::new(args.options.out.clone().unwrap_or_else(|| Path::new(RUNS).join(name)));
    let rows = sweep(&folder, &args.over, &runs, &devices, &interrupter()?, &mut StderrProgress::default())?;
    report_outcome(&folder, rows.as_deref(), "the same command")
}
