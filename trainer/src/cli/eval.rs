//! `firefly-train eval`: evaluation of a finished run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::config::RunConfig;
use crate::data::{Corpus, Frames, Part, Synthetic, SyntheticConfig, frames_without_overlap};
use crate::evaluate;
use crate::run::evaluation_set;
use crate::run_folder::{self, RunFolder};
use anyhow::{Context, Result, bail};
use clap::Args;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::host::available_memory;

use super::options::open_device;
use super::outcome::print;
use super::table;

#[derive(Args)]
pub struct EvalArgs {
    /// The run's folder.
    run: PathBuf,
    /// Folders of recordings, `synthetic`, or families of synthetic signals such as `tones`; the run's test set unless
    /// given.
    #[arg(long, value_name = "DIR|synthetic|FAMILY,…", value_delimiter = ',')]
    data: Vec<String>,
    /// Device to evaluate on: auto, cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1.
    #[arg(long, default_value = "cpu")]
    device: DeviceChoice,
    /// Also write the rows as JSON.
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
}

/// Evaluates a finished run.
pub fn run(args: &EvalArgs) -> Result<ExitCode> {
    if let Some(path) = &args.json {
        ensure_writable(path).with_context(|| format!("--json {}", path.display()))?;
    }
    let folder = RunFolder::new(&args.run);
    let resolved = folder.resolved()?;
    let config = &resolved.config;
    config.check_memory(available_memory()).with_context(|| folder.config().display().to_string())?;
    let device = open_device(args.device)?;
    let model = folder.load_model(&device)?;
    let learned = [("learned".to_string(), model)];
    let mut rows = Vec::new();
    for (name, frames) in evaluation_sets(config, &args.data)? {
        rows.extend(evaluate::compare(&name, &frames, &config.model, &learned, &device)?);
    }
    if let Some(path) = &args.json {
        run_folder::write_rows(path, &rows)?;
    }
    print(&table::evaluation(&rows))?;
    Ok(ExitCode::SUCCESS)
}

/// The named sets of frames, or the set that the run was reported on.
fn evaluation_sets(config: &RunConfig, names: &[String]) -> Result<Vec<(String, Frames)>> {
    if names.is_empty() {
        let data = config.data.open(config.model.frame(), config.seed).context("can't open the data")?;
        let (name, frames) = evaluation_set(config, &data);
        return Ok(vec![(name, frames.clone())]);
    }
    names.iter().map(|name| Ok((name.clone(), frames_of(config, name)?))).collect()
}

/// Frames of a folder of recordings, of all synthetic signals, or of one family of them.
fn frames_of(config: &RunConfig, name: &str) -> Result<Frames> {
    let frame = config.model.frame();
    let synthetic = |signals: SyntheticConfig| -> Result<Frames> {
        let source = Synthetic::new(signals, frame, config.seed)?;
        Ok(source.for_part(Part::Test).frames(config.data.synthetic_frames))
    };
    if name == "synthetic" {
        synthetic(config.data.synthetic.clone())
    } else if let Ok(family) = name.parse() {
        synthetic(SyntheticConfig { families: vec![family], ..config.data.synthetic.clone() })
    } else if Path::new(name).exists() {
        Ok(frames_without_overlap(&Corpus::load(Path::new(name), frame)?, frame)?)
    } else {
        bail!("`{name}` is neither a folder, nor `synthetic`, nor one of tones, harmonics, am, fm, chirps and noise")
    }
}
