//! How a case went: its key, its outcome and its figures.

use serde::{Deserialize, Serialize};

use super::movement::Movement;
use super::parameters::Parameters;
use super::problem::Size;
use super::statistics::Spread;
use super::verification::{Accuracy, Verification};

/// Parameters of a problem that follow from the others: labels do without them.
pub const DERIVED: [&str; 3] = ["segments", "hop", "frame"];

/// One case. Problem, strategy, device, instruction set and threads are its key: no two cases of a report share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// What is computed, such as `n_fft`, `tier`, `batch` and `k`.
    pub problem: Parameters,
    /// How it is computed.
    pub strategy: String,
    /// On which device. Host strategies run beside it.
    pub device: String,
    /// The instruction set of the kernels that ran; none where it is not known.
    pub instruction_set: Option<String>,
    /// Host threads that may be used.
    pub threads: usize,
    /// Whether it computes what the others compute, so that the fastest of them can be asked for: false for a bound such as
    /// a copy of the input, and for what computes another result.
    pub competes: bool,
    /// How it went.
    pub outcome: Outcome,
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Verified and timed.
    Measured(Box<Measured>),
    /// A bound was computed, and proven as far as it says.
    Bounded(Limit),
    /// The result is wrong, or there is none.
    Failed {
        /// What went wrong.
        error: String,
    },
    /// The case can't be run.
    Unsupported {
        /// Why.
        reason: String,
    },
}

/// A case's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What the comparison with the float64 reference found.
    pub verification: Verification,
    /// How well a learned computation does what it was trained for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
    /// What it moves, and how long that was predicted to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movement: Option<Box<Movement>>,
    /// Input sets the iterations went through in turn.
    pub input_sets: usize,
    /// Time of every iteration after the warm-up, in order, in nanoseconds.
    pub samples_ns: Vec<u64>,
    /// Their middle and spread.
    pub time_ns: Spread,
    /// Median nanoseconds of a row.
    pub ns_per_row: f64,
    /// Rows in a second, at the median.
    pub rows_per_second: f64,
    /// 10⁹ bytes in a second, at the median: those that have to move whatever the strategy.
    pub useful_gb_per_second: f64,
    /// How many times as fast as other cases of the same problem that were measured in the same loop.
    pub speed: Vec<Speed>,
}

/// The largest batch that is safe in one call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Rows.
    pub batch: u64,
    /// What a larger batch would exceed.
    pub limited_by: Bound,
    /// Bytes that a row's input and output take.
    pub bytes_per_row: u64,
    /// Bytes of memory that were free; none where that is not known.
    pub free_bytes: Option<u64>,
    /// Rows that were run and checked; 0 if none.
    pub proven_batch: u64,
    /// What the comparison of those with the float64 reference found.
    pub verification: Option<Verification>,
}

/// What a larger batch would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The memory that is free.
    Memory,
    /// What one allocation can hold and an index can reach.
    IndexRange,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::IndexRange => "index range",
        })
    }
}

/// A comparison with another case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// The other case: the name of its strategy, or `1 thread` for the same strategy on fewer threads.
    pub than: String,
    /// Its time divided by this case's, in the same iteration.
    pub ratio: Spread,
}

impl CaseRecord {
    /// The case's figures, if it was measured.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Bounded(_) | Outcome::Failed { .. } | Outcome::Unsupported { .. } => None,
        }
    }

    /// Whether the two have the same key.
    pub fn has_key_of(&self, other: &Self) -> bool {
        self.problem == other.problem
            && self.strategy == other.strategy
            && self.device == other.device
            && self.instruction_set == other.instruction_set
            && self.threads == other.threads
    }

    /// The key in words, without what follows from the rest of it.
    pub fn label(&self) -> String {
        format!("{}: {}", self.problem.without(&DERIVED), self.way())
    }

    /// How and on what the case was computed: the part of the key that is not the problem.
    pub fn way(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        let set = self.instruction_set.as_ref().map(|set| format!(" {set}")).unwrap_or_default();
        format!("{}{set} on {}, {} thread{plural}", self.strategy, self.device, self.threads)
    }
}

impl Outcome {
    /// A case that went wrong.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into() }
    }

    /// What is said in place of times.
    pub fn remark(&self) -> String {
        match self {
            Self::Measured(_) => "measured".into(),
            Self::Bounded(limit) => format!("at most {}, limited by {}", limit.batch, limit.limited_by),
            Self::Failed { error } => format!("FAILED: {error}"),
            Self::Unsupported { reason } => format!("unsupported: {reason}"),
        }
    }
}

impl Measured {
    /// The figures that follow from an iteration's times; none if there are no times.
    pub fn new(size: Size, verification: Verification, input_sets: usize, samples_ns: Vec<u64>) -> Option<Self> {
        let time_ns = Spread::of(samples_ns.iter().map(|&sample| sample as f64))?;
        // A clock too coarse for the work would give zero.
        let median = time_ns.median.max(1.0);
        Some(Self {
            verification,
            accuracy: None,
            movement: None,
            input_sets,
            samples_ns,
            time_ns,
            ns_per_row: median / size.rows as f64,
            rows_per_second: 1e9 * size.rows as f64 / median,
            useful_gb_per_second: size.useful_bytes as f64 / median,
            speed: Vec::new(),
        })
    }

    /// How many times as fast as the case of that name.
    pub fn speed_than(&self, name: &str) -> Option<&Spread> {
        self.speed.iter().find(|speed| speed.than == name).map(|speed| &speed.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_the_median() {
        let verification = Verification { rows: 1, tolerance: 1e-6, error: 0.0, ranking: None };
        let size = Size { rows: 1000, useful_bytes: 1_664_000 };
        let measured = Measured::new(size, verification, 4, vec![200_000, 100_000, 900_000]).unwrap();
        assert_eq!((measured.time_ns.median, measured.ns_per_row, measured.rows_per_second), (2e5, 200.0, 5e6));
        assert_eq!(measured.useful_gb_per_second, 1_664_000.0 / 200_000.0);
        assert_eq!(Measured::new(size, verification, 4, vec![]), None);
    }

    #[test]
    fn outcomes_say_their_status() {
        let text = serde_json::to_string(&Outcome::Unsupported { reason: "too large".into() }).unwrap();
        assert_eq!(text, r#"{"status":"unsupported","reason":"too large"}"#);
        assert!(matches!(serde_json::from_str(&text).unwrap(), Outcome::Unsupported { .. }));
    }
}
