//! Complex transforms of rows by rustfft, on interleaved values as it takes them.

use firefly_ops::Direction;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::realfft;
use crate::baselines::rustfft::instruction_set;
pub use crate::baselines::rustfft_rows::Placement;
use crate::baselines::rustfft_rows::RustFftRows;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum};
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::Unsupported;
use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::{FftProblem, Values};
use crate::suites::fft::verify::check;

/// rustfft, planned, on interleaved rows; in place also real rows, by realfft on top of it.
pub fn rustfft(placement: Placement) -> BenchStrategy<FftProblem> {
    let (name, summary) = match placement {
        Placement::InPlace => {
            ("rustfft", "host: rustfft, planned, interleaved rows in place; realfft where values are real")
        }
        Placement::OutOfPlace => placement.strategy(),
    };
    BenchStrategy::new(name, summary, move |problem: &FftProblem, inputs, expected| {
        let is_row = problem.shape.dims().len() == 1;
        match (problem.values, placement) {
            (Values::Complex, _) if is_row => {
                check(problem, RustFftRoutine::new(problem, inputs, placement), 1.0, inputs, expected)
            }
            (Values::Real, Placement::InPlace) if is_row => realfft::verified(problem, inputs, expected),
            _ => Err(Unsupported::Transform { library: "rustfft" }.into()),
        }
    })
    .with_instruction_set(|_| Some(instruction_set()))
}

struct RustFftRoutine<'a> {
    rows: RustFftRows,
    placement: Placement,
    sets: &'a [Vec<Complex<f32>>],
    output: Vec<Complex<f32>>,
}

impl<'a> RustFftRoutine<'a> {
    fn new(problem: &FftProblem, inputs: &'a FftInputs, placement: Placement) -> Self {
        let (batch, n) = (problem.batch, problem.shape.last());
        let direction = match problem.direction {
            Direction::Forward => FftDirection::Forward,
            Direction::Inverse => FftDirection::Inverse,
        };
        Self {
            rows: RustFftRows::new(batch, n, direction, placement),
            placement,
            sets: inputs.interleaved(),
            output: vec![Complex::default(); batch * n],
        }
    }
}

impl Routine for RustFftRoutine<'_> {
    fn restore(&mut self, set: usize) {
        if self.placement == Placement::InPlace {
            self.output.copy_from_slice(&self.sets[set]);
        }
    }

    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        self.rows.run(&self.sets[set], &mut self.output);
        Ok(())
    }

    fn checksum(&self) -> u64 {
        checksum(bytemuck::cast_slice(&parts_of(&self.output)))
    }
}

impl RoutineOutput<Vec<Vec<f32>>> for RustFftRoutine<'_> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        let output = &self.output;
        Ok(vec![output.iter().map(|z| z.re).collect(), output.iter().map(|z| z.im).collect()])
    }
}

/// Real and imaginary parts side by side.
pub fn parts_of(values: &[Complex<f32>]) -> Vec<[f32; 2]> {
    values.iter().map(|z| [z.re, z.im]).collect()
}
