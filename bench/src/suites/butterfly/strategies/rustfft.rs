//! Transforms by rustfft, on interleaved values as it takes them.

use rustfft::FftDirection;

use crate::baselines::rustfft::instruction_set;
pub use crate::baselines::rustfft_rows::Placement;
use crate::baselines::rustfft_rows::{RustFftRoutine, RustFftRows};
use crate::harness::strategy::BenchStrategy;
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::inputs::ButterflyInputs;
use crate::suites::butterfly::problem::ButterflyProblem;
use crate::suites::butterfly::verify::check;

/// rustfft, planned, on interleaved rows.
pub fn rustfft(placement: Placement) -> BenchStrategy<ButterflyProblem> {
    let (name, summary) = placement.strategy();
    BenchStrategy::new(name, summary, move |problem: &ButterflyProblem, inputs: &ButterflyInputs, expected| {
        let rows = RustFftRows::new(problem.batch, problem.n, FftDirection::Forward, placement);
        check(Coefficients::Exact, RustFftRoutine::new(rows, inputs.interleaved()), inputs, expected)
    })
    .with_instruction_set(|_| Some(instruction_set()))
}
