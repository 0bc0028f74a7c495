//! Metrics of training, as JSON lines.

use std::error::Error as StdError;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::loss::LossTerms;

/// Failure to measure, write or read metrics.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The loss of a step is NaN or infinite.
    #[error("the loss is {loss} at step {step}: the samples overflow, or the learning rate is too high")]
    LossNotFinite {
        /// The loss.
        loss: f64,
        /// Steps done.
        step: usize,
    },
    /// The file can't be opened or cut to its length.
    #[error("opening {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is shorter than at the checkpoint.
    #[error("{} has {length} bytes, the checkpoint wrote {written}", path.display())]
    Shortened {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// Bytes written by the time of the checkpoint.
        written: u64,
    },
    /// The file can't be written.
    #[error("writing {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file can't be read, or a line of it is not one of metrics.
    #[error("reading {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
}

/// Metrics of a step whose loss is still on the device.
pub struct PendingPoint {
    step: usize,
    terms: LossTerms,
    validation: Option<Validated>,
}

/// Loss and recall on validation frames with hard gates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Validated {
    /// Total loss.
    pub loss: f64,
    /// Recall of the reference peaks in their bin.
    pub recall: f64,
}

/// Properties of a step that do not come from its loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepInfo {
    /// Open butterflies per frame, with hard gates.
    pub butterflies: usize,
    /// They as a share of the reference tier's.
    pub active_share: f64,
    /// Base learning rate of the step.
    pub learning_rate: f64,
    /// Mean wall time per step since the point before, in milliseconds.
    pub step_milliseconds: f64,
}

impl PendingPoint {
    /// The loss of a step; `step` counts the steps done, this one included.
    pub fn new(step: usize, terms: LossTerms) -> Self {
        Self { step, terms, validation: None }
    }

    /// Adds a validation.
    pub fn set_validation(&mut self, validated: Validated) {
        self.validation = Some(validated);
    }

    /// The loss, read back.
    ///
    /// # Errors
    /// If it is not finite.
    pub fn finite_loss(&self) -> Result<f64, MetricsError> {
        let loss = value(self.terms.total());
        if loss.is_finite() { Ok(loss) } else { Err(MetricsError::LossNotFinite { loss, step: self.step }) }
    }

    /// The point with every term read back.
    ///
    /// # Errors
    /// If the loss is not finite.
    pub fn complete(self, info: StepInfo) -> Result<TrainingPoint, MetricsError> {
        Ok(TrainingPoint {
            step: self.step,
            loss: self.finite_loss()?,
            ranking: value(self.terms.ranking),
            log_power: value(self.terms.log_power),
            price: value(self.terms.price),
            butterflies: info.butterflies,
            active_share: info.active_share,
            learning_rate: info.learning_rate,
            validation_loss: self.validation.map(|validated| validated.loss),
            validation_recall: self.validation.map(|validated| validated.recall),
            step_milliseconds: info.step_milliseconds,
        })
    }
}

fn value(tensor: Tensor<1>) -> f64 {
    f64::from(tensor.into_scalar::<f32>())
}

/// The state of training at one step: one line of metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingPoint {
    /// Steps done.
    pub step: usize,
    /// Total loss of the step.
    pub loss: f64,
    /// Its ranking term.
    pub ranking: f64,
    /// Its log-power term.
    pub log_power: f64,
    /// Its price term.
    pub price: f64,
    /// Open butterflies per frame, with hard gates.
    pub butterflies: usize,
    /// They as a share of the reference tier's.
    pub active_share: f64,
    /// Base learning rate of the step.
    pub learning_rate: f64,
    /// Loss on validation frames with hard gates, at the steps that measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Recall on validation frames with hard gates, at the steps that measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_recall: Option<f64>,
    /// Mean wall time per step since the line before, without validation and checkpoints, in milliseconds.
    pub step_milliseconds: f64,
}

/// A file of metrics that is appended to.
pub struct MetricsLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl MetricsLog {
    /// Opens the file, or makes it, and cuts it to the bytes written by the time of a checkpoint.
    ///
    /// # Errors
    /// If it can't be opened, or is shorter than that.
    pub fn open(path: &Path, written: u64) -> Result<Self, MetricsError> {
        let failed = |source| MetricsError::Open { path: path.into(), source };
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length < written {
            return Err(MetricsError::Shortened { path: path.into(), length, written });
        }
        file.set_len(written).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { path: path.into(), file: BufWriter::new(file) })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn append(&mut self, point: &TrainingPoint) -> Result<(), MetricsError> {
        let written = serde_json::to_writer(&mut self.file, point).map_err(io::Error::from);
        let written = written.and_then(|()| self.file.write_all(b"\n")).and_then(|()| self.file.flush());
        written.map_err(|source| MetricsError::Write { path: self.path.clone(), source })
    }

    /// Syncs the file to disk; returns its length in bytes.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn sync(&mut self) -> Result<u64, MetricsError> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        let length = synced.and_then(|()| self.file.stream_position());
        length.map_err(|source| MetricsError::Write { path: self.path.clone(), source })
    }
}

/// Every line of a file of metrics.
///
/// # Errors
/// If the file can't be read, or a line is not one of metrics.
pub fn read(path: &Path) -> Result<Vec<TrainingPoint>, MetricsError> {
    let lines = || -> Result<_, Box<dyn StdError + Send + Sync>> {
        BufReader::new(File::open(path)?).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
    };
    lines().map_err(|source| MetricsError::Read { path: path.into(), source })
}
