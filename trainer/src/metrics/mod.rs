//! Metrics of training, as JSON lines.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use burn::tensor::Tensor;
use firefly_app::files::write_atomically;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Failure to measure, write or read metrics.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum MetricsError {
    #[error("the loss is {loss} at step {step}: try a lower learning rate")]
    LossNotFinite { loss: f64, step: usize },
    #[error("opening {}", .0.display())]
    Open(PathBuf, #[source] io::Error),
    #[error("{} is gone: was the run's folder moved or removed?", .0.display())]
    Gone(PathBuf),
    #[error("writing {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error("reading {}", .0.display())]
    Read(PathBuf, #[source] Box<dyn StdError + Send + Sync>),
}

/// The loss of one batch, still on the device.
#[derive(Debug, Clone)]
pub struct StepLoss {
    /// The loss, `[1]`.
    pub total: Tensor<1>,
    /// Its terms by their names in the metrics, `[1]` each, as they enter the total; empty where there is but one.
    pub terms: Vec<(&'static str, Tensor<1>)>,
}

impl StepLoss {
    /// A loss of a single term.
    pub fn single(total: Tensor<1>) -> Self {
        Self { total, terms: Vec::new() }
    }

    /// The loss times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        self.map(|tensor| tensor * factor)
    }

    /// The loss without its graph.
    #[must_use]
    pub fn detached(self) -> Self {
        self.map(Tensor::detach)
    }

    /// The sum of two losses of the same terms.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let terms = self.terms.into_iter().zip(other.terms);
        Self { total: self.total + other.total, terms: terms.map(|((name, a), (_, b))| (name, a + b)).collect() }
    }

    fn map(self, change: impl Fn(Tensor<1>) -> Tensor<1>) -> Self {
        let terms = self.terms.into_iter().map(|(name, term)| (name, change(term))).collect();
        Self { total: change(self.total), terms }
    }
}

/// Metrics of a step whose loss is still on the device.
pub struct PendingPoint {
    step: usize,
    losses: Vec<StepLoss>,
    /// Validation after the step, if there is one.
    pub validation: Option<Validation>,
}

impl PendingPoint {
    /// The loss of a step as the sum of those of each device; `step` counts the steps done, this one included.
    pub fn new(step: usize, losses: Vec<StepLoss>) -> Self {
        Self { step, losses, validation: None }
    }

    /// The loss, read back. An error if it is not finite.
    pub fn finite_loss(&self) -> Result<f64, MetricsError> {
        let loss = self.sum(|loss| loss.total.clone());
        if loss.is_finite() { Ok(loss) } else { Err(MetricsError::LossNotFinite { loss, step: self.step }) }
    }

    /// Sum over the devices of a value of their losses, read back.
    fn sum(&self, of: impl Fn(&StepLoss) -> Tensor<1>) -> f64 {
        self.losses.iter().map(|loss| f64::from(of(loss).into_scalar::<f32>())).sum()
    }

    /// The point with every term read back, with the properties of the model, the base learning rate and the mean wall
    /// time per step since the point before. An error if the loss is not finite.
    pub fn complete(
        self,
        properties: Vec<Metric>,
        learning_rate: f64,
        step_milliseconds: f64,
    ) -> Result<TrainingPoint, MetricsError> {
        let loss = self.finite_loss()?;
        let names = self.losses.first().into_iter().flat_map(|loss| &loss.terms).map(|(name, _)| *name);
        let term =
            |(place, name): (usize, &'static str)| Metric::real(name, self.sum(|loss| loss.terms[place].1.clone()));
        let metrics = names.enumerate().map(term).chain(properties).collect();
        Ok(TrainingPoint {
            step: self.step,
            loss,
            metrics,
            learning_rate,
            validation: self.validation,
            step_milliseconds,
        })
    }
}

/// A file of metrics that is appended to.
pub struct MetricsLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl MetricsLog {
    /// Opens the file, or makes it, and cuts it to the bytes written by the time of a checkpoint. An error if it can't
    /// be opened.
    pub fn open(path: &Path, written: u64) -> Result<Self, MetricsError> {
        let failed = |source| MetricsError::Open(path.into(), source);
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
        file.set_len(written).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { path: path.into(), file: BufWriter::new(file) })
    }

    /// Adds a line. An error if it can't be written, or the file was moved or removed.
    pub fn append(&mut self, point: &TrainingPoint) -> Result<(), MetricsError> {
        if !self.path.exists() {
            return Err(MetricsError::Gone(self.path.clone()));
        }
        let written = serde_json::to_writer(&mut self.file, point).map_err(io::Error::from);
        let written = written.and_then(|()| self.file.write_all(b"\n")).and_then(|()| self.file.flush());
        written.map_err(|source| MetricsError::Write(self.path.clone(), source))
    }

    /// Syncs the file to disk; returns its length in bytes. An error if it can't be written.
    pub fn sync(&mut self) -> Result<u64, MetricsError> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        let length = synced.and_then(|()| self.file.stream_position());
        length.map_err(|source| MetricsError::Write(self.path.clone(), source))
    }
}

