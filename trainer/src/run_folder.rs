//! The folder of a run: its files, and who may write them.
//!
//! `config.toml` (resolved) · `metrics.jsonl` · `checkpoints/` · `best/` (with early stopping) · `model/` ·
//! `evaluation.json` · `report.html`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use firefly_app::files::write_atomically;
use firefly_models::{LearnedWelchPeaks, StoreError};
use thiserror::Error;

use crate::config::Resolved;
use crate::evaluate::EvaluationRow;

const CONFIG: &str = "config.toml";
const LOCK: &str = ".lock";

/// Error in the use of a run's folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The folder holds no run.
    #[error("{} holds no run", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no run to resume.
    #[error("{} holds no run to resume", folder.display())]
    NothingToResume {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The run has no finished model yet.
    #[error("{} has no model yet: finish the run with --resume", folder.display())]
    NoModel {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder already holds a run.
    #[error("{} already holds a run: continue it with --resume, or choose another --out", folder.display())]
    HoldsRun {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds files of another origin.
    #[error("{} is not empty: choose another --out", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// Another process has locked the folder.
    #[error("another process is training in {}", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The run was started with another configuration.
    #[error("{} was started differently, and a resumed run must be the same: {difference}", folder.display())]
    Different {
        /// The folder.
        folder: PathBuf,
        /// The first line that differs, then and now.
        difference: String,
    },
    /// The configuration is not one that a run wrote.
    #[error("reading {}", path.display())]
    ReadConfig {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: toml::de::Error,
    },
    /// The configuration can't be written as TOML: a path is not text.
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    /// The folder can't be listed, made or locked.
    #[error("opening {}", folder.display())]
    Open {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file can't be written.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The model's files are damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The files of a run.
#[derive(Debug, Clone)]
pub struct RunFolder(PathBuf);

/// Exclusive use of a folder, released when dropped.
#[must_use = "the folder is only locked while this lives"]
pub struct FolderLock(#[expect(dead_code, reason = "the open file holds the lock")] File);

impl RunFolder {
    /// The run in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of the resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.0.join(CONFIG)
    }

    /// The file of the metrics.
    pub fn metrics(&self) -> PathBuf {
        self.0.join("metrics.jsonl")
    }

    /// The folder of the checkpoints.
    pub fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    /// The folder of the finished model.
    pub fn model(&self) -> PathBuf {
        self.0.join("model")
    }

    /// The folder of the best model so far, of a run that may stop early.
    pub fn best(&self) -> PathBuf {
        self.0.join("best")
    }

    /// The file of the evaluation.
    pub fn evaluation(&self) -> PathBuf {
        self.0.join("evaluation.json")
    }

    /// The file of the report.
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The configuration the run was started with.
    ///
    /// # Errors
    /// If the folder holds no run.
    pub fn resolved(&self) -> Result<Resolved, FolderError> {
        let path = self.config();
        let text = fs::read_to_string(&path).map_err(|source| FolderError::NoRun { folder: self.0.clone(), source })?;
        Resolved::from_toml(&text).map_err(|source| FolderError::ReadConfig { path, source })
    }

    /// The finished model.
    ///
    /// # Errors
    /// If the run has none yet, or its files are damaged.
    pub fn load_model(&self, device: &Device) -> Result<LearnedWelchPeaks, FolderError> {
        if !self.model().exists() {
            return Err(FolderError::NoModel { folder: self.0.clone() });
        }
        Ok(LearnedWelchPeaks::load(&self.model(), device)?)
    }

    /// Whether the run has been evaluated to its end: the report is written last.
    pub fn is_complete(&self) -> bool {
        self.report().exists()
    }

    /// Starts a run in the folder and locks it.
    ///
    /// # Errors
    /// If the folder holds anything, or can't be written.
    pub fn start(&self, resolved: &Resolved) -> Result<FolderLock, FolderError> {
        self.ensure_empty()?;
        let lock = self.lock()?;
        write(&self.config(), resolved.to_toml()?.as_bytes())?;
        Ok(lock)
    }

    /// Locks the folder to resume its run.
    ///
    /// # Errors
    /// If the folder holds no run, or one of another configuration, or another process is training in it.
    pub fn resume(&self, resolved: &Resolved) -> Result<FolderLock, FolderError> {
        let folder = self.0.clone();
        let started = self.resolved().map_err(|error| match error {
            FolderError::NoRun { folder, source } => FolderError::NothingToResume { folder, source },
            error => error,
        })?;
        let lock = self.lock()?;
        if started != *resolved {
            return Err(FolderError::Different { folder, difference: difference(&started, resolved)? });
        }
        Ok(lock)
    }

    /// Checks that the folder is empty or not there.
    ///
    /// # Errors
    /// If it holds anything, or can't be listed.
    pub fn ensure_empty(&self) -> Result<(), FolderError> {
        let folder = self.0.clone();
        let first = match fs::read_dir(&folder) {
            Ok(mut entries) => entries.next().transpose(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        match first {
            Err(source) => Err(FolderError::Open { folder, source }),
            Ok(None) => Ok(()),
            Ok(Some(_)) if self.config().exists() => Err(FolderError::HoldsRun { folder }),
            Ok(Some(_)) => Err(FolderError::NotEmpty { folder }),
        }
    }

    /// Writes evaluation rows as JSON.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write_evaluation(&self, rows: &[EvaluationRow]) -> Result<(), FolderError> {
        write_rows(&self.evaluation(), rows)
    }

    /// Writes the page of the report, which completes the run.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write_report(&self, page: &str) -> Result<(), FolderError> {
        write(&self.report(), page.as_bytes())
    }

    /// Locks the folder for this process.
    fn lock(&self) -> Result<FolderLock, FolderError> {
        let open = |source| FolderError::Open { folder: self.0.clone(), source };
        fs::create_dir_all(&self.0).map_err(open)?;
        let file = File::create(self.0.join(LOCK)).map_err(open)?;
        match file.try_lock() {
            Ok(()) => Ok(FolderLock(file)),
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse { folder: self.0.clone() }),
            Err(TryLockError::Error(source)) => Err(open(source)),
        }
    }
}

/// Writes evaluation rows as JSON, atomically.
///
/// # Errors
/// If the file can't be written.
pub fn write_rows(path: &Path, rows: &[EvaluationRow]) -> Result<(), FolderError> {
    let json = serde_json::to_vec_pretty(rows).map_err(io::Error::from);
    json.and_then(|json| write_atomically(path, &json))
        .map_err(|source| FolderError::Write { path: path.into(), source })
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    write_atomically(path, bytes).map_err(|source| FolderError::Write { path: path.into(), source })
}

/// The first line in which two configurations differ.
fn difference(started: &Resolved, now: &Resolved) -> Result<String, FolderError> {
    let (started, now) = (started.to_toml()?, now.to_toml()?);
    let differing = started.lines().zip(now.lines()).find(|(before, after)| before != after);
    Ok(match differing {
        Some((before, after)) => format!("`{before}` then, `{after}` now"),
        None => "a key is missing in one of them".to_string(),
    })
}
