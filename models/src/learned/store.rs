//! Weights on disk: `model.safetensors` and the `config.json` that says what they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use burn_store::{ModuleSnapshot, SafetensorsStore};
use firefly_framework::files::write_atomically;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use firefly_ops::ArgumentError;

use super::config::LearnedWelchPeaksConfig;
use super::module::LearnedWelchPeaks;

/// The version of the weights' layout; a file of another version is refused.
pub const WEIGHTS_FORMAT: u32 = 1;

const MODEL: &str = "learned_welch_peaks";
const CONFIG_FILE: &str = "config.json";
const WEIGHTS_FILE: &str = "model.safetensors";

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    model: String,
}

#[derive(Serialize, Deserialize)]
struct Description {
    #[serde(flatten)]
    header: Header,
    config: LearnedWelchPeaksConfig,
}

/// Why a model can't be saved or loaded.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A file can't be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// `config.json` is not what was written there.
    #[error("{path}: not a model description: {error}")]
    Description {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: serde_json::Error,
    },
    /// The files were written in another layout.
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
        /// What is wrong.
        error: ArgumentError,
    },
    /// The weights are damaged, or not those of the configuration.
    #[error("{path}: {reason}")]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl LearnedWelchPeaks {
    /// Writes `config.json` and `model.safetensors` into `folder`, each whole or not at all.
    ///
    /// # Errors
    /// [`StoreError`] if a file can't be written.
    pub fn save(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(WEIGHTS_FILE);
        fs::create_dir_all(folder).map_err(|error| StoreError::File { path: folder.into(), error })?;
        let mut store = SafetensorsStore::from_file(&path)
            .overwrite(true)
            // One entry: several would come in an order of their own each time, and the same weights be other bytes.
            .clear_metadata()
            .metadata("producer", "firefly");
        self.save_into(&mut store)
            .map_err(|error| StoreError::Weights { path: path.clone(), reason: error.to_string() })?;
        let header = Header { format: WEIGHTS_FORMAT, model: MODEL.into() };
        let description = Description { header, config: self.config.clone() };
        let path = folder.join(CONFIG_FILE);
        let text = serde_json::to_vec_pretty(&description)
            .map_err(|error| StoreError::Description { path: path.clone(), error })?;
        write_atomically(&path, &text).map_err(|error| StoreError::File { path, error })
    }

    /// Reads a model that [`save`](Self::save) wrote into `folder`.
    ///
    /// # Errors
    /// [`StoreError`] for files that are missing, truncated, of another version, or don't fit each other.
    pub fn load(folder: &Path, device: &Device) -> Result<Self, StoreError> {
        let path = folder.join(CONFIG_FILE);
        let text = fs::read(&path).map_err(|error| StoreError::File { path: path.clone(), error })?;
        let described = |error| StoreError::Description { path: path.clone(), error };
        let header: Header = serde_json::from_slice(&text).map_err(described)?;
        if header.format != WEIGHTS_FORMAT || header.model != MODEL {
            return Err(StoreError::Format { path, model: header.model, found: header.format });
        }
        let description: Description = serde_json::from_slice(&text).map_err(described)?;
        let mut model = description.config.init(device).map_err(|error| StoreError::Config { path, error })?;

        let path = folder.join(WEIGHTS_FILE);
        fs::metadata(&path).map_err(|error| StoreError::File { path: path.clone(), error })?;
        let failed = |reason: String| StoreError::Weights { path: path.clone(), reason };
        let result =
            model.load_from(&mut SafetensorsStore::from_file(&path)).map_err(|error| failed(error.to_string()))?;
        if let Some(unused) = result.unused.first() {
            return Err(failed(format!("holds `{unused}`, which the model has no place for")));
        }
        let parameters = [
            ("taper", is_finite(model.taper.val())),
            ("twiddles", is_finite(model.twiddles.val())),
            ("gate_logits", is_finite(model.gate_logits.val())),
            ("segment_logits", is_finite(model.segment_logits.val())),
            ("log_gain", is_finite(model.log_gain.val())),
        ];
        match parameters.iter().find(|(_, finite)| !finite) {
            Some((name, _)) => Err(failed(format!("`{name}` holds a number that is not finite"))),
            None => Ok(model),
        }
    }
}

fn is_finite<const D: usize>(tensor: Tensor<D>) -> bool {
    tensor.into_data().iter::<f32>().all(f32::is_finite)
}
