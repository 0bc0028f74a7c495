//! What a strategy has to prove before it is timed.

use firefly_ops::ArgumentError;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::movement::Movement;
use super::routine::{Produces, Workload};

/// What a verification found. Errors are relative to the greatest reference value of their row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows compared with the float64 reference.
    pub rows: usize,
    /// How far a value may be from the reference.
    pub tolerance: f64,
    /// The greatest error of a value.
    pub error: f64,
    /// What was found of the choice of peaks; none where nothing is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

/// What a verification found of the choice of peaks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// By how much a bin that was left out exceeds one that was chosen, by the reference; at most twice the
    /// tolerance, and 0 where every choice is the reference's.
    pub error: f64,
    /// Share of peaks at the bin that the reference has at the same rank.
    pub same_bins: f64,
}

/// How well a learned computation does what it was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Steps it was trained for.
    pub train_steps: usize,
    /// Share of the peaks of the reference tier, eight segments, that it finds at their bin, on frames it was not trained on.
    pub recall: f64,
    /// The same of the exact estimate from as many segments.
    pub exact_recall: f64,
}

/// Error allowed in float32, relative to a row's greatest power: 2·10⁻⁶ + 5·10⁻⁷·log₁₀(n).
pub fn tolerance(n_fft: usize) -> f64 {
    2e-6 + 5e-7 * (n_fft as f64).log10()
}

/// Why a strategy doesn't run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It isn't made for the problem or the device.
    #[error("{0}")]
    Unsupported(String),
    /// It should have run.
    #[error("{0}")]
    Failed(String),
}

impl From<ArgumentError> for Refusal {
    fn from(error: ArgumentError) -> Self {
        Self::Unsupported(error.to_string())
    }
}

/// A workload whose output was found right for every input set.
pub struct Verified<'a> {
    /// What runs.
    pub workload: Box<dyn Workload + 'a>,
    /// Checksums of its verified output, one an input set.
    pub checksums: Vec<u64>,
    /// What the comparison with the float64 reference found.
    pub verification: Verification,
    /// How well it does what it was trained for; none for an exact computation.
    pub accuracy: Option<Accuracy>,
    /// What it moves; none where that is not asked for.
    pub movement: Option<Box<Movement>>,
}

impl<'a> Verified<'a> {
    /// A workload whose output is exact, or as good as.
    pub const fn exact(workload: Box<dyn Workload + 'a>, checksums: Vec<u64>, verification: Verification) -> Self {
        Self { workload, checksums, verification, accuracy: None, movement: None }
    }
}

/// Checksums of a workload's output for each of `sets` input sets, each output shown to `check`.
///
/// # Errors
/// [`Refusal::Failed`] if a run fails or `check` does.
pub fn run_and_check<O, W: Produces<O> + ?Sized>(
    workload: &mut W,
    sets: usize,
    mut check: impl FnMut(usize, &O) -> Result<(), String>,
) -> Result<Vec<u64>, Refusal> {
    (0..sets)
        .map(|set| {
            workload.restore(set);
            workload.run(set)?;
            check(set, &workload.output()?)?;
            Ok(workload.checksum())
        })
        .collect::<Result<_, String>>()
        .map_err(Refusal::Failed)
}
