//! The floor of the peaks: a copy of the frames.

use super::expected::ExpectedRow;
use super::input::Inputs;
use super::problem::PeaksProblem;
use crate::copy::copy;
use crate::grid::FLOOR;
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// Copies the input within host memory: nothing that reads it from there can be much faster.
pub struct CopyInput;

impl Strategy<PeaksProblem> for CopyInput {
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
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        _expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        copy(inputs.host().iter().map(|set| vec![&set[..]]).collect(), problem.batch * inputs.count())
    }
}
