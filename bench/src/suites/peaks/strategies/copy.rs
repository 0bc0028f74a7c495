//! The floor of the peaks: a copy of the frames.

use crate::baselines::copy::copy;
use crate::harness::runner::COPY;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::problem::PeaksProblem;

/// Copies the input within host memory: nothing that reads it from there can be much faster.
pub struct CopyInput;

impl Strategy<PeaksProblem> for CopyInput {
    fn name(&self) -> &'static str {
        COPY
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
