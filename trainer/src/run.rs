//! A run folder: what is in it, and the life of a run from its first step to its report.
//!
//! `config.toml` (resolved) · `metrics.jsonl` · `checkpoints/` · `model/` · `evaluation.json` · `report.html`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_framework::files::write_atomically;
use firefly_models::LearnedWelchPeaks;

use crate::checkpoint::Checkpoints;
use crate::config::{Resolved, RunConfig};
use crate::data::{DataSets, Frames};
use crate::evaluate;
use crate::metrics::{self, MetricsLog};
use crate::page;
use crate::progress::Progress;
use crate::report::EvaluationRow;
use crate::train::{End, Trainer};

/// The files of a run.
#[derive(Debug, Clone)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// The run in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the resolved configuration is.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// Where the metrics are.
    pub fn metrics(&self) -> PathBuf {
        self.0.join("metrics.jsonl")
    }

    /// Where the checkpoints are.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    /// Where the finished model is.
    pub fn model(&self) -> PathBuf {
        self.0.join("model")
    }

    /// Where the evaluation is.
    pub fn evaluation(&self) -> PathBuf {
        self.0.join("evaluation.json")
    }

    /// Where the report is.
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The configuration the run was started with.
    ///
    /// # Errors
    /// If the folder holds no run.
    pub fn resolved(&self) -> Result<Resolved> {
        let path = self.config();
        let text = fs::read_to_string(&path).with_context(|| format!("{} holds no run", self.0.display()))?;
        Resolved::from_toml(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// The finished model.
    ///
    /// # Errors
    /// If the run has none yet, or its files are damaged.
    pub fn load_model(&self, device: &Device) -> Result<LearnedWelchPeaks> {
        ensure!(self.model().exists(), "{} has no model yet: finish the run with --resume", self.0.display());
        Ok(LearnedWelchPeaks::load(&self.model(), device)?)
    }

    /// Whether the run has been evaluated to its end.
    pub fn is_complete(&self) -> bool {
        self.report().exists()
    }
}

/// Names a data set in tables: where it came from.
pub fn data_set_name(config: &RunConfig) -> String {
    match &config.data.recordings {
        Some(recordings) => match &recordings.test {
            Some(test) => test.display().to_string(),
            None => format!("{} (held out)", recordings.train.display()),
        },
        None => "synthetic".to_string(),
    }
}

/// Trains in `folder` from the start, or from the last checkpoint with `resume`, then evaluates and reports.
///
/// # Errors
/// If the folder holds another run, the data can't be read, training fails, or an output can't be written.
pub fn train(
    folder: &RunFolder,
    resolved: &Resolved,
    device: &Device,
    resume: bool,
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<EvaluationRow>>> {
    claim(folder, resolved, resume)?;
    let config = &resolved.config;
    let data = config.data.open(config.model.frame(), config.seed)?;
    if data.skipped > 0 {
        progress.say(&format!("{} recordings are shorter than a frame and left out", data.skipped));
    }
    let checkpoints = Checkpoints::new(folder.checkpoints(), config.schedule.keep_checkpoints);
    let mut trainer = Trainer::new(config, &data, device)?;
    if resume && let Some(restored) = checkpoints.latest()? {
        trainer.restore(restored)?;
        progress.say(&format!("resuming at step {}", trainer.state().step));
    }
    let mut log = MetricsLog::open(&folder.metrics(), trainer.state().metrics_bytes)?;
    match trainer.run(&checkpoints, &mut log, interrupter, progress)? {
        End::Interrupted => return Ok(None),
        End::StoppedEarly => progress.say(&format!(
            "stopped at step {}: {} validations without a better loss",
            trainer.state().step,
            config.schedule.patience
        )),
        End::Finished => {}
    }
    finish(folder, resolved, &trainer.model(), &data, device).map(Some)
}

/// Makes the folder this run's, or checks that it already is.
fn claim(folder: &RunFolder, resolved: &Resolved, resume: bool) -> Result<()> {
    if folder.config().exists() {
        if !resume {
            bail!(
                "{} already holds a run: continue it with --resume, or choose another --out",
                folder.path().display()
            );
        }
        let started = folder.resolved()?;
        if started != *resolved {
            bail!(
                "{} was started differently, and a resumed run must be the same: {}",
                folder.path().display(),
                difference(&started, resolved)?
            );
        }
        return Ok(());
    }
    ensure!(!resume, "{} holds no run to resume", folder.path().display());
    write_atomically(&folder.config(), resolved.to_toml()?.as_bytes())
        .with_context(|| format!("writing {}", folder.config().display()))
}

/// The first line in which two configurations differ.
fn difference(started: &Resolved, now: &Resolved) -> Result<String> {
    let (started, now) = (started.to_toml()?, now.to_toml()?);
    let differing = started.lines().zip(now.lines()).find(|(before, after)| before != after);
    Ok(match differing {
        Some((before, after)) => format!("`{before}` then, `{after}` now"),
        None => "a key is missing in one of them".to_string(),
    })
}

/// Saves the model, evaluates it, and writes the report last: a run with a report is complete.
fn finish(
    folder: &RunFolder,
    resolved: &Resolved,
    model: &LearnedWelchPeaks,
    data: &DataSets,
    device: &Device,
) -> Result<Vec<EvaluationRow>> {
    model.save(&folder.model())?;
    let config = &resolved.config;
    let frames: &Frames = data.test.as_ref().unwrap_or(&data.validation);
    let learned = [("learned".to_string(), model.clone())];
    let plain = device.clone().inner();
    let rows = evaluate::compare(&data_set_name(config), frames, &config.model, &learned, &plain)?;
    write_evaluation(&folder.evaluation(), &rows)?;
    let report = page::report(resolved, &metrics::read(&folder.metrics())?, model, rows.clone())?;
    write_atomically(&folder.report(), report.render().as_bytes())
        .with_context(|| format!("writing {}", folder.report().display()))?;
    Ok(rows)
}

/// Writes evaluation rows as JSON.
///
/// # Errors
/// If the file can't be written.
pub fn write_evaluation(path: &Path, rows: &[EvaluationRow]) -> Result<()> {
    write_atomically(path, &serde_json::to_vec_pretty(rows)?).with_context(|| format!("writing {}", path.display()))
}
