//! Checkpoints: one folder each, complete or not there.
//!
//! The files of a checkpoint are written into a folder with a temporary name and synced, then the folder is renamed. A
//! folder with a checkpoint's name is therefore complete, at whatever moment the process was killed. A manifest with
//! the hash of every file is verified before a checkpoint is used; a damaged one is set aside, and the one before is
//! used.

use std::error::Error as StdError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::optim::{ModuleOptimizer, OptimizerRecord};
use burn::store::ModuleRecord;
use firefly_app::files::{PARTIAL, sync_folder, sync_folder_and_files};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::manifest::{Manifest, ManifestError};

const PREFIX: &str = "step-";
/// Least number of checkpoints that are kept: the last, and the one before in case the last is damaged.
pub const MIN_KEPT: usize = 2;
const STATE: &str = "state.json";
const MODEL: &str = "model";
const OPTIMIZER: &str = "optimizer";
const SCHEDULER: &str = "scheduler";
const AVERAGE: &str = "average";

/// Cause of a failed checkpoint: the file system, JSON or Burn's records.
type Cause = Box<dyn StdError + Send + Sync>;

/// Failure to write or read a checkpoint.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum CheckpointError {
    #[error("writing a checkpoint into {}", .0.display())]
    Write(PathBuf, #[source] Cause),
    #[error("reading the checkpoint {}", .0.display())]
    Read(PathBuf, #[source] Cause),
    #[error("none of the checkpoints in {} can be used: train again into another --out", .0.display())]
    AllDamaged(PathBuf, #[source] ManifestError),
    #[error("listing {}", .0.display())]
    List(PathBuf, #[source] io::Error),
    #[error("removing {}", .0.display())]
    Remove(PathBuf, #[source] io::Error),
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
    /// Steps done when the best model was kept; none if the last one is.
    #[serde(default)]
    pub best_step: Option<usize>,
    /// Validations since then.
    pub stale: usize,
    /// Fingerprint of the recordings; 0 without recordings.
    pub recordings: u64,
}

/// The checkpoints of a run.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
    run: String,
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
    /// Moving average of the parameters, if the run has one.
    pub average: Option<ModuleRecord>,
}

/// A checkpoint that can't be used.
#[derive(Debug)]
pub struct DamagedCheckpoint {
    /// Its folder, as it is called from now on.
    pub folder: PathBuf,
    /// Its fault.
    pub problem: ManifestError,
}

impl Checkpoints {
    /// Checkpoints in `folder` of the run with the identifier `run`; the last `keep` are kept, at least [`MIN_KEPT`].
    pub fn new(folder: PathBuf, run: String, keep: usize) -> Self {
        Self { folder, run, keep: keep.max(MIN_KEPT) }
    }

    /// Writes a checkpoint, then removes those that are too old. Earlier checkpoints are untouched where a file can't
    /// be written.
    pub fn save<M: Module>(
        &self,
        state: RunState,
        model: &M,
        optimizer: &ModuleOptimizer,
        scheduler: LrSchedulerRecord,
        average: Option<&M>,
    ) -> Result<(), CheckpointError> {
        let partial = self.folder.join(format!("{PARTIAL}{}", state.step));
        let write = || -> Result<(), Cause> {
            if partial.exists() {
                fs::remove_dir_all(&partial)?;
            }
            fs::create_dir_all(&partial)?;
            let record = |name| record(&partial, name, state.step);
            model.clone().into_record().save(record(MODEL))?;
            optimizer.to_record().save(record(OPTIMIZER))?;
            scheduler.save(record(SCHEDULER))?;
            if let Some(average) = average {
                average.clone().into_record().save(record(AVERAGE))?;
            }
            fs::write(partial.join(STATE), serde_json::to_vec(&state)?)?;
            Manifest::of(&partial, &self.subject(state.step))?.write(&partial)?;
            sync_folder_and_files(&partial)?;

            let complete = self.complete(state.step);
            if complete.exists() {
                fs::remove_dir_all(&complete)?;
            }
            fs::rename(&partial, complete)?;
            Ok(sync_folder(&self.folder)?)
        };
        write().map_err(|source| CheckpointError::Write(self.folder.clone(), source))?;
        let steps = self.steps()?;
        steps[..steps.len().saturating_sub(self.keep)].iter().try_for_each(|step| remove(&self.complete(*step)))
    }

    /// The last checkpoint whose files match its manifest, `None` if the run has no checkpoint yet; and later, damaged
    /// checkpoints, which are renamed. Partial checkpoints of a killed run are removed. An error if there are
    /// checkpoints and none can be used, or the folder can't be listed or changed.
    pub fn latest(&self) -> Result<(Option<Checkpoint>, Vec<DamagedCheckpoint>), CheckpointError> {
        if !self.folder.exists() {
            return Ok((None, Vec::new()));
        }
        for name in self.names()?.iter().filter(|name| name.starts_with(PARTIAL)) {
            let folder = self.folder.join(name);
            fs::remove_dir_all(&folder).map_err(|source| CheckpointError::Remove(folder, source))?;
        }
        let (mut latest, mut damaged) = (None, Vec::new());
        for step in self.steps()?.into_iter().rev() {
            match Manifest::verify(&self.complete(step), &self.subject(step)) {
                Ok(()) => {
                    latest = Some(self.read(step)?);
                    break;
                }
                Err(problem) => damaged.push((step, problem)),
            }
        }
        if latest.is_none()
            && let Some((_, source)) = damaged.drain(..).next()
        {
            return Err(CheckpointError::AllDamaged(self.folder.clone(), source));
        }
        // Only now that there is one to continue from: until then nothing is changed.
        let aside = |(step, problem)| Ok(DamagedCheckpoint { folder: self.set_aside(step)?, problem });
        Ok((latest, damaged.into_iter().map(aside).collect::<Result<_, CheckpointError>>()?))
    }

    /// Subject of the manifest of a step's checkpoint.
    fn subject(&self, step: usize) -> String {
        format!("step {step} of run {}", self.run)
    }

    /// Renames a damaged checkpoint, so that it neither counts as one nor is lost. Returns its new folder.
    fn set_aside(&self, step: usize) -> Result<PathBuf, CheckpointError> {
        let folder = self.complete(step);
        let aside = self.folder.join(format!("damaged-{step:08}"));
        let renamed = match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&folder, &aside),
        };
        renamed.map(|()| aside).map_err(|source| CheckpointError::Remove(folder, source))
    }

    /// Reads a verified checkpoint.
    fn read(&self, step: usize) -> Result<Checkpoint, CheckpointError> {
        let folder = self.complete(step);
        let record = |name| record(&folder, name, step);
        let average = record(AVERAGE);
        let read = || -> Result<_, Cause> {
            Ok(Checkpoint {
                state: serde_json::from_slice(&fs::read(folder.join(STATE))?)?,
                model: ModuleRecord::load(record(MODEL))?,
                optimizer: OptimizerRecord::load(record(OPTIMIZER))?,
                scheduler: LrSchedulerRecord::load(record(SCHEDULER))?,
                average: average.exists().then(|| ModuleRecord::load(average)).transpose()?,
            })
        };
        read().map_err(|source| CheckpointError::Read(folder.clone(), source))
    }

    fn complete(&self, step: usize) -> PathBuf {
        self.folder.join(format!("{PREFIX}{step:08}"))
    }

    /// Names in the folder of the checkpoints.
    fn names(&self) -> Result<Vec<String>, CheckpointError> {
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|source| CheckpointError::List(self.folder.clone(), source))?;
        Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
    }

    /// Steps of the complete checkpoints, ascending.
    fn steps(&self) -> Result<Vec<usize>, CheckpointError> {
        let step = |name: &String| name.strip_prefix(PREFIX)?.parse::<usize>().ok();
        let mut steps: Vec<usize> = self.names()?.iter().filter_map(step).collect();
        steps.sort_unstable();
        Ok(steps)
    }
}

fn record(folder: &Path, name: &str, step: usize) -> PathBuf {
    folder.join(format!("{name}-{step}.bpk"))
}

/// Removes a checkpoint. It is renamed first, so that a process killed meanwhile leaves no incomplete folder with a
/// checkpoint's name.
fn remove(folder: &Path) -> Result<(), CheckpointError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let partial = folder.with_file_name(format!("{PARTIAL}{name}"));
    fs::rename(folder, &partial)
        .and_then(|()| fs::remove_dir_all(&partial))
        .map_err(|source| CheckpointError::Remove(folder.into(), source))
}
