//! Firefly's power spectra, Burn's top-K.

use firefly_models::Peaks;

use super::firefly::Firefly;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::model::exact_model;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::program::{Memory, Program};
use crate::suites::peaks::verify::check_peaks;

/// `welch_psd` on the device, then Burn's own `topk` there.
pub struct PsdTopK;

impl Strategy<PeaksProblem> for PsdTopK {
    fn name(&self) -> &'static str {
        "psd-topk"
    }

    fn summary(&self) -> &'static str {
        "Firefly's welch_psd, then Burn's topk_with_indices, both on the device"
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
        let model = exact_model(problem, inputs.device())?;
        let program = Program::new(inputs, Memory::Device, move |signal| {
            let power = model.try_psd(signal).map_err(|error| error.to_string())?;
            let (power, bins) = power.topk_with_indices(model.k(), 1);
            Ok(Peaks { bins, power })
        });
        // Burn's sort leaves the order of equals open.
        check_peaks(program, problem, inputs, expected, false)
    }
}
