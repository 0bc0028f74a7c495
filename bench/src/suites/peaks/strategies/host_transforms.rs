//! Welch peaks on rustfft and on realfft.

use std::sync::Arc;

use crate::baselines::realfft::Segments;
use crate::baselines::rows::{RowPower, Rows};
use crate::baselines::rustfft::{PairedSegments, instruction_set};
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::expected::ExpectedRow;
use crate::suites::peaks::inputs::Inputs;
use crate::suites::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::suites::peaks::verify::check_peaks;

/// rustfft, two real segments per complex transform, then partial selection.
pub struct RustFft;

/// realfft, one segment per real-input transform, then partial selection.
pub struct RealFft;

impl Strategy<PeaksProblem> for RustFft {
    fn name(&self) -> &'static str {
        "rustfft"
    }

    fn summary(&self) -> &'static str {
        "host: rustfft, planned, two segments in one transform, select_nth top-K"
    }

    fn instruction_set(&self, _problem: &PeaksProblem) -> Option<&'static str> {
        Some(instruction_set())
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        check(problem, inputs, expected, PairedSegments::new(&problem.options, weights(problem)))
    }
}

impl Strategy<PeaksProblem> for RealFft {
    fn name(&self) -> &'static str {
        "realfft"
    }

    fn summary(&self) -> &'static str {
        "host: realfft, planned, one transform per segment, select_nth top-K"
    }

    fn instruction_set(&self, _problem: &PeaksProblem) -> Option<&'static str> {
        Some(instruction_set())
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        check(problem, inputs, expected, Segments::new(&problem.options, weights(problem)))
    }
}

fn weights(problem: &PeaksProblem) -> Arc<[f32]> {
    WINDOW.coefficients(problem.options.n_fft, SYMMETRY).into_iter().map(|weight| weight as f32).collect()
}

fn check<'a>(
    problem: &PeaksProblem,
    inputs: &'a Inputs,
    expected: &[ExpectedRow],
    row: impl RowPower + Clone + 'a,
) -> Result<Verified<'a>, Refusal> {
    let rows = Rows::new(&problem.options, [problem.batch, problem.k], inputs.host(), row);
    check_peaks(Box::new(rows), problem, inputs, expected, true)
}
