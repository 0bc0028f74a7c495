//! `firefly-train eval`: evaluation of a finished run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::config::RunConfig;
use crate::data::{Corpus, Frames, Part, Synthetic, SyntheticConfig, frames_without_overlap};
use crate::evaluate;
use crate::progress::Event;
use crate::run::evaluation_set;
use crate::run_folder::{self, RunFolder};
use anyhow::{Context, Result, bail};
use clap::Args;
use firefly_app::device::DeviceChoice;
use firefly_app::files::ensure_writable;
use firefly_app::host::available_memory;
use firefly_app::streams::note;

use super::options::open_device;
use super::outcome::print;
use super::progress::message;
use super::table;

#[derive(Args)]
pub struct EvalArgs {
    /// The run's folder.
    run: PathBuf,
    /// Folders of recordings, `synthetic`, or families of synthetic signals (tones, harmonics, am, fm, chirps, noise), separated by commas or each
    /// with an option of its own; the run's test set unless given.
    #[arg(long, value_name = "DIR|synthetic|FAMILY,…")]
    data: Vec<String>,
    /// Device to evaluate on: auto, cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as in cuda:1.
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
        note_skipped(data.skipped);
        let (name, frames) = evaluation_set(config, &data);
        return Ok(vec![(name, frames.clone())]);
    }
    names.iter().flat_map(|names| items(names)).map(|name| Ok((name.to_string(), frames_of(config, name)?))).collect()
}

/// The items of a list. The path of a folder is one item, though it may contain commas.
fn items(names: &str) -> Vec<&str> {
    if Path::new(names).exists() { vec![names] } else { names.split(',').collect() }
}

/// Says how many recordings are left out.
fn note_skipped(count: usize) {
    if let Some(text) = message(&Event::RecordingsSkipped { count }).filter(|_| count > 0) {
        note(text);
    }
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
        let corpus = Corpus::load(Path::new(name), frame)?;
        note_skipped(corpus.skipped());
        Ok(frames_without_overlap(&corpus, frame)?)
    } else {
        bail!("`{name}` is neither a folder, nor `synthetic`, nor one of tones, harmonics, am, fm, chirps and noise")
    }
}
