//! Records of cases: key, outcome, figures and their order statistics.

#![allow(missing_docs, reason = "bench/SCHEMA.md describes the fields of reports")]

use firefly_framework::cost::{Benefit, FusionDecision, Prediction};
use firefly_framework::movement::DataMovement;
use serde::{Deserialize, Serialize};

use super::{Accuracy, CaseError, ParameterMap, Selected, Verification};

/// Parameters of a problem that follow from the others: labels omit them.
pub const DERIVED: [&str; 2] = ["hop", "frame"];

/// Record of a case. Problem, strategy, device, instruction set and threads are its key, unique in a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    pub problem: ParameterMap,
    pub strategy: String,
    pub device: String,
    pub instruction_set: Option<String>,
    pub threads: usize,
    pub competes: bool,
    pub outcome: CaseOutcome,
}

/// Outcome of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CaseOutcome {
    Measured(Box<Measured>),
    Bounded(BatchLimit),
    Failed { error: String },
    Unsupported { reason: String },
}

/// Figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub verification: Verification,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "movement")]
    pub traffic: Option<Box<PhaseTraffic>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    pub input_sets: usize,
    pub samples_ns: Vec<u64>,
    pub time_ns: Percentiles,
    pub ns_per_row: f64,
    pub rows_per_second: f64,
    pub useful_gb_per_second: f64,
    pub speed: Vec<SpeedRatio>,
}

/// Largest batch that is safe in one call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchLimit {
    pub batch: u64,
    pub limited_by: LimitedBy,
    pub bytes_per_row: u64,
    pub free_bytes: Option<u64>,
    pub proven_batch: u64,
    pub verification: Option<Verification>,
}

/// Limit of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    Memory,
    InputSize,
}

impl LimitedBy {
    pub(crate) const fn name(self) -> &'static str {
        if let Self::Memory = self { "memory" } else { "input size" }
    }
}

/// Speed relative to another case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeedRatio {
    #[serde(rename = "than")]
    pub baseline: String,
    pub ratio: Percentiles,
}

/// Data movement per run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseTraffic {
    pub io: DataMovement,
    pub bytes_read: u64,
    pub peak_bytes: u64,
    pub prediction: Prediction,
    pub predicted_ns: f64,
    pub saved: Option<Benefit>,
    pub decision: Option<FusionDecision>,
}

impl CaseRecord {
    /// The figures of a measured case.
    pub fn measured(&self) -> Option<&Measured> {
        if let CaseOutcome::Measured(measured) = &self.outcome { Some(measured) } else { None }
    }

    /// The key as text, without parameters that follow from others.
    pub fn label(&self) -> String {
        format!("{}: {}", self.problem.without(&DERIVED), self.configuration())
    }

    /// The part of the key that is not the problem, as text.
    pub fn configuration(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        let set = self.instruction_set.as_ref().map(|set| format!(" {set}")).unwrap_or_default();
        format!("{}{set} on {}, {} thread{plural}", self.strategy, self.device, self.threads)
    }
}

impl CaseOutcome {
    /// A failed case.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into() }
    }

    /// A case that can't be run here.
    pub fn unsupported(reason: impl ToString) -> Self {
        Self::Unsupported { reason: reason.to_string() }
    }

    /// The text that tables show in place of times.
    pub fn remark(&self) -> String {
        match self {
            Self::Measured(_) => "measured".into(),
            Self::Bounded(limit) => format!("at most {}, limited by {}", limit.batch, limit.limited_by.name()),
            Self::Failed { error } => format!("FAILED: {error}"),
            Self::Unsupported { reason } => format!("unsupported: {reason}"),
        }
    }
}

impl From<CaseError> for CaseOutcome {
    fn from(error: CaseError) -> Self {
        match error {
            CaseError::Unsupported(reason) => Self::Unsupported { reason },
            CaseError::Failed(error) => Self::failed(error.to_string()),
        }
    }
}

impl Measured {
    /// Figures computed from the times of the iterations, of so many rows per run and bytes that any strategy has to
    /// move; none without times.
    pub fn new(
        [rows, useful_bytes]: [usize; 2],
        verification: Verification,
        input_sets: usize,
        samples_ns: Vec<u64>,
    ) -> Option<Self> {
        let time_ns = Percentiles::of(samples_ns.iter().map(|&sample| sample as f64))?;
        // A clock too coarse for the work would give zero.
        let median = time_ns.median.max(1.0);
        Some(Self {
            verification,
            accuracy: None,
            traffic: None,
            selected: None,
            input_sets,
            samples_ns,
            time_ns,
            ns_per_row: median / rows as f64,
            rows_per_second: 1e9 * rows as f64 / median,
            useful_gb_per_second: useful_bytes as f64 / median,
            speed: Vec::new(),
        })
    }

