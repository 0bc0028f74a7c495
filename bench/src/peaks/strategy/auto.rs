//! Firefly's peaks by the method that is predicted fastest.

use firefly_models::{AutoOptions, AutoWelchPeaks, Destination};

use super::check_peaks;
use super::firefly::{Firefly, config};
use crate::peaks::expected::ExpectedRow;
use crate::peaks::input::Inputs;
use crate::peaks::problem::PeaksProblem;
use crate::peaks::program::{Memory, Program};
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

/// [`AutoWelchPeaks`] on tensors that are on the device already; the peaks stay there.
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
        let left_there = AutoOptions { destination: Destination::Device, ..AutoOptions::default() };
        let model = AutoWelchPeaks::new(&config(problem), inputs.device())?.with_options(left_there);
        let program = Program::new(inputs, Memory::Device, move |signal| {
            model.forward(signal).map_err(|error| error.to_string())
        });
        check_peaks(program, problem, inputs, expected, true)
    }
}
