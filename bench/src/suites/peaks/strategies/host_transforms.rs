//! Peaks on rustfft and on realfft.

use std::sync::Arc;

use crate::baselines::realfft::RealSegments;
use crate::baselines::rows::{HostPeaksRoutine, RowPower};
use crate::baselines::rustfft::{PairedSegments, instruction_set};
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verified};
use crate::suites::peaks::expected::ExpectedPeaks;
use crate::suites::peaks::inputs::FrameInputs;
use crate::suites::peaks::memory;
use crate::suites::peaks::problem::{PeaksProblem, SYMMETRY, WINDOW};
use crate::suites::peaks::verify::check_peaks;

/// rustfft, two real segments per complex transform, then partial selection.
pub fn rustfft() -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        "rustfft",
        "host: rustfft, planned, two segments in one transform, select_nth top-K",
        |problem: &PeaksProblem, inputs, expected| {
            check(problem, inputs, expected, PairedSegments::new(&problem.options, weights(problem)))
        },
    )
    .with_instruction_set(|_| Some(instruction_set()))
    .with_memory(memory::of_host_library)
}

/// realfft, one segment per real-input transform, then partial selection.
pub fn realfft() -> BenchStrategy<PeaksProblem> {
    BenchStrategy::new(
        "realfft",
        "host: realfft, planned, one transform per segment, select_nth top-K",
        |problem: &PeaksProblem, inputs, expected| {
            check(problem, inputs, expected, RealSegments::new(&problem.options, weights(problem)))
        },
    )
    .with_instruction_set(|_| Some(instruction_set()))
    .with_memory(memory::of_host_library)
}

fn weights(problem: &PeaksProblem) -> Arc<[f32]> {
    WINDOW.coefficients(problem.options.n_fft, SYMMETRY).into_iter().map(|weight| weight as f32).collect()
}

fn check<'a>(
    problem: &PeaksProblem,
    inputs: &'a FrameInputs,
    expected: &[ExpectedPeaks],
    row: impl RowPower + Clone + 'a,
) -> Result<Verified<'a>, CaseError> {
    let routine = HostPeaksRoutine::new(&problem.options, [problem.batch, problem.k], inputs.host(), row);
    check_peaks(Box::new(routine), problem, inputs, expected, true)
}