    /// Speed relative to the case of that name.
    pub fn speed_over(&self, name: &str) -> Option<&Percentiles> {
        self.speed.iter().find(|speed| speed.baseline == name).map(|speed| &speed.ratio)
    }
}

/// Percentiles of samples, with the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    pub min: f64,
    pub max: f64,
}

impl Percentiles {
    /// Percentiles of `samples`; none without samples.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            p10: quantile(&sorted, 0.1)?,
            p90: quantile(&sorted, 0.9)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }

    /// Whether this can be percentiles of nanoseconds: finite, not negative, at most the age of the universe, in order.
    pub fn is_time(&self) -> bool {
        let Self { median, p10, p90, min, max } = *self;
        let ordered = [0.0, min, p10, median, p90, max, 1e27];
        ordered.windows(2).all(|pair| pair[0] <= pair[1])
    }

    /// Speed relative to `baseline`: percentiles of the quotients, iteration by iteration, of two runs that took turns.
    /// Times in nanoseconds.
    pub fn of_speed_ratio(baseline: &[u64], own: &[u64]) -> Option<Self> {
        Self::of(baseline.iter().zip(own).map(|(&baseline, &own)| baseline as f64 / own.max(1) as f64))
    }
}

/// Quantile of sorted samples, interpolated linearly between neighbours (definition 7 of Hyndman and Fan, "Sample
/// quantiles in statistical packages", The American Statistician 50, 1996).
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let position = share * sorted.len().checked_sub(1)? as f64;
    let below = position.floor();
    let upper = sorted[position.ceil() as usize];
    let lower = sorted[below as usize];
    Some(lower + (position - below) * (upper - lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_the_median() {
        let verification = Verification { rows: 1, tolerance: 1e-6, error: 0.0, ranking: None };
        let size = [1000, 1_664_000];
        let measured = Measured::new(size, verification, 4, vec![200_000, 100_000, 900_000]).unwrap();
        assert_eq!((measured.time_ns.median, measured.ns_per_row, measured.rows_per_second), (2e5, 200.0, 5e6));
        assert_eq!(measured.useful_gb_per_second, 1_664_000.0 / 200_000.0);
        assert_eq!(Measured::new(size, verification, 4, vec![]), None);
    }

    #[test]
    fn outcomes_say_their_status() {
        let text = serde_json::to_string(&CaseOutcome::Unsupported { reason: "too large".into() }).unwrap();
        assert_eq!(text, r#"{"status":"unsupported","reason":"too large"}"#);
        assert!(matches!(serde_json::from_str(&text).unwrap(), CaseOutcome::Unsupported { .. }));
    }

    #[test]
    fn quantiles_interpolate() {
        let odd = Percentiles::of((0..=10).rev().map(f64::from)).unwrap();
        assert_eq!(odd, Percentiles { median: 5.0, p10: 1.0, p90: 9.0, min: 0.0, max: 10.0 });
        let even = Percentiles::of([4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!(even.median, 2.5);
        assert!((even.p10 - 1.3).abs() < 1e-12 && (even.p90 - 3.7).abs() < 1e-12);
    }

    #[test]
    fn one_sample_is_its_own_spread_and_none_has_none() {
        assert_eq!(Percentiles::of([7.0]), Some(Percentiles { median: 7.0, p10: 7.0, p90: 7.0, min: 7.0, max: 7.0 }));
        assert_eq!(Percentiles::of([]), None);
    }

    #[test]
    fn a_ratio_is_taken_iteration_by_iteration() {
        // A disturbance that hits both in one iteration leaves their ratio alone.
        let ratio = Percentiles::of_speed_ratio(&[10, 1000, 10], &[5, 500, 5]).unwrap();
        assert_eq!((ratio.min, ratio.median, ratio.max), (2.0, 2.0, 2.0));
        assert_eq!(Percentiles::of_speed_ratio(&[3], &[0]).unwrap().median, 3.0);
    }
}
