//! The folder of a run: its files, and the lock on them.
//!
//! `config.toml` (resolved) · `metrics.jsonl` · `checkpoints/` · `best/` (the lowest validation loss so far) · `model/` ·
//! `evaluation.json` · `report.html`.
//!
//! A process that uses the folder holds a lock on the file `.lock`. A folder with no other file is used again: its run
//! ended before its configuration was written.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use firefly_app::files::{PARTIAL, write_atomically};
use serde::Serialize;
use thiserror::Error;
use toml::{Table, Value};

use crate::config::{ConfigError, Resolved, difference};
use crate::task::{LoadedModel, ModelError, Task};
use crate::tasks::TaskName;
use crate::tasks::operator::FieldFiles;

/// Folder of the folders of runs that are given none.
pub const RUNS: &str = "runs";
const CONFIG: &str = "config.toml";
const LOCK: &str = ".lock";
/// Name of the file that marks the folder of a sweep and holds its key.
pub(crate) const SWEEP_KEY: &str = "sweep.key";

/// Error in the use of a run's folder.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum FolderError {
    #[error("{} holds no run", .0.display())]
    NoRun(PathBuf, #[source] io::Error),
    #[error("{} is the folder of a sweep: give that of one of its runs, {}", .0.display(), .1.join(", "))]
    Sweep(PathBuf, Vec<String>),
    #[error("{} holds no run to resume", .0.display())]
    NothingToResume(PathBuf, #[source] io::Error),
    #[error("{} holds a run of the task {task}, not of {expected}", folder.display())]
    OtherTask { folder: PathBuf, task: TaskName, expected: TaskName },
    #[error("{} has no model yet: finish the run with --resume", .0.display())]
    NoModel(PathBuf),
    #[error("{} already holds a run: continue it with --resume, or choose another --out", .0.display())]
    HoldsRun(PathBuf),
    #[error("{} is not empty: choose another --out", .0.display())]
    NotEmpty(PathBuf),
    #[error("another process is training in {}", .0.display())]
    InUse(PathBuf),
    #[error("{} was started differently, and a resumed run must be the same: {}", .0.display(), .1)]
    Different(PathBuf, String),
    #[error("reading {}{version}", path.display())]
    ReadConfig { path: PathBuf, version: String, source: Box<toml::de::Error> },
    #[error("{}", .0.display())]
    Config(PathBuf, #[source] Box<ConfigError>),
    #[error(
        "{} is not the model of this run: {}. Put the run's own model back, or train it again",
        .0.display(), .1
    )]
    OtherModel(PathBuf, String),
    #[error("the configuration can't be written as TOML")]
    Toml(#[from] toml::ser::Error),
    #[error("opening {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Store(#[from] ModelError),
}

/// The files of a run.
#[derive(Debug, Clone)]
pub struct RunFolder(PathBuf);

/// Exclusive use of a folder, released when dropped.
#[must_use = "the folder is only locked while this lives"]
pub struct FolderLock {
    #[expect(dead_code, reason = "the open file holds the lock")]
    file: File,
    taken_over: bool,
}

impl FolderLock {
    /// Whether the folder was left by a run that ended before its configuration was written.
    pub fn taken_over(&self) -> bool {
        self.taken_over
    }
}

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

    /// The folder of the model of the lowest validation loss so far.
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

    /// The configuration the run was started with. An error if the folder holds no run, one of another task, or its
    /// configuration is not one of a run.
    pub fn resolved<T: Task>(&self) -> Result<Resolved<T>, FolderError> {
        let path = self.config();
        let text = fs::read_to_string(&path).map_err(|source| self.no_run(source))?;
        let unreadable =
            |version, source| FolderError::ReadConfig { path: self.config(), version, source: Box::new(source) };
        let table: Table = toml::from_str(&text).map_err(|error| unreadable(": damaged".into(), error))?;
        let task = task_in(&table);
        if task != T::NAME {
            return Err(FolderError::OtherTask { folder: self.0.clone(), task, expected: T::NAME });
        }
        let resolved: Resolved<T> = toml::from_str(&text).map_err(|error| unreadable(other_version(&table), error))?;
        resolved.config.validate().map_err(|error| FolderError::Config(path, Box::new(error)))?;
        Ok(resolved)
    }

    /// The task of the run. An error if the folder holds no run.
    pub fn task(&self) -> Result<TaskName, FolderError> {
        let text = fs::read_to_string(self.config()).map_err(|source| self.no_run(source))?;
        Ok(task_in(&toml::from_str(&text).unwrap_or_default()))
    }

    /// The error of a folder without a configuration.
    fn no_run(&self, source: io::Error) -> FolderError {
        let folder = self.0.clone();
        if !folder.join(SWEEP_KEY).exists() {
            return FolderError::NoRun(folder, source);
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let runs = entries.filter(|entry| entry.path().join(CONFIG).exists());
        let mut runs: Vec<String> = runs.map(|run| run.file_name().to_string_lossy().into_owned()).collect();
        runs.sort_unstable();
        FolderError::Sweep(folder, runs)
    }

    /// The finished model. An error if the folder holds no run, the run has no model yet, or its files are damaged or
    /// of another configuration.
    pub fn load_model<T: Task>(&self, device: &Device) -> Result<T::Model, FolderError> {
        let (folder, resolved) = (self.model(), self.resolved::<T>()?);
        if !folder.exists() {
            return Err(FolderError::NoModel(self.0.clone()));
        }
        let LoadedModel { model, differences } = T::load(&folder, &resolved.config, device)?;
        if differences.is_empty() { Ok(model) } else { Err(FolderError::OtherModel(folder, differences.join(", "))) }
    }

    /// Checks that writing `output` would replace no file of the run, of its data or of `inputs`; folders stand for all
    /// files in them, and inputs of fields for the outputs beside them.
    pub fn ensure_no_input<'a>(&self, output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
        // What is not there yet replaces nothing.
        let Ok(output) = output.canonicalize() else { return Ok(()) };
        let own = [self.config(), self.metrics(), self.checkpoints(), self.best(), self.model()];
        let text = fs::read_to_string(self.config()).unwrap_or_default();
        let data = absolute_paths(&Value::Table(toml::from_str(&text).unwrap_or_default()));
        let data = data.into_iter().chain(inputs.into_iter().map(Path::to_path_buf));
        let data = data.flat_map(|path| [FieldFiles::new(&path).outputs(), path]);
        let mut all = own.into_iter().chain([self.evaluation(), self.report()]).chain(data);
        match all.any(|input| input.canonicalize().is_ok_and(|input| output.starts_with(input))) {
            true => Err(io::Error::other("it is an input or a part of the run, and would be replaced")),
            false => Ok(()),
        }
    }

    /// Whether the run has been evaluated to its end: the report is written last.
    pub fn is_complete(&self) -> bool {
        self.report().exists()
    }

    /// Starts a run in the folder and locks it. An error if the folder holds anything, or can't be written; a folder
    /// that was made for the run is then removed.
    pub fn start<T: Task>(&self, resolved: &Resolved<T>) -> Result<FolderLock, FolderError> {
        // The text first, so that a configuration that has none leaves no folder behind.
        let text = toml::to_string(resolved)?;
        self.ensure_empty()?;
        let (made, left) = (!self.0.exists(), self.0.join(LOCK).exists());
        let lock = self.lock()?;
        // Once more: another process may have started a run between the first look and the lock.
        self.ensure_empty()?;
        if let Err(error) = write(&self.config(), text.as_bytes()) {
            let _ = fs::remove_file(self.0.join(LOCK));
            if made {
                let _ = fs::remove_dir(&self.0);
            }
            return Err(error);
        }
        Ok(FolderLock { taken_over: left, ..lock })
    }

    /// Locks the folder to resume its run, on whatever devices. A run that ended before its configuration was written
    /// is started. An error if the folder holds no run, or one of another configuration, or another process is training
    /// in it.
    pub fn resume<T: Task>(&self, resolved: &Resolved<T>) -> Result<FolderLock, FolderError> {
        let folder = self.0.clone();
        let started = match self.resolved::<T>() {
            Ok(started) => started,
            Err(FolderError::NoRun(..)) if self.0.join(LOCK).exists() && self.ensure_empty().is_ok() => {
                return self.start(resolved);
            }
            Err(FolderError::NoRun(folder, source)) => {
                return Err(FolderError::NothingToResume(folder, source));
            }
            Err(error) => return Err(error),
        };
        let lock = self.lock()?;
        if !started.is_same_run(resolved) {
            let difference = difference(&started, &resolved.on_devices_of(&started))?;
            return Err(FolderError::Different(folder, difference));
        }
        Ok(lock)
    }

    /// Checks that the folder is not there, or holds nothing but what a run that was killed at its start left. An error
    /// if it holds anything else, or can't be listed.
    pub fn ensure_empty(&self) -> Result<(), FolderError> {
        let folder = self.0.clone();
        let is_left_over = |name: &str| name == LOCK || name.starts_with(PARTIAL);
        let first = match fs::read_dir(&folder) {
            Ok(mut entries) => {
                let counts = |entry: &fs::DirEntry| !entry.file_name().to_str().is_some_and(is_left_over);
                entries.find(|entry| entry.as_ref().map_or(true, counts)).transpose()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        match first {
            Err(source) => Err(FolderError::Open(folder, source)),
            Ok(None) => Ok(()),
            Ok(Some(_)) if self.config().exists() => Err(FolderError::HoldsRun(folder)),
            Ok(Some(_)) => Err(FolderError::NotEmpty(folder)),
        }
    }

    /// Locks the folder for this process, and removes files that a process was killed while writing.
    fn lock(&self) -> Result<FolderLock, FolderError> {
        let open = |source| FolderError::Open(self.0.clone(), source);
        let dangles = self.0.is_symlink() && !self.0.exists();
        if dangles {
            return Err(open(io::Error::new(io::ErrorKind::NotFound, "it is a link to a folder that does not exist")));
        }
        fs::create_dir_all(&self.0).map_err(open)?;
        let file = File::create(self.0.join(LOCK)).map_err(open)?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => return Err(FolderError::InUse(self.0.clone())),
            Err(TryLockError::Error(source)) => return Err(open(source)),
        }
        for entry in fs::read_dir(&self.0).map_err(open)? {
            let entry = entry.map_err(open)?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(PARTIAL)) {
                fs::remove_file(entry.path()).map_err(open)?;
            }
        }
        Ok(FolderLock { file, taken_over: false })
    }
}

