//! Problems: what strategies are compared on.

use firefly_ops::ArgumentError;
use thiserror::Error;

use super::{ParameterMap, TensorSpec};
use firefly_app::number::bytes;

/// Largest tensor of a problem, in bytes; larger batches are to be split.
pub const MAX_BYTES: usize = 8 << 30;

/// One operation at one size: its parameters, and the shapes and values of its inputs. What is expected of a strategy is
/// an [`Expectation`](super::verification::Expectation), which the strategy gives with its routine.
pub trait Problem: Clone + Send + Sync + 'static {
    /// The parameters that fix the problem.
    fn parameters(&self) -> ParameterMap;

    /// Checks that a strategy could solve the problem.
    fn check(&self) -> Result<(), ProblemError> {
        Ok(())
    }

    /// Rows per call.
    fn rows(&self) -> usize;

    /// The input tensors: those that differ from set to set first, then parameters, which do not.
    fn inputs(&self) -> Vec<TensorSpec>;

    /// Bytes of the result of a call.
    fn output_bytes(&self) -> usize;

    fn max_sets(&self) -> usize {
        usize::MAX
    }

    /// Bytes of all inputs of a call.
    fn input_bytes(&self) -> usize {
        self.inputs().iter().map(TensorSpec::bytes).fold(0, usize::saturating_add)
    }

    /// The size that rates are computed from: every input is read once, and the result written once.
    fn size(&self) -> WorkSize {
        WorkSize { rows: self.rows(), useful_bytes: self.input_bytes() + self.output_bytes() }
    }
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
    OutOfRange { parameter: &'static str, got: usize, expected: String },
    /// The measurement doesn't fit in memory.
    #[error(
        "inputs, results and temporaries take {} of memory, and {} can be taken, of which a fifth is left to others",
        bytes(*needed as u64),
        bytes(*free)
    )]
    Memory { needed: usize, free: u64 },
}

impl ProblemError {
    pub fn out_of_range(parameter: &'static str, got: usize, expected: impl Into<String>) -> Self {
        Self::OutOfRange { parameter, got, expected: expected.into() }
    }

    /// A batch that is too large for inputs or results of `row_bytes` bytes per row.
    ///
    /// # Errors
    /// [`ProblemError::OutOfRange`] if `batch` rows take more than [`MAX_BYTES`].
    pub fn check_batch(batch: usize, row_bytes: usize) -> Result<(), Self> {
        let most = MAX_BYTES / row_bytes.max(1);
        let refuse = || Self::out_of_range("batch", batch, format!("at most {most}, for tensors of 8 GiB"));
        if batch > most { Err(refuse()) } else { Ok(()) }
    }
}
