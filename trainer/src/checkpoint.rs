//! Checkpoints: one folder each, complete or not there.
//!
//! The files of a checkpoint are written into a folder with a temporary name and synced, then the folder is renamed. A
//! folder with a checkpoint's name is therefore complete, at whatever moment the process was killed.

use std::error::Error as StdError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;
use burn_train::checkpoint::{Checkpointer, FileCheckpointer};
use firefly_app::files::{sync_folder, sync_folder_and_files};
use firefly_models::LearnedWelchPeaks;
use serde::{Deserialize, Serialize};
use thiserror::Error;

const PREFIX: &str = "step-";
const PARTIAL: &str = ".partial-";
const STATE: &str = "state.json";
const MODEL: &str = "model";
const OPTIMIZER: &str = "optimizer";
const SCHEDULER: &str = "scheduler";

/// Cause of a failed checkpoint: the file system, JSON or Burn's records.
type Cause = Box<dyn StdError + Send + Sync>;

/// Failure to write or read a checkpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A checkpoint can't be written.
    #[error("writing a checkpoint into {}", folder.display())]
    Write {
        /// The folder of the checkpoints.
        folder: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// A checkpoint can't be read.
    #[error("reading the checkpoint {}", folder.display())]
    Read {
        /// The checkpoint's folder.
        folder: PathBuf,
        /// The cause.
        source: Cause,
    },
    /// The folder of the checkpoints can't be listed.
    #[error("listing {}", folder.display())]
    List {
        /// The folder of the checkpoints.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An old or partial checkpoint can't be removed.
    #[error("removing {}", folder.display())]
    Remove {
        /// The checkpoint's folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// State of a run besides its tensors.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RunState {
    /// Steps done.
    pub step: usize,
    /// Bytes of metrics written by then. Lines after them are of a run that was killed, and are written again.
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

/// A checkpoint, read back.
pub struct Checkpoint {
    /// State of the run.
    pub state: RunState,
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
        state: RunState,
        model: &LearnedWelchPeaks,
        optimizer: &ModuleOptimizer,
        scheduler: LrSchedulerRecord,
    ) -> Result<(), CheckpointError> {
        let partial = self.folder.join(format!("{PARTIAL}{}", state.step));
        let write = || -> Result<(), Cause> {
            if partial.exists() {
                fs::remove_dir_all(&partial)?;
            }
            fs::create_dir_all(&partial)?;
            FileCheckpointer::new(&partial, MODEL).save(state.step, model.clone().into_record())?;
            FileCheckpointer::new(&partial, OPTIMIZER).save(state.step, optimizer.to_record())?;
            FileCheckpointer::new(&partial, SCHEDULER).save(state.step, scheduler)?;
            fs::write(partial.join(STATE), serde_json::to_vec(&state)?)?;
            sync_folder_and_files(&partial)?;

            let complete = self.complete(state.step);
            if complete.exists() {
                fs::remove_dir_all(&complete)?;
            }
            fs::rename(&partial, complete)?;
            Ok(sync_folder(&self.folder)?)
        };
        write().map_err(|source| CheckpointError::Write { folder: self.folder.clone(), source })?;
        self.remove_old()
    }

    /// The last complete checkpoint; none if there is none yet. Partial checkpoints of a killed run are removed.
    ///
    /// # Errors
    /// If a checkpoint can't be read.
    pub fn latest(&self) -> Result<Option<Checkpoint>, CheckpointError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        for name in self.names()?.iter().filter(|name| name.starts_with(PARTIAL)) {
            let folder = self.folder.join(name);
            fs::remove_dir_all(&folder).map_err(|source| CheckpointError::Remove { folder, source })?;
        }
        let Some(step) = self.steps()?.pop() else { return Ok(None) };
        let folder = self.complete(step);
        let read = || -> Result<_, Cause> {
            Ok(Checkpoint {
                state: serde_json::from_slice(&fs::read(folder.join(STATE))?)?,
                model: FileCheckpointer::new(&folder, MODEL).restore(step)?,
                optimizer: FileCheckpointer::new(&folder, OPTIMIZER).restore(step)?,
                scheduler: FileCheckpointer::new(&folder, SCHEDULER).restore(step)?,
            })
        };
        read().map(Some).map_err(|source| CheckpointError::Read { folder: folder.clone(), source })
    }

    /// Folder of the complete checkpoint of a step.
    fn complete(&self, step: usize) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:08}"))
    }

    /// Names in the folder of the checkpoints.
    fn names(&self) -> Result<Vec<String>, CheckpointError> {
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|source| CheckpointError::List { folder: self.folder.clone(), source })?;
        Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    /// Steps of the complete checkpoints, ascending.
    fn steps(&self) -> Result<Vec<usize>, CheckpointError> {
        let step = |name: &String| name.strip_prefix(PREFIX)?.parse::<usize>().ok();
        let mut steps: Vec<usize> = self.names()?.iter().filter_map(step).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    fn remove_old(&self) -> Result<(), CheckpointError> {
        let steps = self.steps()?;
        steps[..steps.len().saturating_sub(self.keep)].iter().try_for_each(|step| remove(&self.complete(*step)))
    }
}

/// Removes a checkpoint. It is renamed first, so that a process killed meanwhile leaves no incomplete folder with a
/// checkpoint's name.
fn remove(folder: &Path) -> Result<(), CheckpointError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.with_file_name(format!("{PARTIAL}{name}"));
    fs::rename(folder, &partial)
        .and_then(|()| fs::remove_dir_all(&partial))
        .map_err(|source| CheckpointError::Remove { folder: folder.into(), source })
}
