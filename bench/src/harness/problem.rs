//! Problems: what strategies are compared on, and the reasons why one has no time.

use std::fmt::Display;

use firefly_app::number::bytes;
use firefly_framework::graph::GraphError;
use firefly_ops::ArgumentError;
use thiserror::Error;

use super::{ParameterMap, TensorSpec, available_memory};

/// Largest tensor of a problem, in bytes; larger batches are to be split.
pub const MAX_BYTES: usize = 8 << 30;
/// Share of the memory that can be taken which a problem may need.
pub const MEMORY_SHARE: f64 = 0.8;

/// One operation at one size. What is expected of a strategy is an [`Expectation`](super::verification::Expectation), which
/// the strategy gives with its routine.
pub trait Problem: Clone + Send + Sync + 'static {
    fn spec(&self) -> ProblemSpec;
}

pub struct ProblemSpec {
    /// The parameters that fix the problem.
    pub parameters: ParameterMap,
    pub rows: usize,
    /// The input tensors: those that differ from set to set first, then parameters, which do not.
    pub inputs: Vec<TensorSpec>,
    pub output_bytes: usize,
    /// Bytes per call that any strategy has to move: of every input and the result, unless it is said.
    pub useful_bytes: usize,
    pub max_sets: usize,
    /// The reason why no strategy could solve the problem, if there is one.
    pub refused: Option<CaseError>,
}

impl ProblemSpec {
    pub fn new(parameters: ParameterMap, rows: usize, inputs: Vec<TensorSpec>, output_bytes: usize) -> Self {
        let (max_sets, refused) = (usize::MAX, None);
        let spec = Self { parameters, rows, inputs, output_bytes, useful_bytes: 0, max_sets, refused };
        Self { useful_bytes: spec.bytes(), ..spec }
    }

    pub fn input_bytes(&self) -> usize {
        self.inputs.iter().map(TensorSpec::bytes).fold(0, usize::saturating_add)
    }

    pub fn bytes(&self) -> usize {
        self.input_bytes().saturating_add(self.output_bytes)
    }
}

/// Reason why a case has no time.
#[derive(Debug, Error)]
pub enum CaseError {
    /// The strategy doesn't support the problem or the device, or the machine has no room for the problem.
    #[error("{0}")]
    Unsupported(String),
    /// The routine failed, or its result is not the reference's.
    #[error("{0}")]
    Failed(anyhow::Error),
}

impl From<ArgumentError> for CaseError {
    fn from(error: ArgumentError) -> Self {
        Self::unsupported(error)
    }
}

impl From<GraphError> for CaseError {
    fn from(error: GraphError) -> Self {
        Self::unsupported(error)
    }
}

/// A routine's error, which may itself be such a reason.
impl From<anyhow::Error> for CaseError {
    fn from(error: anyhow::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Failed)
    }
}

impl CaseError {
    pub(crate) fn unsupported(reason: impl ToString) -> Self {
        Self::Unsupported(reason.to_string())
    }

    pub(crate) fn no_transform(library: &str) -> Self {
        Self::Unsupported(format!("{library} has no such transform"))
    }

    pub(crate) fn out_of_range(parameter: &str, got: usize, expected: impl Display) -> Self {
        Self::Unsupported(format!("{parameter} is {got}, but must be {expected}"))
    }
}

/// The reason why `batch` rows, whose inputs or results take `row_bytes` bytes each, are too many: they take more than
/// [`MAX_BYTES`].
pub fn too_large(batch: usize, row_bytes: usize) -> Option<CaseError> {
    let most = MAX_BYTES / row_bytes.max(1);
    let refuse = || CaseError::out_of_range("batch", batch, format_args!("at most {most}, for tensors of 8 GiB"));
    (batch > most).then(refuse)
}

pub fn check_memory(needed: usize) -> Result<(), CaseError> {
    match available_memory() {
        Some(free) if needed as f64 > MEMORY_SHARE * free as f64 => Err(CaseError::Unsupported(format!(
            "inputs, results and temporaries take {} of memory, and {} can be taken, of which a fifth is left to others",
            bytes(needed as u64),
            bytes(free)
        ))),
        _ => Ok(()),
    }
}
