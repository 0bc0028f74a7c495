//! Complex transforms of rows by rustfft.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftPlanner};

use crate::harness::routine::{Routine, RoutineError, RoutineOutput, parts_checksum};

/// Number of values from which a second thread saves time.
pub(super) const PARALLEL_VALUES: usize = 1 << 15;

/// Buffers of a transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Every row in place. The input is restored between runs, outside of the time.
    InPlace,
    /// Every row from one buffer into another.
    OutOfPlace,
}

impl Placement {
    /// Name and description of a strategy.
    pub const fn strategy(self) -> (&'static str, &'static str) {
        match self {
            Self::InPlace => ("rustfft", "host: rustfft, planned, interleaved rows in place"),
            Self::OutOfPlace => {
                ("rustfft-out", "host: rustfft, planned, interleaved rows from one buffer into another")
            }
        }
    }
}

/// Planned transform of interleaved rows, in chunks that threads share out where that saves time.
pub struct RustFftRows {
    transform: Arc<dyn Fft<f32>>,
    placement: Placement,
    /// Scratch per chunk of rows.
    scratch: Vec<Vec<Complex<f32>>>,
    chunk: usize,
}

impl RustFftRows {
    /// The unnormalised transform of `batch` rows of `n` values.
    pub fn new(batch: usize, n: usize, direction: FftDirection, placement: Placement) -> Self {
        let transform = FftPlanner::new().plan_fft(n, direction);
        let most = if batch * n < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
        let rows = batch.div_ceil(most);
        let scratch = match placement {
            Placement::InPlace => transform.get_inplace_scratch_len(),
            Placement::OutOfPlace => transform.get_immutable_scratch_len(),
        };
        let scratch = vec![vec![Complex::default(); scratch]; batch.div_ceil(rows)];
        Self { transform, placement, scratch, chunk: rows * n }
    }

    /// Transforms all rows: `output` itself in place, or `input` into it.
    pub fn run(&mut self, input: &[Complex<f32>], output: &mut [Complex<f32>]) {
        let (transform, placement) = (&self.transform, self.placement);
        let rows =
            |input: &[Complex<f32>], output: &mut [Complex<f32>], scratch: &mut Vec<Complex<f32>>| match placement {
                Placement::InPlace => transform.process_with_scratch(output, scratch),
                Placement::OutOfPlace => transform.process_immutable_with_scratch(input, output, scratch),
            };
        if let [scratch] = &mut self.scratch[..] {
            rows(input, output, scratch);
        } else {
            let chunks = output.par_chunks_mut(self.chunk).zip(input.par_chunks(self.chunk));
            let chunks = chunks.zip(&mut self.scratch).with_max_len(1);
            chunks.for_each(|((output, input), scratch)| rows(input, output, scratch));
        }
    }
}

/// Transforms of input sets of interleaved rows.
pub struct RustFftRoutine<'a> {
    rows: RustFftRows,
    sets: &'a [Vec<Complex<f32>>],
    output: Vec<Complex<f32>>,
}

impl<'a> RustFftRoutine<'a> {
    /// The transform of `rows`, on any of `sets`.
    pub fn new(rows: RustFftRows, sets: &'a [Vec<Complex<f32>>]) -> Self {
        let output = vec![Complex::default(); sets.first().map_or(0, Vec::len)];
        Self { rows, sets, output }
    }
}

impl Routine for RustFftRoutine<'_> {
    fn restore(&mut self, set: usize) {
        if self.rows.placement == Placement::InPlace {
            self.output.copy_from_slice(&self.sets[set]);
        }
    }

    fn run(&mut self, set: usize) -> Result<(), RoutineError> {
        self.rows.run(&self.sets[set], &mut self.output);
        Ok(())
    }

    fn checksum(&self) -> u64 {
        parts_checksum(&parts(&self.output))
    }
}

impl RoutineOutput<Vec<Vec<f32>>> for RustFftRoutine<'_> {
    fn output(&self) -> Result<Vec<Vec<f32>>, RoutineError> {
        Ok(parts(&self.output).into())
    }
}

/// Real and imaginary parts.
pub fn parts(values: &[Complex<f32>]) -> [Vec<f32>; 2] {
    [values.iter().map(|z| z.re).collect(), values.iter().map(|z| z.im).collect()]
}
