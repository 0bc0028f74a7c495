//! Problems: what strategies are compared on.

use std::error::Error as StdError;

use burn::tensor::Device;
use firefly_ops::ArgumentError;
use thiserror::Error;

use super::parameters::ParameterMap;
use firefly_app::number::bytes;

/// Computation of a fixed size, with its inputs and its expected results.
pub trait Problem: Sync {
    /// Several sets of inputs.
    type Inputs: Send + Sync;
    /// Expected results in float64.
    type Expected: Sync;
    /// Disagreement between two ways to compute the expected results.
    type ReferenceError: StdError + Send + Sync + 'static;

    /// The parameters that fix the problem.
    fn parameters(&self) -> ParameterMap;

    /// Checks that a strategy could solve the problem.
    ///
    /// # Errors
    /// [`ProblemError`] for parameters out of range.
    fn check(&self) -> Result<(), ProblemError>;

    /// The size that rates are computed from.
    fn size(&self) -> WorkSize;

    /// Bytes of memory of at most `most_sets` input sets.
    fn input_memory(&self, most_sets: usize) -> usize;

    /// At most `most_sets` input sets on `device`, the same for the same seed.
    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> Self::Inputs;

    /// Whether inputs made for another problem are also inputs of this one.
    fn fits(&self, inputs: &Self::Inputs) -> bool;

    /// The expected results in float64.
    ///
    /// # Errors
    /// If two ways to compute them disagree.
    fn expected(&self, inputs: &Self::Inputs, seed: u64) -> Result<Self::Expected, Self::ReferenceError>;
}

/// Size of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkSize {
    /// Rows per run.
    pub rows: usize,
    /// Bytes per run that any strategy has to move.
    pub useful_bytes: usize,
}

/// Reason why no strategy can solve a problem on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProblemError {
    /// A parameter is out of the operation's range.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A parameter is out of the suite's range.
    #[error("{parameter} is {got}, but must be {expected}")]
    OutOfRange {
        /// The parameter's name.
        parameter: &'static str,
        /// Its value.
        got: usize,
        /// The values accepted.
        expected: String,
    },
    /// The measurement doesn't fit in memory.
    #[error(
        "inputs, results and temporaries take {} of memory, and {} can be taken, of which a fifth is left to others",
        bytes(*needed as u64),
        bytes(*free)
    )]
    Memory {
        /// Bytes that inputs and strategies take.
        needed: usize,
        /// Bytes that can be taken.
        free: u64,
    },
}
