//! Peaks written with nothing but Burn.

use firefly_models::testing::{Formulation, StockWelchPeaks};

use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::model::config;
use crate::suites::peaks::problem::PeaksProblem;
use crate::suites::peaks::program::{Memory, Program};
use crate::suites::peaks::verify::check_peaks;

/// Windowed segments, `burn::signal::rfft`, power, mean over segments and `topk_with_indices`, as a user of Burn
/// alone would write them.
pub struct BurnStock;

impl Strategy<PeaksProblem> for BurnStock {
    fn name(&self) -> &'static str {
        "burn-stock"
    }

    fn summary(&self) -> &'static str {
        "Burn's own operations on the device: unfold, window, rfft, power, mean, topk_with_indices"
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let stock = StockWelchPeaks::new(&config(problem), Formulation::Unfold, inputs.device())?;
        let program = Program::new(inputs, Memory::Device, move |signal| Ok(stock.forward(signal)));
        // Burn's sort leaves the order of equals open.
        check_peaks(program, problem, inputs, expected, false)
    }
}
