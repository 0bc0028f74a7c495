//! A run folder: what is in it, and the life of a run from its first step to its report.
//!
//! `config.toml` (resolved) · `metrics.jsonl` · `checkpoints/` · `best/` (with early stopping) · `model/` ·
//! `evaluation.json` · `report.html`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_app::files::write_atomically;
use firefly_models::LearnedWelchPeaks;

use crate::checkpoint::Checkpoints;
use crate::config::{Resolved, RunConfig};
use crate::data::{DataSets, Frames};
use crate::evaluate::{self, EvaluationRow};
use crate::metrics::{self, MetricsLog};
use crate::progress::Progress;
use crate::report::Report;
use crate::train::{End, Trainer};

const CONFIG: &str = "config.toml";
const LOCK: &str = ".lock";

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
        self.0.join(CONFIG)
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

    /// Where a run that may stop early keeps its best model.
    pub fn best(&self) -> PathBuf {
        self.0.join("best")
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

/// The frames a run is reported on, and their name: those set aside for it, or else those it was validated on.
pub fn evaluation_set<'a>(config: &RunConfig, data: &'a DataSets) -> (String, &'a Frames) {
    let name = match &config.data.recordings {
        Some(recordings) => match (&recordings.test, &data.test) {
            (Some(test), _) => test.display().to_string(),
            (None, Some(_)) => format!("{} (test files)", recordings.train.display()),
            (None, None) => format!("{} (validation files)", recordings.train.display()),
        },
        None => "synthetic".to_string(),
    };
    (name, data.test.as_ref().unwrap_or(&data.validation))
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
    let config = &resolved.config;
    // Before the folder is touched: what can't start leaves nothing behind.
    let data = config.data.open(config.model.frame(), config.seed).context("data")?;
    let mut trainer = Trainer::new(config, &data, device)?;
    let _lock = claim(folder, resolved, resume)?;
    if data.skipped > 0 {
        progress.say(&format!("{} recordings are shorter than a frame and left out", data.skipped));
    }
    let checkpoints = Checkpoints::new(folder.checkpoints(), config.schedule.keep_checkpoints);
    if resume && let Some(restored) = checkpoints.latest()? {
        trainer.restore(restored)?;
        progress.say(&format!("resuming at step {}", trainer.state().step));
    }
    let mut log = MetricsLog::open(&folder.metrics(), trainer.state().metrics_bytes)?;
    let model = match trainer.run(&checkpoints, &folder.best(), &mut log, interrupter, progress)? {
        End::Interrupted => return Ok(None),
        End::Finished => trainer.model(),
        End::StoppedEarly => {
            progress.say(&format!(
                "stopped at step {}: {} validations without a better loss than the model kept",
                trainer.state().step,
                config.schedule.patience
            ));
            LearnedWelchPeaks::load(&folder.best(), &device.clone().inner())?
        }
    };
    finish(folder, resolved, &model, &data, device).map(Some)
}

/// Makes the folder this run's, or checks that it already is, and keeps others out of it while the lock lives.
fn claim(folder: &RunFolder, resolved: &Resolved, resume: bool) -> Result<File> {
    let place = folder.path();
    if resume {
        let started = folder.resolved().with_context(|| format!("{} holds no run to resume", place.display()))?;
        let lock = lock(place)?;
        if started != *resolved {
            bail!(
                "{} was started differently, and a resumed run must be the same: {}",
                place.display(),
                difference(&started, resolved)?
            );
        }
        return Ok(lock);
    }
    refuse_taken(place)?;
    let lock = lock(place)?;
    write_atomically(&folder.config(), resolved.to_toml()?.as_bytes())
        .with_context(|| format!("writing {}", folder.config().display()))?;
    Ok(lock)
}

/// Refuses a folder that holds anything.
///
/// # Errors
/// If it does, or can't be listed.
pub fn refuse_taken(place: &Path) -> Result<()> {
    let taken = place.exists() && fs::read_dir(place).with_context(|| format!("{}", place.display()))?.next().is_some();
    if taken && place.join(CONFIG).exists() {
        bail!("{} already holds a run: continue it with --resume, or choose another --out", place.display());
    }
    ensure!(!taken, "{} is not empty: choose another --out", place.display());
    Ok(())
}

/// Takes the folder for this process alone, as long as the file lives.
fn lock(place: &Path) -> Result<File> {
    fs::create_dir_all(place).with_context(|| format!("making {}", place.display()))?;
    let file = File::create(place.join(LOCK)).with_context(|| format!("locking {}", place.display()))?;
    file.try_lock().with_context(|| format!("another process is training in {}", place.display()))?;
    Ok(file)
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
    let (name, frames) = evaluation_set(config, data);
    let learned = [("learned".to_string(), model.clone())];
    let plain = device.clone().inner();
    let rows = evaluate::compare(&name, frames, &config.model, &learned, &plain)?;
    write_evaluation(&folder.evaluation(), &rows)?;
    let page = Report::of_run(resolved, &metrics::read(&folder.metrics())?, model, rows.clone())?;
    write_atomically(&folder.report(), page.render().as_bytes())
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
