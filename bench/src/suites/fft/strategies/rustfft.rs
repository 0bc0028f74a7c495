//! rustfft's planned transforms, on interleaved values as it takes them.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::baselines::rustfft::instruction_set;
use crate::harness::routine::{Produces, Workload};
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::fft::coefficients::Network;
use crate::suites::fft::expected::Expected;
use crate::suites::fft::inputs::Inputs;
use crate::suites::fft::problem::TransformProblem;
use crate::suites::fft::verify::Spectrum;
use crate::suites::fft::verify::check;

/// Below so many values, a second thread costs more than it saves.
const PARALLEL_VALUES: usize = 1 << 15;

/// Every row in place. The input is put back between runs, outside of the time.
pub struct RustFftInPlace;

/// Every row from one buffer into another.
pub struct RustFftOutOfPlace;

impl Strategy<TransformProblem> for RustFftInPlace {
    fn name(&self) -> &'static str {
        "rustfft"
    }

    fn summary(&self) -> &'static str {
        "host: rustfft, planned, interleaved rows in place"
    }

    fn instruction_set(&self, _problem: &TransformProblem) -> Option<&'static str> {
        Some(instruction_set())
    }

    fn verify<'a>(
        &self,
        problem: &TransformProblem,
        inputs: &'a Inputs,
        expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        check(Network::Exact, Run::new(problem, inputs, Mode::InPlace), inputs, expected)
    }
}

impl Strategy<TransformProblem> for RustFftOutOfPlace {
    fn name(&self) -> &'static str {
        "rustfft-out"
    }

    fn summary(&self) -> &'static str {
        "host: rustfft, planned, interleaved rows from one buffer into another"
    }

    fn instruction_set(&self, _problem: &TransformProblem) -> Option<&'static str> {
        Some(instruction_set())
    }

    fn verify<'a>(
        &self,
        problem: &TransformProblem,
        inputs: &'a Inputs,
        expected: &Expected,
    ) -> Result<Verified<'a>, Refusal> {
        check(Network::Exact, Run::new(problem, inputs, Mode::OutOfPlace), inputs, expected)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    InPlace,
    OutOfPlace,
}

struct Run<'a> {
    transform: Arc<dyn Fft<f32>>,
    mode: Mode,
    sets: &'a [Vec<Complex<f32>>],
    output: Vec<Complex<f32>>,
    /// A chunk of rows each, with its scratch.
    scratch: Vec<Vec<Complex<f32>>>,
    chunk: usize,
}

impl<'a> Run<'a> {
    fn new(problem: &TransformProblem, inputs: &'a Inputs, mode: Mode) -> Self {
        let transform = FftPlanner::new().plan_fft_forward(problem.n);
        let values = problem.batch * problem.n;
        let most = if values < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
        let rows = problem.batch.div_ceil(most);
        let scratch = match mode {
            Mode::InPlace => transform.get_inplace_scratch_len(),
            Mode::OutOfPlace => transform.get_immutable_scratch_len(),
        };
        Self {
            transform,
            mode,
            sets: inputs.interleaved(),
            output: vec![Complex::default(); values],
            scratch: vec![vec![Complex::default(); scratch]; problem.batch.div_ceil(rows)],
            chunk: rows * problem.n,
        }
    }
}

impl Workload for Run<'_> {
    fn restore(&mut self, set: usize) {
        if self.mode == Mode::InPlace {
            self.output.copy_from_slice(&self.sets[set]);
        }
    }

    fn run(&mut self, set: usize) -> Result<(), String> {
        let (transform, mode, input) = (&self.transform, self.mode, &self.sets[set]);
        let rows = |input: &[Complex<f32>], output: &mut [Complex<f32>], scratch: &mut Vec<Complex<f32>>| match mode {
            Mode::InPlace => transform.process_with_scratch(output, scratch),
            Mode::OutOfPlace => transform.process_immutable_with_scratch(input, output, scratch),
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

impl Produces<Spectrum> for Run<'_> {
    fn output(&self) -> Result<Spectrum, String> {
        let output = &self.output;
        Ok(Spectrum { re: output.iter().map(|z| z.re).collect(), im: output.iter().map(|z| z.im).collect() })
    }
}