/// The absolute paths in a configuration: those of its data, which [`locate`](crate::config) makes absolute.
fn absolute_paths(value: &Value) -> Vec<PathBuf> {
    match value {
        Value::String(text) => Some(PathBuf::from(text)).filter(|path| path.is_absolute()).into_iter().collect(),
        Value::Array(values) => values.iter().flat_map(absolute_paths).collect(),
        Value::Table(table) => table.values().flat_map(absolute_paths).collect(),
        _ => Vec::new(),
    }
}

/// The task in a run's configuration; the first one where it names none.
fn task_in(config: &Table) -> TaskName {
    let name = config.get("config").and_then(|config| config.get("task"));
    name.and_then(|name| name.clone().try_into().ok()).unwrap_or_default()
}

/// The version of Firefly that wrote a configuration, if it is another one, as a part of a sentence.
fn other_version(config: &Table) -> String {
    match config.get("firefly").and_then(Value::as_str) {
        Some(version) if version != env!("CARGO_PKG_VERSION") => {
            format!(", which Firefly {} can't read because Firefly {version} wrote it", env!("CARGO_PKG_VERSION"))
        }
        _ => String::new(),
    }
}

/// Writes evaluation rows as JSON, atomically. An error if the file can't be written.
pub fn write_rows(path: &Path, rows: &[impl Serialize]) -> Result<(), FolderError> {
    let json = serde_json::to_vec_pretty(rows).map_err(io::Error::from);
    json.and_then(|json| write_atomically(path, &json)).map_err(|source| FolderError::Write(path.into(), source))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    write_atomically(path, bytes).map_err(|source| FolderError::Write(path.into(), source))
}

