//! Transforms by rustfft, on interleaved values as it takes them.

use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use crate::baselines::rustfft::instruction_set;
pub use crate::baselines::rustfft_rows::Placement;
use crate::baselines::rustfft_rows::RustFftRows;
use crate::harness::routine::{Routine, RoutineError, RoutineOutput};
use crate::harness::strategy::BenchStrategy;
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::inputs::ButterflyInputs;
use crate::suites::butterfly::problem::ButterflyProblem;
use crate::suites::butterfly::verify::{Spectrum, check};

/// rustfft, planned, on interleaved rows.
pub fn rustfft(placement: Placement) -> BenchStrategy<ButterflyProblem> {
    let (name, summary) = placement.strategy();
    BenchStrategy::new(name, summary, move |problem, inputs, expected| {
        check(Coefficients::Exact, RustFftRoutine::new(problem, inputs, placement), inputs, expected)
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
    fn new(problem: &ButterflyProblem, inputs: &'a ButterflyInputs, placement: Placement) -> Self {
        Self {
            rows: RustFftRows::new(problem.batch, problem.n, FftDirection::Forward, placement),
            placement,
            sets: inputs.interleaved(),
            output: vec![Complex::default(); problem.batch * problem.n],
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
