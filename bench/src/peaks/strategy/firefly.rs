//! Firefly's own peaks.

use burn::tensor::Device;
use firefly_models::{WelchPeaks, WelchPeaksConfig};
use firefly_ops::{ArgumentError, InstructionSet, welch_instruction_set};

use super::check_peaks;
use crate::peaks::expected::ExpectedRow;
use crate::peaks::input::Inputs;
use crate::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::peaks::program::{Memory, Program};
use crate::strategy::Strategy;
use crate::workload::{Refusal, Verified};

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
        let model = model(problem, inputs.device())?;
        let program = Program::new(inputs, Memory::Device, move |signal| {
            model.forward(signal).map_err(|error| error.to_string())
        });
        check_peaks(program, problem, inputs, expected, true)
    }
}

/// The module for a problem, on a device.
///
/// # Errors
/// [`ArgumentError`] if the problem is out of the module's range.
pub fn model(problem: &PeaksProblem, device: &Device) -> Result<WelchPeaks, ArgumentError> {
    config(problem).init(device)
}

/// The module's configuration for a problem.
pub fn config(problem: &PeaksProblem) -> WelchPeaksConfig {
    WelchPeaksConfig::new()
        .with_n_fft(problem.options.n_fft)
        .with_hop(Some(problem.options.hop))
        .with_tier(problem.tier)
        .with_k(problem.k)
        .with_window(WINDOW)
        .with_symmetry(SYMMETRY)
        .with_scaling(problem.options.scaling)
        .with_detrend(problem.options.detrend)
}