/// The folder of a new run: runs/NAME, or runs/NAME-2 and so on if that exists. A resumed run is the last one of the
/// same configuration that is not complete, or else the last one of the same configuration, or else the last one.
pub(crate) fn default_folder<T: Task>(resolved: &Resolved<T>, resume: bool) -> RunFolder {
    let name = &resolved.config.name;
    let numbered = |number: usize| match number {
        1 => RunFolder::new(Path::new(RUNS).join(name)),
        number => RunFolder::new(Path::new(RUNS).join(format!("{name}-{number}"))),
    };
    if !resume {
        return (1..).map(numbered).find(|folder| !folder.path().exists()).unwrap_or_else(|| numbered(1));
    }
    let number = |folder: &str| match folder.strip_prefix(name.as_str())? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse::<usize>().ok(),
    };
    let entries = fs::read_dir(RUNS).into_iter().flatten().flatten();
    let mut numbers: Vec<usize> = entries.filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    let folders: Vec<RunFolder> = numbers.into_iter().map(numbered).collect();
    let is_same = |folder: &&RunFolder| folder.resolved::<T>().is_ok_and(|started| started.is_same_run(resolved));
    let same: Vec<&RunFolder> = folders.iter().filter(is_same).collect();
    let chosen = same.iter().rfind(|folder| !folder.is_complete()).or(same.last()).copied().or(folders.last());
    chosen.cloned().unwrap_or_else(|| numbered(1))
}

#[cfg(test)]
mod tests;
