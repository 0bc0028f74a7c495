//! Transforms by rustfft, on interleaved values as it takes them.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::baselines::rustfft::instruction_set;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput};
use crate::harness::strategy::BenchStrategy;
use crate::suites::fft::coefficients::Coefficients;
use crate::suites::fft::inputs::TransformInputs;
use crate::suites::fft::problem::TransformProblem;
use crate::suites::fft::verify::{Spectrum, check};

/// Number of values from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 15;

/// rustfft, planned, on interleaved rows.
pub fn rustfft(placement: Placement) -> BenchStrategy<TransformProblem> {
    let (name, summary) = match placement {
        Placement::InPlace => ("rustfft", "host: rustfft, planned, interleaved rows in place"),
        Placement::OutOfPlace => {
            ("rustfft-out", "host: rustfft, planned, interleaved rows from one buffer into another")
        }
    };
    BenchStrategy::new(name, summary, move |problem, inputs, expected| {
        check(Coefficients::Exact, RustFftRoutine::new(problem, inputs, placement), inputs, expected)
    })
    .with_instruction_set(|_| Some(instruction_set()))
}

/// Buffers of a transform.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Every row in place. The input is restored between runs, outside of the time.
    InPlace,
    /// Every row from one buffer into another.
    OutOfPlace,
}

struct RustFftRoutine<'a> {
    transform: Arc<dyn Fft<f32>>,
    placement: Placement,
    sets: &'a [Vec<Complex<f32>>],
    output: Vec<Complex<f32>>,
    /// Scratch per chunk of rows.
    scratch: Vec<Vec<Complex<f32>>>,
    chunk: usize,
}

impl<'a> RustFftRoutine<'a> {
    fn new(problem: &TransformProblem, inputs: &'a TransformInputs, placement: Placement) -> Self {
        let transform = FftPlanner::new().plan_fft_forward(problem.n);
        let values = problem.batch * problem.n;
        let most = if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
        let rows = problem.batch.div_ceil(most);
        let scratch = match placement {
            Placement::InPlace => transform.get_inplace_scratch_len(),
            Placement::OutOfPlace => transform.get_immutable_scratch_len(),
        };
        Self {
            transform,
            placement,
            sets: inputs.interleaved(),
            output: vec![Complex::default(); values],
            scratch: vec![vec![Complex::default(); scratch]; problem.batch.div_ceil(rows)],
            chunk: rows * problem.n,
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
        let (transform, placement, input) = (&self.transform, self.placement, &self.sets[set]);
        let rows =
            |input: &[Complex<f32>], output: &mut [Complex<f32>], scratch: &mut Vec<Complex<f32>>| match placement {
                Placement::InPlace => transform.process_with_scratch(output, scratch),
                Placement::OutOfPlace => transform.process_immutable_with_scratch(input, output, scratch),
            };
        if let [scratch] = &mut self.scratch[..] {
            rows(input, &mut self.output, scratch);
        } else {
            let chunks = self.output.par_chunks_mut(self.chunk).zip(input.par_chunks(self.chunk));
            let chunks = chunks.zip(&mut self.scratch).with_max_len(1);
            chunks.for_each(|((output, input), scratch)| rows(input, output, scratch));
        }
        Ok(())
    }

    fn checksum(&self) -> u64 {
        self.output.iter().fold(0, |sum: u64, z| {
            sum.wrapping_add(u64::from(z.re.to_bits())).wrapping_add(u64::from(z.im.to_bits()) << 32)
        })
    }
}

impl RoutineOutput<Spectrum> for RustFftRoutine<'_> {
    fn output(&self) -> Result<Spectrum, RoutineError> {
        let output = &self.output;
        Ok(Spectrum { re: output.iter().map(|z| z.re).collect(), im: output.iter().map(|z| z.im).collect() })
    }
}
