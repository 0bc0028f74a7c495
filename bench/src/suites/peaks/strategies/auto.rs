//! Firefly's peaks by the method that is predicted fastest.

use firefly_models::AutoWelchPeaksConfig;

use super::firefly::Firefly;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::model::config;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::program::{Memory, Program};
use crate::suites::peaks::verify::check_peaks;

/// [`AutoWelchPeaks`](firefly_models::AutoWelchPeaks) on tensors that are on the device already; the peaks stay there.
pub struct Auto;

impl Strategy<PeaksProblem> for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn summary(&self) -> &'static str {
        "Firefly's AutoWelchPeaks module: the tier by the method predicted fastest"
    }

    fn takes_instruction_sets(&self) -> bool {
        true
    }

    fn instruction_set(&self, problem: &PeaksProblem) -> Option<&'static str> {
        Firefly.instruction_set(problem)
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let auto = AutoWelchPeaksConfig::new().with_peaks(config(problem)).with_keep_on_device(true);
        let model = auto.try_init(inputs.device())?;
        let program = Program::new(inputs, Memory::Device, move |signal| {
            model.try_forward(signal).map_err(|error| error.to_string())
        });
        check_peaks(program, problem, inputs, expected, true)
    }
}
