//! Transforms of rows by rustfft and realfft, planned, in chunks that threads share out where that saves time.

use std::sync::Arc;

use firefly_ops::Direction;
use firefly_ops::rustfft_plans::Planned;
pub use firefly_ops::rustfft_plans::instruction_set;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::{Fft, FftDirection};

use crate::harness::{HostRoutine, Inputs, Output, Routine, RoutineError};

/// Number of values from which a second thread saves time.
const PARALLEL_VALUES: usize = 1 << 15;

/// Buffers of a complex transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Every row in place. The input is restored between runs, outside of the time.
    InPlace,
    /// Every row from one buffer into another.
    OutOfPlace,
}

impl Placement {
    pub const fn strategy(self) -> (&'static str, &'static str) {
        match self {
            Self::InPlace => ("rustfft", "host: rustfft, planned, interleaved rows in place"),
            Self::OutOfPlace => {
                ("rustfft-out", "host: rustfft, planned, interleaved rows from one buffer into another")
            }
        }
    }
}

/// Unnormalised complex transforms of `batch` rows of `n` values.
pub fn complex_rows(
    inputs: &Inputs,
    [batch, n]: [usize; 2],
    direction: Direction,
    placement: Placement,
) -> impl Routine {
    let transform: Arc<dyn Fft<f32>> = f32::plan(n, fft_direction(direction));
    let scratch_len = match placement {
        Placement::InPlace => transform.get_inplace_scratch_len(),
        Placement::OutOfPlace => transform.get_immutable_scratch_len(),
    };
    let rows = rows_per_chunk(batch, n);
    let scratch = vec![vec![Complex::default(); scratch_len]; batch.div_ceil(rows)];
    let sets = inputs.interleaved();
    HostRoutine {
        buffers: (vec![Complex::default(); batch * n], scratch),
        restore: move |(output, _): &mut (Vec<Complex<f32>>, _), set: usize| {
            if placement == Placement::InPlace {
                output.copy_from_slice(&sets[set]);
            }
        },
        run: move |(output, scratch): &mut (Vec<Complex<f32>>, Vec<Vec<Complex<f32>>>), set: usize| {
            let row =
                |input: &[Complex<f32>], output: &mut [Complex<f32>], scratch: &mut [Complex<f32>]| match placement {
                    Placement::InPlace => transform.process_with_scratch(output, scratch),
                    Placement::OutOfPlace => transform.process_immutable_with_scratch(input, output, scratch),
                };
            if let [scratch] = &mut scratch[..] {
                row(&sets[set], output, scratch);
            } else {
                let chunks = output.par_chunks_mut(rows * n).zip(sets[set].par_chunks(rows * n));
                let chunks = chunks.zip(scratch).with_max_len(1);
                chunks.for_each(|((output, input), scratch)| row(input, output, scratch));
            }
            Ok(())
        },
        output: |(output, _): &(Vec<Complex<f32>>, _)| Output::of_complex(output),
    }
}

/// Unnormalised transforms of `batch` real rows of `n` values to half spectra.
pub fn real_rows(inputs: &Inputs, [batch, n]: [usize; 2]) -> impl Routine {
    let transform: Arc<dyn RealToComplex<f32>> = f32::real_plan(n);
    let buffers = RowBuffers::new(batch, [n, n / 2 + 1], n, transform.get_scratch_len());
    HostRoutine {
        buffers,
        restore: move |buffers: &mut RealBuffers, set: usize| buffers.input.copy_from_slice(&inputs.host(set)[0]),
        run: move |buffers: &mut RealBuffers, _: usize| {
            buffers.each_row(|input, output, scratch| transform.process_with_scratch(input, output, scratch))
        },
        output: |buffers: &RealBuffers| Output::of_complex(&buffers.output),
    }
}

/// Unnormalised transforms of `batch` half spectra to real rows of `n` values.
pub fn half_spectra(inputs: &Inputs, [batch, n]: [usize; 2]) -> impl Routine {
    let transform: Arc<dyn ComplexToReal<f32>> = f32::inverse_real_plan(n);
    let buffers = RowBuffers::new(batch, [n / 2 + 1, n], n, transform.get_scratch_len());
    let sets = inputs.interleaved();
    HostRoutine {
        buffers,
        restore: move |buffers: &mut SpectrumBuffers, set: usize| buffers.input.copy_from_slice(&sets[set]),
        run: move |buffers: &mut SpectrumBuffers, _: usize| {
            buffers.each_row(|input, output, scratch| transform.process_with_scratch(input, output, scratch))
        },
        output: |buffers: &SpectrumBuffers| Output { bins: Vec::new(), parts: vec![buffers.output.clone()] },
    }
}

type RealBuffers = RowBuffers<f32, Complex<f32>>;
type SpectrumBuffers = RowBuffers<Complex<f32>, f32>;

/// Buffers of transforms that overwrite their input, with scratch per chunk of rows.
struct RowBuffers<I, O> {
    input: Vec<I>,
    output: Vec<O>,
    widths: [usize; 2],
    scratch: Vec<Vec<Complex<f32>>>,
    rows: usize,
}

impl<I: Default + Clone + Send, O: Default + Clone + Send> RowBuffers<I, O> {
    fn new(batch: usize, widths: [usize; 2], n: usize, scratch_len: usize) -> Self {
        let rows = rows_per_chunk(batch, n);
        Self {
            input: vec![I::default(); batch * widths[0]],
            output: vec![O::default(); batch * widths[1]],
            widths,
            scratch: vec![vec![Complex::default(); scratch_len]; batch.div_ceil(rows)],
            rows,
        }
    }

    fn each_row(
        &mut self,
        transform: impl Fn(&mut [I], &mut [O], &mut [Complex<f32>]) -> Result<(), FftError> + Sync,
    ) -> Result<(), RoutineError> {
        let Self { input, output, widths, scratch, rows } = self;
        let chunk = |input: &mut [I], output: &mut [O], scratch: &mut [Complex<f32>]| {
            let mut rows = input.chunks_mut(widths[0]).zip(output.chunks_mut(widths[1]));
            rows.try_for_each(|(input, output)| transform(input, output, scratch))
        };
        let done = if let [scratch] = &mut scratch[..] {
            chunk(input, output, scratch)
        } else {
            let chunks = input.par_chunks_mut(*rows * widths[0]).zip(output.par_chunks_mut(*rows * widths[1]));
            let chunks = chunks.zip(scratch).with_max_len(1);
            chunks.try_for_each(|((input, output), scratch)| chunk(input, output, scratch))
        };
        done.map_err(|error| RoutineError::Failed(error.to_string()))
    }
}

fn rows_per_chunk(batch: usize, n: usize) -> usize {
    batch.div_ceil(if batch * n < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() })
}

fn fft_direction(direction: Direction) -> FftDirection {
    match direction {
        Direction::Forward => FftDirection::Forward,
        Direction::Inverse => FftDirection::Inverse,
    }
}
