//! Transforms of rows by rustfft and realfft, planned, in chunks that threads share out where that saves time.

use std::sync::Arc;

use firefly_ops::Direction;
use firefly_ops::rustfft_plans::Planned;
pub use firefly_ops::rustfft_plans::instruction_set;
use rayon::prelude::*;
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, FftError, RealToComplex};
use rustfft::{Fft, FftDirection};

use crate::harness::{HostRoutine, Inputs, Output, Routine};

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

/// Unnormalised complex transforms of `batch` rows of `n` values.
pub fn complex_rows(
    inputs: &Inputs,
    [batch, n]: [usize; 2],
    direction: Direction,
    placement: Placement,
) -> impl Routine {
    let direction = match direction {
        Direction::Forward => FftDirection::Forward,
        Direction::Inverse => FftDirection::Inverse,
    };
    let transform: Arc<dyn Fft<f32>> = f32::plan(n, direction);
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
    let (sizes, scratch) = ([batch, n, n / 2 + 1], transform.get_scratch_len());
    let load = move |input: &mut [f32], set: usize| input.copy_from_slice(&inputs.host(set)[0]);
    overwriting(sizes, scratch, load, move |i, o, s| transform.process_with_scratch(i, o, s), Output::of_complex)
}

/// Unnormalised transforms of `batch` half spectra to real rows of `n` values.
pub fn half_spectra(inputs: &Inputs, [batch, n]: [usize; 2]) -> impl Routine {
    let transform: Arc<dyn ComplexToReal<f32>> = f32::inverse_real_plan(n);
    let (scratch, sets) = (transform.get_scratch_len(), inputs.interleaved());
    let load = move |input: &mut [Complex<f32>], set: usize| input.copy_from_slice(&sets[set]);
    let read = |output: &[f32]| Output { bins: Vec::new(), parts: vec![output.to_vec()] };
    let sizes = [batch, n / 2 + 1, n];
    overwriting(sizes, scratch, load, move |i, o, s| transform.process_with_scratch(i, o, s), read)
}

/// Input, output, and scratch per chunk of rows.
type RowBuffers<I, O> = (Vec<I>, Vec<O>, Vec<Vec<Complex<f32>>>);

/// Transforms of `batch` rows of `from` values to rows of `to`, which overwrite their input: `load` restores that of a
/// set.
fn overwriting<I: Default + Clone + Send, O: Default + Clone + Send>(
    [batch, from, to]: [usize; 3],
    scratch_len: usize,
    load: impl Fn(&mut [I], usize) + Send,
    transform: impl Fn(&mut [I], &mut [O], &mut [Complex<f32>]) -> Result<(), FftError> + Send + Sync,
    read: impl Fn(&[O]) -> Output + Send,
) -> impl Routine {
    let rows = rows_per_chunk(batch, from.max(to));
    let scratch = vec![vec![Complex::default(); scratch_len]; batch.div_ceil(rows)];
    let chunk = move |input: &mut [I], output: &mut [O], scratch: &mut [Complex<f32>]| {
        let mut rows = input.chunks_mut(from).zip(output.chunks_mut(to));
        rows.try_for_each(|(input, output)| transform(input, output, scratch))
    };
    HostRoutine {
        buffers: (vec![I::default(); batch * from], vec![O::default(); batch * to], scratch),
        restore: move |(input, ..): &mut RowBuffers<I, O>, set: usize| load(input, set),
        run: move |(input, output, scratch): &mut RowBuffers<I, O>, _: usize| {
            if let [scratch] = &mut scratch[..] {
                return Ok(chunk(input, output, scratch)?);
            }
            let chunks = input.par_chunks_mut(rows * from).zip(output.par_chunks_mut(rows * to));
            let chunks = chunks.zip(scratch).with_max_len(1);
            Ok(chunks.try_for_each(|((input, output), scratch)| chunk(input, output, scratch))?)
        },
        output: move |(_, output, _): &RowBuffers<I, O>| read(output),
    }
}

fn rows_per_chunk(batch: usize, n: usize) -> usize {
    batch.div_ceil(if batch * n < PARALLEL_VALUES { 1 } else { rayon::current_num_threads() })
}
