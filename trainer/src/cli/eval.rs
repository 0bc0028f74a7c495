//! `firefly-train eval`: evaluation of a finished run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::progress::{Interrupter, Monitor};
use crate::run_folder::{self, RunFolder};
use crate::task::{EvaluationRow, OpenRun, Task};
use crate::with_task;
use anyhow::{Context, Result};
use clap::Args;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::streams::print;
use firefly_recordings::available_memory;

use super::options::open_device;
use super::stderr_progress::StderrProgress;

#[derive(Args)]
pub struct EvalArgs {
    /// The run's folder.
    run: PathBuf,
    /// Other data than the run's test set, separated by commas or each with an option of its own. Of `peaks`: folders
    /// of recordings, `synthetic`, or families of synthetic signals (tones, harmonics, am, fm, chirps, noise). Of
    /// `classification` and `denoising`: folders of recordings. Of `forecasting`: tables. Of `operator`: files of
    /// inputs, with the outputs in them or beside them.
    #[arg(long, value_name = "DATA,…")]
    data: Vec<String>,
    /// Device to evaluate on: auto, cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as in cuda:1, or
    /// remote:HOST:PORT.
    #[arg(long, default_value = "cpu")]
    device: DeviceChoice,
    /// Also write the rows as JSON.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

pub fn run(args: &EvalArgs) -> Result<ExitCode> {
    let folder = RunFolder::new(&args.run);
    if let Some(path) = &args.json {
        let data = args.data.iter().flat_map(|names| items(names)).map(Path::new);
        let checked = ensure_writable(path).and_then(|()| folder.ensure_no_input(path, data));
        checked.with_context(|| format!("--json {}", path.display()))?;
    }
    with_task!(folder.task()?, T => evaluate::<T>(args, &folder))
}

fn evaluate<T: Task>(args: &EvalArgs, folder: &RunFolder) -> Result<ExitCode> {
    let config = folder.resolved::<T>()?.config;
    config.check_memory(available_memory()).with_context(|| folder.config().display().to_string())?;
    let device = open_device(args.device)?;
    let learned = [("learned".to_string(), folder.load_model::<T>(&device)?)];
    let mut rows = Vec::new();
    if args.data.is_empty() {
        let mut progress = StderrProgress::default();
        let data = T::open(&config, &device, &Monitor::new(&Interrupter::new(), &mut progress))?;
        rows = T::evaluate(&OpenRun { config: &config, data: &data }, &learned)?;
    }
    for name in args.data.iter().flat_map(|names| items(names)) {
        rows.extend(T::evaluate_on(&config, name, &learned, &device)?);
    }
    if let Some(path) = &args.json {
        run_folder::write_rows(path, &rows)?;
    }
    print(&T::Row::terminal(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// The items of a list. The path of a folder is one item, though it may contain commas.
fn items(names: &str) -> Vec<&str> {
    if Path::new(names).exists() { vec![names] } else { names.split(',').collect() }
}
