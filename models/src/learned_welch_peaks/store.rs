//! Saved models: `config.json`, the configuration, and `model.safetensors`, the parameters.
//!
//! Both files change in one step. They are written and synchronised in the folder [`STAGING`], whose renaming to
//! [`COMMITTED`] makes them the saved model, and moved to their places after that. A reader takes each file from
//! `COMMITTED` where it is still there, so that after an interruption at any point it finds both files of one model,
//! and the next save finishes an interrupted move first.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_store::SafetensorsStoreError;
use firefly_ops::ArgumentError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::config::LearnedWelchPeaksConfig;
use super::module::LearnedWelchPeaks;
use crate::weights::{self, ParameterMismatch};

/// Version of the files' layout; files of another version are refused.
pub const WEIGHTS_FORMAT: u32 = 1;

const MODEL: &str = "learned_welch_peaks";
const CONFIG_FILE: &str = "config.json";
const WEIGHTS_FILE: &str = "model.safetensors";
/// Folder of files that are being written.
const STAGING: &str = ".saving";
/// Folder of files that are complete and not all in their places.
const COMMITTED: &str = ".saved";

#[derive(Serialize, Deserialize)]
struct LearnedHeader {
    format: u32,
    model: String,
}

#[derive(Serialize, Deserialize)]
struct Description {
    #[serde(flatten)]
    header: LearnedHeader,
    config: LearnedWelchPeaksConfig,
}

/// Reason why a model can't be saved or loaded.
///
/// ```
/// use burn::tensor::Device;
/// use firefly_models::{LearnedWelchPeaks, StoreError};
///
/// let folder = tempfile::tempdir()?;
/// let error = LearnedWelchPeaks::load(folder.path(), &Device::flex()).err();
/// assert!(matches!(error, Some(StoreError::File { path, .. }) if path.ends_with("config.json")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file can't be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: io::Error,
    },
    /// `config.json` is no description of a model.
    #[error("{path}: not a model description: {error}{}", hint(error))]
    Description {
        /// The file.
        path: PathBuf,
        /// The first thing that does not parse.
        error: serde_json::Error,
    },
    /// The files have another layout.
    #[error("{path}: format {found} of `{model}`, but this version reads format {WEIGHTS_FORMAT} of `{MODEL}`")]
    Format {
        /// The file.
        path: PathBuf,
        /// The model found.
        model: String,
        /// The format found.
        found: u32,
    },
    /// The configuration is out of range.
    #[error("{path}: {error}")]
    Config {
        /// The file.
        path: PathBuf,
        /// The field that is out of range.
        error: ArgumentError,
    },
    /// The weights can't be read or written.
    #[error("{path}: damaged or cut short: {error}")]
    Weights {
        /// The file.
        path: PathBuf,
        /// The first thing that does not fit.
        error: SafetensorsStoreError,
    },
    /// The weights are not those of the configuration.
    #[error("{path}: not the weights of the model that {CONFIG_FILE} describes: {reason}")]
    OtherModel {
        /// The file.
        path: PathBuf,
        /// The first parameter that does not fit.
        reason: String,
    },
    /// The weights hold a tensor that is no parameter of the model.
    #[error("{path}: `{tensor}` is no parameter of the model")]
    UnknownTensor {
        /// The file.
        path: PathBuf,
        /// Name of the tensor.
        tensor: String,
    },
    /// A parameter holds a value that is not finite.
    #[error("{path}: `{parameter}` holds a number that is not finite")]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Name of the parameter.
        parameter: String,
    },
}

/// Explanation of a message of the parser that names types of the parser.
fn hint(error: &serde_json::Error) -> &'static str {
    if error.to_string().contains("struct variant") {
        ": a density needs its sample rate, as in {\"density\": {\"sample_rate\": 12000.0}}"
    } else {
        ""
    }
}

impl LearnedWelchPeaks {
    /// Writes `config.json` and `model.safetensors` into `folder`, which is created if it does not exist, replacing a
    /// model that is there. Both files change in one step: if saving is interrupted, [`load`](Self::load) reads the old
    /// model or the new one. One process may save into a folder at a time.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::{LearnedWelchPeaks, LearnedWelchPeaksConfig};
    ///
    /// let (folder, device) = (tempfile::tempdir()?, Device::flex());
    /// let model = LearnedWelchPeaksConfig::new().with_n_fft(64).init(&device);
    /// model.save(folder.path())?;
    /// assert_eq!(LearnedWelchPeaks::load(folder.path(), &device)?.config(), model.config());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] if a file can't be written.
    pub fn save(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(WEIGHTS_FILE);
        let weights = weights::serialize(self, ("producer", "firefly"))
            .map_err(|error| StoreError::Weights { path: path.clone(), error })?;

        let header = LearnedHeader { format: WEIGHTS_FORMAT, model: MODEL.into() };
        let description = Description { header, config: self.config.clone() };
        let path = folder.join(CONFIG_FILE);
        let description =
            serde_json::to_vec_pretty(&description).map_err(|error| StoreError::Description { path, error })?;

        let failed = |error| StoreError::File { path: folder.into(), error };
        replace_files(folder, &[(WEIGHTS_FILE, &weights), (CONFIG_FILE, &description)]).map_err(failed)
    }

