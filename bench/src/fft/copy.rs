//! The floor of a transform: a copy of its input.

use super::expected::Expected;
use super::input::Inputs;
use super::problem::TransformProblem;
use crate::copy::copy;
use crate::grid::FLOOR;
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// Copies the input within host memory: a transform reads and writes as much.
pub struct CopyInput;

impl Strategy<TransformProblem> for CopyInput {
    fn name(&self) -> &'static str {
        FLOOR
    }

    fn summary(&self) -> &'static str {
        "host: a copy of the input, the floor of what memory allows"
    }

    fn competes(&self) -> bool {
        false
    }

    fn verify<'a>(
        &self,
        problem: &TransformProblem,
        inputs: &'a Inputs,
        _expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        let sets = inputs.host().iter().map(|parts| parts.iter().map(Vec::as_slice).collect()).collect();
        copy(sets, problem.batch * inputs.count())
    }
}
