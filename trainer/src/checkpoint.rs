//! Checkpoints: a folder each, complete or not there.
//!
//! A set of files is written into a folder with a temporary name, synced, and the folder renamed: whatever kills the run,
//! a folder with a checkpoint's name holds all of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::module::Module;
use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;
use burn_train::checkpoint::{Checkpointer, FileCheckpointer};
use firefly_app::files::{sync_folder, sync_folder_and_files};
use firefly_models::LearnedWelchPeaks;
use serde::{Deserialize, Serialize};

const PREFIX: &str = "step-";
const PARTIAL: &str = ".partial-";
const STATE: &str = "state.json";
const MODEL: &str = "model";
const OPTIMIZER: &str = "optimizer";
const SCHEDULER: &str = "scheduler";

/// Where a run stands besides its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// Steps done.
    pub step: usize,
    /// Bytes of metrics written by then: what a killed run wrote after them is written again.
    pub metrics_bytes: u64,
    /// The lowest validation loss so far.
    pub best_loss: Option<f64>,
    /// Validations since then.
    pub stale: usize,
}

/// The checkpoints of a run.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    keep: usize,
}

/// What a checkpoint restores.
pub struct Restored {
    /// Where the run stood.
    pub state: State,
    /// The model's parameters.
    pub model: ModuleRecord,
    /// The optimizer's moments.
    pub optimizer: OptimizerRecord,
    /// The schedule's position.
    pub scheduler: LrSchedulerRecord,
}

impl Checkpoints {
    /// Checkpoints in `folder`, of which the last `keep` are kept.
    pub fn new(folder: PathBuf, keep: usize) -> Self {
        Self { folder, keep }
    }

    /// Writes a checkpoint, then removes those that are too old.
    ///
    /// # Errors
    /// If a file can't be written; earlier checkpoints are then untouched.
    pub fn save(
        &self,
        state: State,
        model: &LearnedWelchPeaks,
        optimizer: &ModuleOptimizer,
        scheduler: LrSchedulerRecord,
    ) -> Result<()> {
        let step = state.step;
        let partial = self.folder.join(format!("{PARTIAL}{step}"));
        let writing = || format!("writing a checkpoint into {}", self.folder.display());
        if partial.exists() {
            fs::remove_dir_all(&partial).with_context(writing)?;
        }
        fs::create_dir_all(&partial).with_context(writing)?;
        FileCheckpointer::new(&partial, MODEL).save(step, model.clone().into_record()).with_context(writing)?;
        FileCheckpointer::new(&partial, OPTIMIZER).save(step, optimizer.to_record()).with_context(writing)?;
        FileCheckpointer::new(&partial, SCHEDULER).save(step, scheduler).with_context(writing)?;
        fs::write(partial.join(STATE), serde_json::to_vec(&state)?).with_context(writing)?;
        sync_folder_and_files(&partial).with_context(writing)?;

        let place = self.place(step);
        if place.exists() {
            fs::remove_dir_all(&place).with_context(writing)?;
        }
        fs::rename(&partial, place).with_context(writing)?;
        sync_folder(&self.folder).with_context(writing)?;
        self.remove_old()
    }

    /// The last complete checkpoint; none if there is none yet. What a killed run left half written is removed.
    ///
    /// # Errors
    /// If a checkpoint can't be read.
    pub fn latest(&self) -> Result<Option<Restored>> {
        if !self.folder.exists() {
            return Ok(None);
        }
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PARTIAL)) {
                fs::remove_dir_all(&path).with_context(|| format!("removing {}", path.display()))?;
            }
        }
        let Some(step) = self.steps()?.pop() else { return Ok(None) };
        let place = self.place(step);
        let reading = || format!("reading the checkpoint {}", place.display());
        let state: State =
            serde_json::from_slice(&fs::read(place.join(STATE)).with_context(reading)?).with_context(reading)?;
        Ok(Some(Restored {
            state,
            model: FileCheckpointer::new(&place, MODEL).restore(step).with_context(reading)?,
            optimizer: FileCheckpointer::new(&place, OPTIMIZER).restore(step).with_context(reading)?,
            scheduler: FileCheckpointer::new(&place, SCHEDULER).restore(step).with_context(reading)?,
        }))
    }

    fn place(&self, step: usize) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:08}"))
    }

    /// Steps of the complete checkpoints, ascending.
    fn steps(&self) -> Result<Vec<usize>> {
        let mut steps = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            steps.extend(name.to_string_lossy().strip_prefix(PREFIX).and_then(|step| step.parse::<usize>().ok()));
        }
        steps.sort_unstable();
        Ok(steps)
    }

    fn remove_old(&self) -> Result<()> {
        let steps = self.steps()?;
        for step in &steps[..steps.len().saturating_sub(self.keep)] {
            remove(&self.place(*step))?;
        }
        Ok(())
    }
}

/// Removes a checkpoint so that a kill in between leaves none of its name.
fn remove(place: &Path) -> Result<()> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let doomed = place.with_file_name(format!("{PARTIAL}{name}"));
    fs::rename(place, &doomed)
        .and_then(|()| fs::remove_dir_all(&doomed))
        .with_context(|| format!("removing {}", place.display()))
}