/// Length, in bytes, of the part of a metrics file that belongs to a checkpoint, at which the file had `written` bytes.
/// A damaged file is replaced by its readable lines, which have another length. An error if the file can't be read, or
/// can't be replaced.
pub fn repair(path: &Path, written: u64) -> Result<u64, MetricsError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|source| MetricsError::Open(path.into(), source))?,
    };
    let length = usize::try_from(written).unwrap_or(usize::MAX).min(bytes.len());
    let lines: Vec<&[u8]> = bytes[..length].split_inclusive(|byte| *byte == b'\n').collect();
    let is_whole = |line: &&&[u8]| line.ends_with(b"\n") && serde_json::from_slice::<TrainingPoint>(line).is_ok();
    let whole: Vec<&[u8]> = lines.iter().filter(is_whole).copied().collect();
    if length as u64 == written && whole.len() == lines.len() {
        return Ok(written);
    }
    let kept = whole.concat();
    write_atomically(path, &kept).map_err(|source| MetricsError::Write(path.into(), source))?;
    Ok(kept.len() as u64)
}

/// Every line of a file of metrics. An error if the file can't be read, or a line is not one of metrics.
pub fn read(path: &Path) -> Result<Vec<TrainingPoint>, MetricsError> {
    let lines = || -> Result<_, Box<dyn StdError + Send + Sync>> {
        BufReader::new(File::open(path)?).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
    };
    lines().map_err(|source| MetricsError::Read(path.into(), source))
}

/// Beginning of the names of what a validation measures.
const VALIDATION: &str = "validation_";

/// Value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MetricValue {
    /// A count.
    Whole(u64),
    /// A measured number.
    Real(f64),
}

impl MetricValue {
    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Whole(count) => count as f64,
            Self::Real(number) => number,
        }
    }
}

/// A named number.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The name, in snake case.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: MetricValue,
}

impl Metric {
    /// A count.
    pub fn whole(name: &'static str, count: usize) -> Self {
        Self { name: name.into(), value: MetricValue::Whole(count as u64) }
    }

    /// A measured number.
    pub fn real(name: &'static str, number: f64) -> Self {
        Self { name: name.into(), value: MetricValue::Real(number) }
    }
}

/// The state of training at one step: one line of metrics.
///
/// As JSON it is one object: `step`, `loss`, the metrics, `learning_rate`, `validation_loss` and the validation's
/// metrics, `step_milliseconds`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrainingPoint {
    /// Steps done.
    pub step: usize,
    /// Total loss of the step.
    pub loss: f64,
    /// Terms of the loss and properties of the model.
    pub metrics: Vec<Metric>,
    /// Base learning rate of the step.
    pub learning_rate: f64,
    /// Validation, at the steps that validated.
    pub validation: Option<Validation>,
    /// Mean wall time per step since the line before, without validation and checkpoints, in milliseconds.
    pub step_milliseconds: f64,
}

/// Result of a validation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// Total loss, which early stopping compares.
    pub loss: f64,
    /// Further metrics of the task.
    pub metrics: Vec<Metric>,
}

impl Validation {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<f64> {
        value_of(&self.metrics, name)
    }
}

fn value_of(metrics: &[Metric], name: &str) -> Option<f64> {
    metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value.as_f64())
}

impl TrainingPoint {
    /// The metric of this name, with `validation_` before it for one of the validation.
    pub fn metric(&self, name: &str) -> Option<f64> {
        match (name.strip_prefix(VALIDATION), &self.validation) {
            (Some("loss"), Some(validation)) => Some(validation.loss),
            (Some(name), Some(validation)) => validation.metric(name),
            (Some(_), None) => None,
            (None, _) => value_of(&self.metrics, name),
        }
    }

    /// Loss with its terms, time and validation on one line. `properties` are put between the terms and the time.
    pub fn description(&self, terms: &[(&'static str, &'static str)], properties: &[String]) -> String {
        let is_term = |metric: &&Metric| terms.iter().any(|(name, _)| *name == metric.name);
        let named = |metric: &Metric, digits: usize| {
            format!("{} {:.digits$}", metric.name.replace('_', " "), metric.value.as_f64())
        };
        let terms: Vec<String> = self.metrics.iter().filter(is_term).map(|metric| named(metric, 4)).collect();
        let mut parts = vec![match terms.is_empty() {
            true => format!("loss {}", loss_text(self.loss)),
            false => format!("loss {} ({})", loss_text(self.loss), terms.join(", ")),
        }];
        parts.extend_from_slice(properties);
        parts.push(format!("{:.2} ms per step", self.step_milliseconds));
        if let Some(validation) = &self.validation {
            let others: String = validation.metrics.iter().map(|metric| format!(", {}", named(metric, 3))).collect();
            parts.push(format!("validation loss {}{others}", loss_text(validation.loss)));
        }
        parts.join("  ")
    }
}

