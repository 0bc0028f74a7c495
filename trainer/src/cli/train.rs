//! `firefly-train CONFIG`: one run; `firefly-train sweep`: one run per value of a key.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::progress::Interrupter;
use crate::run;
use crate::run_folder::{RUNS, RunFolder};
use crate::sweep::{SweepAxis, sweep};
use crate::task::{EvaluationRow, Task};
use crate::with_task;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use firefly_app::streams::{note, print};
use firefly_app::suggest::hint;

use super::options::{TrainingOptions, open_devices};
use super::stderr_progress::StderrProgress;

/// Exit status of an interrupted run, as shells report SIGINT.
const INTERRUPTED: u8 = 130;

#[derive(Args)]
pub struct TrainArgs {
    /// The configuration.
    #[arg(required = true)]
    config: Option<PathBuf>,
    /// Arguments that follow it, none of which is accepted.
    #[arg(hide = true)]
    others: Vec<PathBuf>,
    #[command(flatten)]
    options: TrainingOptions,
    /// Continue the run in the folder from its last checkpoint.
    #[arg(long)]
    resume: bool,
}

pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let config = args.config.as_deref().context("a configuration is needed")?;
    if let (Some(name), false) = (config.to_str(), config.exists()) {
        let hint = hint(name, ["eval", "list", "new", "predict", "sweep", "help"]);
        ensure!(hint.is_empty() && args.others.is_empty(), "{name}: there is no such file{hint}");
    }
    if let Some(other) = args.others.first() {
        bail!(
            "{}: one configuration at a time, after {}: train them one by one, or sweep over a key",
            other.display(),
            config.display()
        );
    }
    with_task!(args.options.task(config)?, T => train::<T>(args, config))
}

fn train<T: Task>(args: &TrainArgs, config: &Path) -> Result<ExitCode> {
    let (resolved, devices) = args.options.resolve::<T>(config, &[])?;
    let devices = open_devices(&devices)?;
    let (out, interrupter) = (args.options.out.as_deref(), interrupter()?);
    let progress = &mut StderrProgress::default();
    let (folder, rows) = run::train_in(out, &resolved, &devices, args.resume, &interrupter, progress)?;
    report_outcome(&folder, rows.as_deref(), "--resume")
}

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

pub fn run_sweep(args: &SweepArgs) -> Result<ExitCode> {
    if args.options.sets(args.over.key()) {
        bail!("{} is both swept over and set", args.over.key());
    }
    if args.over.key() == "devices" {
        bail!("devices can't be swept over: results do not depend on them");
    }
    with_task!(args.options.task(&args.config)?, T => sweep_task::<T>(args))
}

fn sweep_task<T: Task>(args: &SweepArgs) -> Result<ExitCode> {
    let resolve = |setting: String| args.options.resolve::<T>(&args.config, &[setting]);
    let runs = args.over.settings().into_iter().map(resolve).collect::<Result<Vec<_>>>()?;
    let (runs, devices): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let devices = devices.first().map_or_else(|| Ok(Vec::new()), open_devices)?;
    let name = runs.first().map(|run| format!("{}-sweep", run.config.name)).unwrap_or_default();
    let folder = RunFolder::new(args.options.out.clone().unwrap_or_else(|| Path::new(RUNS).join(name)));
    let rows = sweep(&folder, &args.over, &runs, &devices, &interrupter()?, &mut StderrProgress::default())?;
    report_outcome(&folder, rows.as_deref(), "the same command")
}

/// Interrupter that Ctrl-C sets: the run ends at its next step. A second Ctrl-C ends the process.
fn interrupter() -> Result<Interrupter> {
    let interrupter = Interrupter::new();
    let handler = interrupter.clone();
    ctrlc::set_handler(move || {
        if handler.should_stop() {
            std::process::exit(i32::from(INTERRUPTED));
        }
        handler.stop();
    })
    .context("listening for Ctrl-C")?;
    Ok(interrupter)
}

/// Prints the evaluation of a finished run and the report's path, or how to continue an interrupted one.
fn report_outcome<R: EvaluationRow>(folder: &RunFolder, rows: Option<&[R]>, to_continue: &str) -> Result<ExitCode> {
    let Some(rows) = rows else {
        // Data are opened before the run has a folder.
        match folder.path().exists() {
            true => note(format_args!("interrupted: {} continues with {to_continue}", folder.path().display())),
            false => note("interrupted before the first step: the same command starts again"),
        }
        return Ok(ExitCode::from(INTERRUPTED));
    };
    print(&format!("{}\n{}\n", R::terminal(rows), folder.report().display()))?;
    Ok(ExitCode::SUCCESS)
}
