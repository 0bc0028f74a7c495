//! Verification: what a strategy has to prove before it is timed.

use std::error::Error as StdError;

use firefly_framework::graph::GraphError;
use firefly_ops::{ArgumentError, InstructionSet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::phase_traffic::PhaseTraffic;
use super::problem::ProblemError;
use super::routine::{Routine, RoutineError, RoutineOutput};

/// Result of a verification. Errors are relative to the greatest reference value of their row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Rows compared with the float64 reference.
    pub rows: usize,
    /// Greatest error allowed.
    pub tolerance: f64,
    /// Greatest error found.
    pub error: f64,
    /// Agreement in the choice of peaks; none where nothing is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

/// Agreement in the choice of peaks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// Greatest amount by which a bin that was left out exceeds one that was chosen, by the reference; at most twice
    /// the tolerance, and 0 where every choice is the reference's.
    pub error: f64,
    /// Share of peaks at the bin that the reference has at the same rank.
    pub same_bins: f64,
}

/// Accuracy of a trained model on frames it was not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Training steps.
    pub train_steps: usize,
    /// Share of the peaks of the reference tier, eight segments, that the model finds at their bin.
    pub recall: f64,
    /// The same share of the exact estimate from as many segments as the model uses.
    pub exact_recall: f64,
}

/// Selection of a strategy that chooses among several ways to compute the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// The selection, such as `fast fused`.
    pub choice: String,
    /// Name of the strategy that makes the same calls, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

/// Error allowed in float32, relative to a row's greatest value: 2·10⁻⁶ + 5·10⁻⁷·log₁₀(n).
pub fn tolerance(n_fft: usize) -> f64 {
    2e-6 + 5e-7 * (n_fft as f64).log10()
}

/// Reason why a case has no time.
#[derive(Debug, Error)]
pub enum CaseError {
    /// The strategy doesn't support the problem or the device.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The routine failed.
    #[error(transparent)]
    Routine(#[from] RoutineError),
    /// The result is not the reference's, or the reference contradicts itself.
    #[error(transparent)]
    Mismatch(Box<dyn StdError + Send + Sync>),
    /// The model that the case is about could not be trained.
    #[error("training: {0}")]
    Training(String),
}

/// Reason why a strategy doesn't support a problem or a device.
#[derive(Debug, Error)]
pub enum Unsupported {
    /// An argument is out of the operation's range.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The problem has no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The problem has no input on this machine.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The processor lacks an instruction set.
    #[error("this processor does not have {0}")]
    InstructionSet(InstructionSet),
    /// The operation has no kernel for an instruction set.
    #[error("there is no kernel for {0} at this size")]
    Kernel(InstructionSet),
    /// A library does not have a transform.
    #[error("{library} has no such transform")]
    Transform {
        /// The library.
        library: &'static str,
    },
    /// The device has no interpreter for graphs.
    #[error("graphs are not replayed on this device")]
    Replay,
}

impl CaseError {
    /// A result that is not the reference's.
    pub fn mismatch(error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Mismatch(Box::new(error))
    }
}

impl From<ArgumentError> for CaseError {
    fn from(error: ArgumentError) -> Self {
        Self::Unsupported(error.into())
    }
}

/// Routine whose result was right for every input set.
pub struct Verified<'a> {
    /// The routine.
    pub routine: Box<dyn Routine + 'a>,
    /// Checksums of its results, one per input set.
    pub checksums: Vec<u64>,
    /// Result of the comparison with the float64 reference.
    pub verification: Verification,
    /// Accuracy of a trained model; none for an exact computation.
    pub accuracy: Option<Accuracy>,
    /// Data moved per run; none where it is not counted.
    pub traffic: Option<Box<PhaseTraffic>>,
    /// Selection of a strategy that has a choice.
    pub selected: Option<Selected>,
}

impl<'a> Verified<'a> {
    /// A routine that is exact within the tolerance.
    pub const fn exact(routine: Box<dyn Routine + 'a>, checksums: Vec<u64>, verification: Verification) -> Self {
        Self { routine, checksums, verification, accuracy: None, traffic: None, selected: None }
    }
}

/// Runs a routine on each of `sets` input sets, shows each result to `check`, and gives the checksums.
///
/// # Errors
/// [`CaseError::Routine`] if a run fails, [`CaseError::Mismatch`] if `check` does.
pub fn run_and_check<O, R: RoutineOutput<O> + ?Sized, E: StdError + Send + Sync + 'static>(
    routine: &mut R,
    sets: usize,
    mut check: impl FnMut(usize, &O) -> Result<(), E>,
) -> Result<Vec<u64>, CaseError> {
    (0..sets)
        .map(|set| {
            routine.restore(set);
            routine.run(set)?;
            check(set, &routine.output()?).map_err(CaseError::mismatch)?;
            Ok(routine.checksum())
        })
        .collect()
}

/// The greatest difference relative to the greatest expected value; NaN for another number of values.
pub fn relative_error(computed: &[f32], expected: &[f64]) -> f64 {
    if computed.len() != expected.len() {
        return f64::NAN;
    }
    let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let errors = computed.iter().zip(expected).map(|(&computed, expected)| (f64::from(computed) - expected).abs());
    errors.fold(0.0, |worst: f64, error| if error.is_nan() { f64::NAN } else { worst.max(error) }) / largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_largest_value() {
        assert_eq!(relative_error(&[1.0, -3.5], &[1.0, -4.0]), 0.125);
        assert!(relative_error(&[1.0], &[1.0, 2.0]).is_nan());
        assert!(relative_error(&[1.0, f32::NAN], &[1.0, 2.0]).is_nan());
    }
}
