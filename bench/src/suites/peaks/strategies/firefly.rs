//! Firefly's own peaks.

use firefly_ops::{InstructionSet, welch_instruction_set};

use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::model::exact_model;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::program::{Memory, Program};
use crate::suites::peaks::verify::check_peaks;

/// [`WelchPeaks`] on tensors that are on the device already; the peaks stay there.
pub struct Firefly;

impl Strategy<PeaksProblem> for Firefly {
    fn name(&self) -> &'static str {
        "firefly"
    }

    fn summary(&self) -> &'static str {
        "Firefly's WelchPeaks module on the device"
    }

    fn takes_instruction_sets(&self) -> bool {
        true
    }

    fn instruction_set(&self, problem: &PeaksProblem) -> Option<&'static str> {
        welch_instruction_set(problem.options.n_fft).map(InstructionSet::name)
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let model = exact_model(problem, inputs.device())?;
        let program = Program::new(inputs, Memory::Device, move |signal| {
            model.try_forward(signal).map_err(|error| error.to_string())
        });
        check_peaks(program, problem, inputs, expected, true)
    }
}
