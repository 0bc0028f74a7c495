//! What training measured, as JSON lines.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::loss::Terms;

/// A step's terms, still on the device.
pub struct PendingPoint {
    step: usize,
    terms: Terms,
    validation: Option<(f64, f64)>,
}

impl PendingPoint {
    /// The terms of a step.
    pub fn at(step: usize, terms: Terms) -> Self {
        Self { step, terms, validation: None }
    }

    /// Adds the loss and recall on validation frames.
    pub fn validated(&mut self, loss: f64, recall: f64) {
        self.validation = Some((loss, recall));
    }

    /// Checks that training has not broken down.
    ///
    /// # Errors
    /// If the loss is not finite.
    pub fn check(&self) -> Result<f64> {
        let loss = value(self.terms.total());
        ensure!(
            loss.is_finite(),
            "the loss is {loss} at step {}: the samples overflow, or the learning rate is too high",
            self.step
        );
        Ok(loss)
    }

    /// Reads everything back, with what the model's hard gates come to and how the step was taken.
    ///
    /// # Errors
    /// If the loss is not finite.
    pub fn complete(
        self,
        butterflies: usize,
        active_share: f64,
        learning_rate: f64,
        step_milliseconds: f64,
    ) -> Result<TrainingPoint> {
        Ok(TrainingPoint {
            step: self.step,
            loss: self.check()?,
            ranking: value(self.terms.ranking),
            log_power: value(self.terms.log_power),
            price: value(self.terms.price),
            butterflies,
            active_share,
            learning_rate,
            validation_loss: self.validation.map(|(loss, _)| loss),
            validation_recall: self.validation.map(|(_, recall)| recall),
            step_milliseconds,
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
    /// Open butterflies of a frame, with hard gates.
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
    /// Mean wall time of a step since the line before, without validation and checkpoints.
    pub step_milliseconds: f64,
}

/// A file of metrics that is appended to.
pub struct MetricsLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl MetricsLog {
    /// Opens the file and cuts it to the `bytes` that a checkpoint knows of.
    ///
    /// # Errors
    /// If it can't be opened, or is shorter than that.
    pub fn open(path: &Path, bytes: u64) -> Result<Self> {
        let opening = || format!("opening {}", path.display());
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).with_context(opening)?;
        let length = file.metadata().with_context(opening)?.len();
        ensure!(length >= bytes, "{} has {length} bytes, the checkpoint wrote {bytes}", path.display());
        file.set_len(bytes).with_context(opening)?;
        file.seek(SeekFrom::End(0)).with_context(opening)?;
        Ok(Self { path: path.into(), file: BufWriter::new(file) })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn append(&mut self, line: &TrainingPoint) -> Result<()> {
        let writing = || format!("writing {}", self.path.display());
        serde_json::to_writer(&mut self.file, line).with_context(writing)?;
        self.file.write_all(b"\n").and_then(|()| self.file.flush()).with_context(writing)
    }

    /// Makes the lines last; returns the bytes of them all.
    ///
    /// # Errors
    /// If they can't be written.
    pub fn sync(&mut self) -> Result<u64> {
        let writing = || format!("writing {}", self.path.display());
        self.file.flush().with_context(writing)?;
        self.file.get_ref().sync_all().with_context(writing)?;
        self.file.stream_position().with_context(writing)
    }
}

/// Every line of a file of metrics.
///
/// # Errors
/// If a line is not one of metrics.
pub fn read(path: &Path) -> Result<Vec<TrainingPoint>> {
    let reading = || format!("reading {}", path.display());
    let file = BufReader::new(File::open(path).with_context(reading)?);
    let parse = |line: std::io::Result<String>| anyhow::Ok(serde_json::from_str(&line.with_context(reading)?)?);
    file.lines().map(|line| parse(line).with_context(reading)).collect()
}
