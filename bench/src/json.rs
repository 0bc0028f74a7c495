//! The report as versioned JSON.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use firefly_framework::files::write_atomically;
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::problem::Problem;
use crate::statistics::Spread;
use crate::verify::Verification;

/// Version of the format; it changes when a reader would have to.
pub const FORMAT: u32 = 1;

/// A command's results and all that is needed to understand them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What measured.
    pub tool: Tool,
    /// When, in seconds since 1970 (UTC).
    pub date: u64,
    /// Where.
    pub host: Host,
    /// What was asked for.
    pub command: Command,
    /// What was applied to every frame.
    pub estimate: Estimate,
    /// The results.
    pub cases: Vec<CaseRecord>,
}

/// The program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it was built with optimisation: `release` or `debug`.
    pub build: String,
}

/// A subcommand and its options, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The subcommand.
    pub name: String,
    /// Its options by name.
    pub options: serde_json::Value,
}

/// What is applied to a frame before its bins are ranked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// How power is scaled.
    pub scaling: String,
    /// The window and its symmetry.
    pub window: String,
    /// The distance of segments.
    pub hop: String,
    /// What is taken off a segment.
    pub detrend: String,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Samples of a segment.
    pub n_fft: usize,
    /// How much of the frame is used.
    pub tier: String,
    /// Segments averaged.
    pub segments: usize,
    /// Samples from one segment's start to the next.
    pub hop: usize,
    /// Samples of a frame.
    pub frame: usize,
    /// Frames.
    pub batch: usize,
    /// Peaks of each frame.
    pub k: usize,
    /// How the peaks are computed.
    pub strategy: String,
    /// On which device. Host strategies run beside it.
    pub device: String,
    /// Host threads that may be used.
    pub threads: usize,
    /// How it went.
    pub outcome: Outcome,
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Verified and timed.
    Measured(Measured),
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
    /// Input sets the iterations went through in turn.
    pub input_sets: usize,
    /// Time of every iteration after the warm-up, in order, in nanoseconds.
    pub samples_ns: Vec<u64>,
    /// Their middle and spread.
    pub time_ns: Spread,
    /// Median nanoseconds of a frame.
    pub ns_per_row: f64,
    /// Frames in a second, at the median.
    pub rows_per_second: f64,
    /// 10⁹ bytes in a second, at the median: every sample once, and each peak as 8 bytes.
    pub useful_gb_per_second: f64,
    /// How many times as fast as the baseline, iteration by iteration; none without a baseline that was measured.
    pub speed_ratio: Option<SpeedRatio>,
}

/// A comparison with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpeedRatio {
    /// The strategy that is compared with.
    pub baseline: String,
    /// Its time divided by this strategy's, in the same iteration.
    pub ratio: Spread,
}

impl Tool {
    /// This program.
    pub fn this() -> Self {
        Self {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        }
    }
}

impl Measured {
    /// The figures that follow from an iteration's times; none if there are no times.
    pub fn new(
        problem: &Problem,
        verification: Verification,
        input_sets: usize,
        samples_ns: Vec<u64>,
        speed_ratio: Option<SpeedRatio>,
    ) -> Option<Self> {
        let time_ns = Spread::of(samples_ns.iter().map(|&sample| sample as f64))?;
        // A clock too coarse for the work would give zero.
        let median = time_ns.median.max(1.0);
        Some(Self {
            verification,
            input_sets,
            samples_ns,
            time_ns,
            ns_per_row: median / problem.batch as f64,
            rows_per_second: 1e9 * problem.batch as f64 / median,
            useful_gb_per_second: problem.useful_bytes() as f64 / median,
            speed_ratio,
        })
    }
}

impl Report {
    /// Writes the report to `path`, whole or not at all.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        write_atomically(path, &bytes)
    }
}

/// Seconds since 1970; 0 if the clock is before that.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use firefly_models::Tier;

    use super::*;

    #[test]
    fn rates_follow_from_the_median() {
        let problem = Problem::new(256, Tier::Fast, 1000, 16);
        let verification =
            Verification { rows: 1, tolerance: 1e-6, power_error: 0.0, ranking_error: 0.0, same_bins: 1.0 };
        let measured = Measured::new(&problem, verification, 4, vec![200_000, 100_000, 900_000], None).unwrap();
        assert_eq!((measured.time_ns.median, measured.ns_per_row, measured.rows_per_second), (2e5, 200.0, 5e6));
        assert_eq!(measured.useful_gb_per_second, 1_664_000.0 / 200_000.0);
        assert_eq!(Measured::new(&problem, verification, 4, vec![], None), None);
    }

    #[test]
    fn outcomes_say_their_status() {
        let text = serde_json::to_string(&Outcome::Unsupported { reason: "too large".into() }).unwrap();
        assert_eq!(text, r#"{"status":"unsupported","reason":"too large"}"#);
        assert!(matches!(serde_json::from_str(&text).unwrap(), Outcome::Unsupported { .. }));
    }
}
