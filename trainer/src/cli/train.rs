//! `firefly-train CONFIG`: one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::config::Resolved;
use crate::run::{self, RunError};
use crate::run_folder::{FolderError, RunFolder};
use crate::task::Task;
use crate::with_task;
use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use clap::Args;
use firefly_app::suggest::hint;

use super::options::{RUNS, TrainingOptions, open_device};
use super::outcome::{interrupter, report_outcome};
use super::progress::StderrProgress;

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

/// Trains one run.
pub fn run(args: &TrainArgs) -> Result<ExitCode> {
    let device = open_device(args.options.device)?;
    let config = args.config.as_deref().context("a configuration is needed")?;
    if let (Some(name), false) = (config.to_str(), config.exists()) {
        let hint = hint(name, ["eval", "list", "new", "predict", "sweep", "help"]);
        ensure!(hint.is_empty(), "{name}: there is no such file{hint}");
    }
    if let Some(other) = args.others.first() {
        bail!(
            "{}: one configuration at a time, after {}: train them one by one, or sweep over a key",
            other.display(),
            config.display()
        );
    }
    with_task!(args.options.task(config)?, T => train::<T>(args, config, &device))
}

/// Trains one run of a task.
fn train<T: Task>(args: &TrainArgs, config: &Path, device: &Device) -> Result<ExitCode> {
    let resolved = args.options.resolve::<T>(config, &[])?;
    let interrupter = interrupter()?;
    loop {
        let default = || default_folder(&resolved, args.resume);
        let folder = RunFolder::new(args.options.out.clone().unwrap_or_else(default));
        let trained = run::train(&folder, &resolved, device, args.resume, &interrupter, &mut StderrProgress::default());
        match trained {
            // Another process took the number meanwhile: the next one is free.
            Err(RunError::Folder(FolderError::InUse { .. } | FolderError::HoldsRun { .. }))
                if args.options.out.is_none() && !args.resume => {}
            trained => return report_outcome(&folder, trained?.as_deref(), "--resume"),
        }
    }
}

/// The folder of a new run: runs/NAME, or runs/NAME-2 and so on if that exists. A resumed run is the last one of the
/// same configuration that is not complete, or else the last one of the same configuration, or else the last one.
fn default_folder<T: Task>(resolved: &Resolved<T>, resume: bool) -> PathBuf {
    let name = &resolved.config.name;
    let numbered = |number: usize| match number {
        1 => Path::new(RUNS).join(name),
        number => Path::new(RUNS).join(format!("{name}-{number}")),
    };
    if !resume {
        return (1..).map(numbered).find(|folder| !folder.exists()).unwrap_or_else(|| numbered(1));
    }
    let number = |folder: &str| match folder.strip_prefix(name.as_str())? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse::<usize>().ok(),
    };
    let entries: Vec<fs::DirEntry> = fs::read_dir(RUNS).map(|entries| entries.flatten().collect()).unwrap_or_default();
    let mut numbers: Vec<usize> = entries.iter().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    let folders: Vec<RunFolder> = numbers.into_iter().map(|number| RunFolder::new(numbered(number))).collect();
    let is_same = |folder: &&RunFolder| folder.resolved::<T>().is_ok_and(|started| started == *resolved);
    let same: Vec<&RunFolder> = folders.iter().filter(is_same).collect();
    let chosen = same.iter().rfind(|folder| !folder.is_complete()).or(same.last()).copied().or(folders.last());
    chosen.map_or_else(|| numbered(1), |folder| folder.path().to_path_buf())
}