    /// The model that [`save`](Self::save) wrote into `folder`, on `device`.
    ///
    /// # Errors
    /// [`StoreError`] for files that are missing, truncated, of another version, or don't fit each other.
    pub fn load(folder: &Path, device: &Device) -> Result<Self, StoreError> {
        let (path, text) = read(folder, CONFIG_FILE)?;
        let described = |error| StoreError::Description { path: path.clone(), error };
        let header: LearnedHeader = serde_json::from_slice(&text).map_err(described)?;
        if header.format != WEIGHTS_FORMAT || header.model != MODEL {
            return Err(StoreError::Format { path, model: header.model, found: header.format });
        }
        let description: Description = serde_json::from_slice(&text).map_err(described)?;
        let mut model = description.config.try_init(device).map_err(|error| StoreError::Config { path, error })?;

        let (path, weights) = read(folder, WEIGHTS_FILE)?;
        match weights::apply(&mut model, weights) {
            Ok(()) => Ok(model),
            Err(ParameterMismatch::Damaged(error)) => Err(StoreError::Weights { path, error }),
            Err(ParameterMismatch::OtherModel(reason)) => Err(StoreError::OtherModel { path, reason }),
            Err(ParameterMismatch::UnknownTensor(tensor)) => Err(StoreError::UnknownTensor { path, tensor }),
            Err(ParameterMismatch::NotFinite(parameter)) => Err(StoreError::NotFinite { path, parameter }),
        }
    }
}

/// Replaces files of a folder in one step, by the protocol of this module.
fn replace_files(folder: &Path, files: &[(&str, &[u8])]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    move_committed(folder)?;
    let (staging, committed) = (folder.join(STAGING), folder.join(COMMITTED));
    if staging.exists() {
        fs::remove_dir_all(&staging)?;
    }
    fs::create_dir(&staging)?;
    for (name, bytes) in files {
        let mut file = File::create(staging.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
    }
    sync_folder(&staging)?;
    fs::rename(&staging, &committed)?;
    sync_folder(folder)?;
    move_committed(folder)
}

/// Moves committed files to their places.
fn move_committed(folder: &Path) -> io::Result<()> {
    let committed = folder.join(COMMITTED);
    if !committed.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&committed)? {
        let entry = entry?;
        fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    // The moves are durable before the folder that takes precedence is gone.
    sync_folder(folder)?;
    fs::remove_dir(&committed)?;
    sync_folder(folder)
}

/// Makes renamings in a folder durable. Windows has no handle of a folder to synchronise.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// A file of a saved model and its bytes: the committed file if there is one, else the one in its place.
fn read(folder: &Path, name: &str) -> Result<(PathBuf, Vec<u8>), StoreError> {
    let mut path = folder.join(COMMITTED).join(name);
    let mut bytes = fs::read(&path);
    if bytes.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        path = folder.join(name);
        bytes = fs::read(&path);
    }
    match bytes {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) => Err(StoreError::File { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: [(&str, &[u8]); 2] = [(WEIGHTS_FILE, b"old weights"), (CONFIG_FILE, b"old config")];
    const NEW: [(&str, &[u8]); 2] = [(WEIGHTS_FILE, b"new weights"), (CONFIG_FILE, b"new config")];

    /// Bytes that a reader gets.
    fn found(folder: &Path) -> [Vec<u8>; 2] {
        [WEIGHTS_FILE, CONFIG_FILE].map(|name| read(folder, name).unwrap().1)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes files as an interrupted save leaves them in one of its folders.
    fn leave(folder: &Path, stage: &str, files: &[(&str, &[u8])]) {
        fs::create_dir(folder.join(stage)).unwrap();
        for (name, bytes) in files {
            fs::write(folder.join(stage).join(name), bytes).unwrap();
        }
    }

    #[test]
    fn files_are_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        replace_files(folder.path(), &OLD).unwrap();
        replace_files(folder.path(), &NEW).unwrap();
        assert_eq!(found(folder.path()), [b"new weights".to_vec(), b"new config".to_vec()]);
        assert_eq!(names(folder.path()), [CONFIG_FILE, WEIGHTS_FILE]);
    }

    #[test]
    fn an_interrupted_write_leaves_the_old_files() {
        let folder = tempfile::tempdir().unwrap();
        replace_files(folder.path(), &OLD).unwrap();
        leave(folder.path(), STAGING, &NEW[..1]);
        assert_eq!(found(folder.path()), [b"old weights".to_vec(), b"old config".to_vec()]);
        replace_files(folder.path(), &NEW).unwrap();
        assert_eq!(found(folder.path()), [b"new weights".to_vec(), b"new config".to_vec()]);
        assert_eq!(names(folder.path()), [CONFIG_FILE, WEIGHTS_FILE]);
    }

    #[test]
    fn an_interrupted_move_leaves_the_new_files() {
        for moved in [&[][..], &NEW[..1], &NEW[1..], &NEW[..]] {
            let folder = tempfile::tempdir().unwrap();
            replace_files(folder.path(), &OLD).unwrap();
            leave(folder.path(), COMMITTED, &NEW);
            for (name, _) in moved {
                fs::rename(folder.path().join(COMMITTED).join(name), folder.path().join(name)).unwrap();
            }
            assert_eq!(found(folder.path()), [b"new weights".to_vec(), b"new config".to_vec()]);
            // The next save finishes the move, and is itself complete.
            replace_files(folder.path(), &OLD).unwrap();
            assert_eq!(found(folder.path()), [b"old weights".to_vec(), b"old config".to_vec()]);
            assert_eq!(names(folder.path()), [CONFIG_FILE, WEIGHTS_FILE]);
        }
    }
}
