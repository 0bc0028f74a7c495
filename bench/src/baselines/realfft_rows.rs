//! Real transforms of rows by realfft. Inputs are overwritten.

use std::sync::Arc;

use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, FftError, RealFftPlanner, RealToComplex};

use super::rustfft_rows::PARALLEL_VALUES;
use crate::harness::routine::RoutineError;

/// Planned transforms of real rows to half spectra.
pub struct RealFftRows {
    transform: Arc<dyn RealToComplex<f32>>,
    scratch: Vec<Vec<Complex<f32>>>,
    rows: usize,
}

impl RealFftRows {
    /// The unnormalised transform of `batch` rows of `n` values.
    pub fn new(batch: usize, n: usize) -> Self {
        let transform = RealFftPlanner::new().plan_fft_forward(n);
        let rows = rows_per_chunk(batch, n);
        let scratch = vec![transform.make_scratch_vec(); batch.div_ceil(rows)];
        Self { transform, scratch, rows }
    }

    /// Transforms all rows of `input`.
    ///
    /// # Errors
    /// If realfft refuses them.
    pub fn run(&mut self, input: &mut [f32], output: &mut [Complex<f32>]) -> Result<(), RoutineError> {
        let (transform, n) = (&self.transform, self.transform.len());
        let row = |input: &mut [f32], output: &mut [Complex<f32>], scratch: &mut [Complex<f32>]| {
            transform.process_with_scratch(input, output, scratch)
        };
        each_row((input, n), (output, n / 2 + 1), (&mut self.scratch, self.rows), row)
    }
}

/// Planned transforms of half spectra to real rows.
pub struct InverseRealFftRows {
    transform: Arc<dyn ComplexToReal<f32>>,
    scratch: Vec<Vec<Complex<f32>>>,
    rows: usize,
}

impl InverseRealFftRows {
    /// The unnormalised transform to `batch` rows of `n` values.
    pub fn new(batch: usize, n: usize) -> Self {
        let transform = RealFftPlanner::new().plan_fft_inverse(n);
        let rows = rows_per_chunk(batch, n);
        let scratch = vec![transform.make_scratch_vec(); batch.div_ceil(rows)];
        Self { transform, scratch, rows }
    }

    /// Transforms all half spectra of `input`.
    ///
    /// # Errors
    /// If realfft refuses them.
    pub fn run(&mut self, input: &mut [Complex<f32>], output: &mut [f32]) -> Result<(), RoutineError> {
        let (transform, n) = (&self.transform, self.transform.len());
        let row = |input: &mut [Complex<f32>], output: &mut [f32], scratch: &mut [Complex<f32>]| {
            transform.process_with_scratch(input, output, scratch)
        };
        each_row((input, n / 2 + 1), (output, n), (&mut self.scratch, self.rows), row)
    }
}

fn rows_per_chunk(batch: usize, n: usize) -> usize {
    let most = if batch * n < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() };
    batch.div_ceil(most)
}

/// Calls `transform` with every row of `input` and of `output`, which have the widths beside them, in chunks of `rows`
/// that threads share out.
fn each_row<I: Send, O: Send>(
    (input, input_width): (&mut [I], usize),
    (output, output_width): (&mut [O], usize),
    (scratch, rows): (&mut [Vec<Complex<f32>>], usize),
    transform: impl Fn(&mut [I], &mut [O], &mut [Complex<f32>]) -> Result<(), FftError> + Sync,
) -> Result<(), RoutineError> {
    let chunk = |input: &mut [I], output: &mut [O], scratch: &mut [Complex<f32>]| {
        let mut rows = input.chunks_mut(input_width).zip(output.chunks_mut(output_width));
        rows.try_for_each(|(input, output)| transform(input, output, scratch))
    };
    let done = if let [scratch] = scratch {
        chunk(input, output, scratch)
    } else {
        let chunks = input.par_chunks_mut(rows * input_width).zip(output.par_chunks_mut(rows * output_width));
        let chunks = chunks.zip(scratch).with_max_len(1);
        chunks.try_for_each(|((input, output), scratch)| chunk(input, output, scratch))
    };
    done.map_err(|error| RoutineError::Baseline(error.to_string()))
}
