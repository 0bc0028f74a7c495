//! Complex transforms of rows by rustfft, on interleaved values as it takes them.

use firefly_ops::Direction;
use rustfft::FftDirection;

use super::realfft;
use crate::baselines::rustfft::instruction_set;
pub use crate::baselines::rustfft_rows::Placement;
use crate::baselines::rustfft_rows::{RustFftRoutine, RustFftRows};
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::Unsupported;
use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::{FftProblem, FftValues};
use crate::suites::fft::verify::check;

/// rustfft, planned, on interleaved rows; in place also real rows, by realfft on top of it.
pub fn rustfft(placement: Placement) -> BenchStrategy<FftProblem> {
    let (name, summary) = match placement {
        Placement::InPlace => {
            ("rustfft", "host: rustfft, planned, interleaved rows in place; realfft where values are real")
        }
        Placement::OutOfPlace => placement.strategy(),
    };
    BenchStrategy::new(name, summary, move |problem: &FftProblem, inputs: &FftInputs, expected| {
        let is_row = problem.shape.dims().len() == 1;
        match (problem.values, placement) {
            (FftValues::Complex, _) if is_row => {
                let direction = match problem.direction {
                    Direction::Forward => FftDirection::Forward,
                    Direction::Inverse => FftDirection::Inverse,
                };
                let rows = RustFftRows::new(problem.batch, problem.shape.last(), direction, placement);
                check(problem, RustFftRoutine::new(rows, inputs.interleaved()), 1.0, inputs, expected)
            }
            (FftValues::Real, Placement::InPlace) if is_row => realfft::verified(problem, inputs, expected),
            _ => Err(Unsupported::Transform { library: "rustfft" }.into()),
        }
    })
    .with_instruction_set(|_| Some(instruction_set()))
}
