//! The floor of a transform: a copy of its input.

use crate::baselines::copy::copy;
use crate::harness::runner::COPY;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::fft::expected::Expected;
use crate::suites::fft::inputs::Inputs;
use crate::suites::fft::problem::TransformProblem;

/// Copies the input within host memory: a transform reads and writes as much.
pub struct CopyInput;

impl Strategy<TransformProblem> for CopyInput {
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
        problem: &TransformProblem,
        inputs: &'a Inputs,
        _expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        let sets = inputs.host().iter().map(|parts| parts.iter().map(Vec::as_slice).collect()).collect();
        copy(sets, problem.batch * inputs.count())
    }
}