/// A loss with four decimals, or as many significant digits where it is small.
fn loss_text(loss: f64) -> String {
    if loss != 0.0 && loss.abs() < 1e-3 { format!("{loss:.3e}") } else { format!("{loss:.4}") }
}

impl Serialize for TrainingPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("step", &self.step)?;
        map.serialize_entry("loss", &self.loss)?;
        for metric in &self.metrics {
            map.serialize_entry(&metric.name, &metric.value)?;
        }
        map.serialize_entry("learning_rate", &self.learning_rate)?;
        if let Some(validation) = &self.validation {
            map.serialize_entry("validation_loss", &validation.loss)?;
            for metric in &validation.metrics {
                map.serialize_entry(&format!("{VALIDATION}{}", metric.name), &metric.value)?;
            }
        }
        map.serialize_entry("step_milliseconds", &self.step_milliseconds)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for TrainingPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PointVisitor)
    }
}

struct PointVisitor;

impl<'de> Visitor<'de> for PointVisitor {
    type Value = TrainingPoint;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TrainingPoint, A::Error> {
        let mut point = TrainingPoint::default();
        let (mut step, mut loss) = (None, None);
        while let Some((name, value)) = map.next_entry::<String, MetricValue>()? {
            match (name.as_str(), value) {
                ("step", MetricValue::Whole(count)) => step = usize::try_from(count).ok(),
                ("loss", value) => loss = Some(value.as_f64()),
                ("learning_rate", value) => point.learning_rate = value.as_f64(),
                ("step_milliseconds", value) => point.step_milliseconds = value.as_f64(),
                _ => match name.strip_prefix(VALIDATION) {
                    None => point.metrics.push(Metric { name: name.into(), value }),
                    Some("loss") => point.validation.get_or_insert_default().loss = value.as_f64(),
                    Some(of_validation) => {
                        let metric = Metric { name: of_validation.to_owned().into(), value };
                        point.validation.get_or_insert_default().metrics.push(metric);
                    }
                },
            }
        }
        point.step = step.ok_or_else(|| A::Error::missing_field("step"))?;
        point.loss = loss.ok_or_else(|| A::Error::missing_field("loss"))?;
        Ok(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: usize) -> String {
        serde_json::to_string(&TrainingPoint { step, ..TrainingPoint::default() }).unwrap() + "\n"
    }

    #[test]
    fn a_damaged_file_keeps_the_lines_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (first, second) = (line(1), line(2));
        let whole = first.clone() + &second;
        let written = whole.len() as u64;
        fs::write(&path, whole.clone() + &line(3)).unwrap();
        assert_eq!(repair(&path, written).unwrap(), written);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3, "an undamaged file is not changed");

        for damaged in [whole[..whole.len() - 4].to_string(), whole.clone() + "{", whole.replace("\"step\":2", "x")] {
            fs::write(&path, &damaged).unwrap();
            let written = damaged.len().max(whole.len()) as u64;
            let kept = repair(&path, written).unwrap();
            assert!(kept == first.len() as u64 || damaged.ends_with('{') && kept == whole.len() as u64);
            assert_eq!(fs::metadata(&path).unwrap().len(), kept);
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(repair(&path, written).unwrap(), 0, "a missing file starts empty");
    }

    #[test]
    fn a_file_that_was_moved_is_not_written_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut log = MetricsLog::open(&path, 0).unwrap();
        log.append(&TrainingPoint::default()).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(matches!(log.append(&TrainingPoint::default()), Err(MetricsError::Gone(_))));
    }

    #[test]
    fn a_point_survives_its_line_with_the_order_of_its_keys() {
        let validation = Validation { loss: 0.5, metrics: vec![Metric::real("recall", 0.25)] };
        let point = TrainingPoint {
            step: 7,
            loss: 1.5,
            metrics: vec![Metric::real("price", 0.125), Metric::whole("butterflies", 12)],
            learning_rate: 0.03,
            validation: Some(validation),
            step_milliseconds: 2.0,
        };
        let line = serde_json::to_string(&point).unwrap();
        let expected = "{\"step\":7,\"loss\":1.5,\"price\":0.125,\"butterflies\":12,\"learning_rate\":0.03,\
                        \"validation_loss\":0.5,\"validation_recall\":0.25,\"step_milliseconds\":2.0}";
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<TrainingPoint>(&line).unwrap(), point);
        assert_eq!((point.metric("butterflies"), point.metric("validation_recall")), (Some(12.0), Some(0.25)));
        assert!(serde_json::from_str::<TrainingPoint>("{\"step\":7}").is_err(), "a point has a loss");
    }

    #[test]
    fn a_point_is_described_on_one_line() {
        let point = TrainingPoint { loss: 2.0, metrics: vec![Metric::real("log_power", 0.5)], ..Default::default() };
        let described = point.description(&[("log_power", "log power")], &["active 10.0%".into()]);
        assert_eq!(described, "loss 2.0000 (log power 0.5000)  active 10.0%  0.00 ms per step");
    }
}
