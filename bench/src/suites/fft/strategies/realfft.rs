//! Real transforms of rows by realfft, which overwrites its input.

use firefly_ops::Direction;
use realfft::num_complex::Complex;

use crate::baselines::realfft_rows::{InverseRealFftRows, RealFftRows};
use crate::baselines::rustfft_rows::parts;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput, checksum, parts_checksum};
use crate::harness::verification::{CaseError, Verified};
use crate::suites::fft::expected::ExpectedRows;
use crate::suites::fft::inputs::{FftInputs, HostParts};
use crate::suites::fft::problem::FftProblem;
use crate::suites::fft::verify::check;

/// The verified routine of a problem of real rows.
pub fn verified<'a>(
    problem: &FftProblem,
    inputs: &'a FftInputs,
    expected: &ExpectedRows,
) -> Result<Verified<'a>, CaseError> {
    let (batch, n) = (problem.batch, problem.shape.last());
    let reals = vec![0.0; batch * n];
    let spectra = vec![Complex::default(); batch * problem.bins()];
    match problem.direction {
        Direction::Forward => {
            let transform = RealFftRows::new(batch, n);
            let routine = ForwardRoutine { transform, sets: inputs.host(), input: reals, output: spectra };
            check(problem, routine, 1.0, inputs, expected)
        }
        Direction::Inverse => {
            let transform = InverseRealFftRows::new(batch, n);
            let routine = InverseRoutine { transform, sets: inputs.interleaved(), input: spectra, output: reals };
            check(problem, routine, 1.0, inputs, expected)
        }
    }
}

struct ForwardRoutine<'a> {
    transform: RealFftRows,
    sets: &'a [HostParts],
    input: Vec<f32>,
    output: Vec<Complex<f32>>,
}

impl Routine for ForwardRoutine<'_> {
    fn restore(&mut self, set: usize) {
        self.input.copy_from_slice(&self.sets[set][0]);
    }

    fn run(&mut self, _set: usize) -> Result<(), RoutineError> {
        self.transform.run(&mut self.input, &mut self.output)
    }

    fn checksum(&self) -> u64 {
        parts_checksum(&parts(&self.output))
    }
}

impl RoutineOutput<Vec<Vec<f32>>> for ForwardRoutine<'_> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        Ok(parts(&self.output).into())
    }
}

struct InverseRoutine<'a> {
    transform: InverseRealFftRows,
    sets: &'a [Vec<Complex<f32>>],
    input: Vec<Complex<f32>>,
    output: Vec<f32>,
}

impl Routine for InverseRoutine<'_> {
    fn restore(&mut self, set: usize) {
        self.input.copy_from_slice(&self.sets[set]);
    }

    fn run(&mut self, _set: usize) -> Result<(), RoutineError> {
        self.transform.run(&mut self.input, &mut self.output)
    }

    fn checksum(&self) -> u64 {
        checksum(bytemuck::cast_slice(&self.output))
    }
}

impl RoutineOutput<Vec<Vec<f32>>> for InverseRoutine<'_> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        Ok(vec![self.output.clone()])
    }
}
