//! Transforms of the columns of matrices: of all points to all bins, or between points and the modes that are kept.
//!
//! Adjacent columns are adjacent in memory, so a register holds as many without a transposition.

use rustfft::FftDirection;
use rustfft::num_complex::Complex as Value;

use super::lanes::{ComplexParts, ComplexPartsMut};
use super::passes::passes;
use super::plan::MixedRadixPlan;
use super::planned::work;
use crate::cpu::butterfly::tile::width;
use crate::cpu::isa::lines::{Line, take_complexes, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register, load_some, store_some};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::{Direction, FftOptions};
use crate::spectral_shape::Columns;

/// Whether [`complex_fft_columns`] takes columns of `points` values, `width` beside each other, on this thread.
pub fn columns_fill_lanes(points: usize, width: usize) -> bool {
    MixedRadixPlan::of(points, width).is_some()
}

/// Transforms of the columns of matrices, where [`columns_fill_lanes`]: `input` and `output` `[matrices, n, width]`,
/// what [`complex_fft`](super::complex_fft()) is to rows.
pub fn complex_fft_columns(input: [&[f32]; 2], width: usize, options: &FftOptions, output: [&mut [f32]; 2]) {
    let n = options.length;
    let columns = Columns { points: n, modes: n, width };
    let transform =
        ColumnTransform { columns, direction: Direction::Forward, rows: [n; 2], factor: options.scale as f32 };
    // The inverse transform is the forward one with real and imaginary parts exchanged.
    match (options.direction, input, output) {
        (Direction::Forward, input, output) => transform.run(input, output),
        (Direction::Inverse, [re, im], [out_re, out_im]) => transform.run([im, re], [out_im, out_re]),
    }
}

/// The modes of the columns of matrices: `input` `[matrices, points, width]` → `output` `[matrices, modes, width]`,
/// bins of the unnormalised forward transform.
pub fn columns_to_modes<T: Real>(columns: &Columns, input: [&[T]; 2], output: [&mut [T]; 2]) {
    let rows = [columns.points, columns.modes];
    ColumnTransform { columns: *columns, direction: Direction::Forward, rows, factor: 1.0 }.run(input, output);
}

/// The columns of matrices from their modes, all other bins being 0: `input` `[matrices, modes, width]` → `output`
/// `[matrices, points, width]`, the unnormalised inverse transform.
pub fn modes_to_columns<T: Real>(columns: &Columns, [re, im]: [&[T]; 2], [out_re, out_im]: [&mut [T]; 2]) {
    let rows = [columns.modes, columns.points];
    // The inverse transform is the forward one with real and imaginary parts exchanged.
    ColumnTransform { columns: *columns, direction: Direction::Inverse, rows, factor: 1.0 }
        .run([im, re], [out_im, out_re]);
}

/// One transform for the columns of all matrices.
#[derive(Debug, Clone, Copy)]
struct ColumnTransform {
    columns: Columns,
    /// Forward from points to modes, inverse from modes to points.
    direction: Direction,
    /// Rows of the input and of the output.
    rows: [usize; 2],
    factor: f32,
}

impl ColumnTransform {
    fn run<T: Real>(self, input: [&[T]; 2], [out_re, out_im]: [&mut [T]; 2]) {
        // In f32 and with a plan a column per lane, else column by column. A task has whole matrices.
        let Columns { points, width, .. } = self.columns;
        let [from, to] = self.rows.map(|rows| rows * width);
        let matrices = out_re.len() / to;
        debug_assert!(input.iter().all(|part| part.len() == matrices * from) && out_im.len() == out_re.len());
        if let (Some(input), Some(out_re), Some(out_im)) =
            (T::parts_as_f32(input), T::as_f32_mut(out_re), T::as_f32_mut(out_im))
            && let Some(plan) = MixedRadixPlan::of(points, width)
        {
            let tasks = Tasks::independent(matrices, plan.work() * width);
            return tasks.run(tasks.pieces(Some(input), from, [out_re, out_im], to), |(input, output)| {
                self.run_in_lanes(&plan, input.unwrap_or_default(), output);
            });
        }
        let tasks = Tasks::independent(matrices, work(points) * width);
        tasks.run(tasks.pieces(Some(input), from, [out_re, out_im], to), |(input, output)| {
            self.run_one_by_one(input.unwrap_or_default(), output);
        });
    }

    /// The bins or points that the rows of the input, or of the output, are.
    #[inline(always)]
    fn place(&self, row: usize, are_modes: bool) -> usize {
        if are_modes { self.columns.bin(row) } else { row }
    }

    /// Columns by the plans of rustfft.
    fn run_one_by_one<T: Real>(&self, [re, im]: [&[T]; 2], [out_re, out_im]: [&mut [T]; 2]) {
        let Columns { points, width, .. } = self.columns;
        let [from, to] = self.rows.map(|rows| rows * width);
        let is_inverse = self.direction == Direction::Inverse;
        let plan = T::plan(points, FftDirection::Forward);
        T::with_scratch(|scratch| {
            let (buffer, _, _) = scratch.buffers(points + plan.get_inplace_scratch_len(), 0, 0);
            let (values, spare) = buffer.split_at_mut(points);
            let inputs = re.chunks_exact(from).zip(im.chunks_exact(from));
            let outputs = out_re.chunks_exact_mut(to).zip(out_im.chunks_exact_mut(to));
            for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
                for column in 0..width {
                    // The column, or its modes at their bins, every other bin 0.
                    values.fill(Value::new(T::zero(), T::zero()));
                    for row in 0..self.rows[0] {
                        let at = row * width + column;
                        values[self.place(row, is_inverse)] = Value::new(re[at], im[at]);
                    }
                    plan.process_with_scratch(values, spare);
                    // All points, or the bins of the modes that are kept.
                    for row in 0..self.rows[1] {
                        let value = values[self.place(row, !is_inverse)];
                        let factor = T::of(self.factor.into());
                        (out_re[row * width + column], out_im[row * width + column]) =
                            (value.re * factor, value.im * factor);
                    }
                }
            }
        });
    }

    /// Columns of f32 with a column per lane.
    fn run_in_lanes(self, plan: &MixedRadixPlan, input: ComplexParts<'_>, output: ComplexPartsMut<'_>) {
        let lanes = width(self.columns.width);
        let lines = 2 * (plan.points + plan.largest_radix) * MAX_LANES / Line::LEN;
        with_lines(lines, |memory| {
            let kernel = ColumnsKernel { transform: self, plan, input, output, memory };
            dispatch(InstructionSet::current(), lanes, kernel);
        });
    }
}

struct ColumnsKernel<'a> {
    transform: ColumnTransform,
    plan: &'a MixedRadixPlan,
    input: ComplexParts<'a>,
    output: ComplexPartsMut<'a>,
    memory: &'a mut [Line],
}

impl Kernel for ColumnsKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { transform, plan, input: [re, im], output: [out_re, out_im], mut memory } = self;
        let (width, factor) = (transform.columns.width, V::splat(token, transform.factor));
        let [from, to] = transform.rows.map(|rows| rows * width);
        let is_inverse = transform.direction == Direction::Inverse;
        let tile = take_complexes::<V>(token, &mut memory, plan.points);
        let pairs = take_complexes::<V>(token, &mut memory, plan.largest_radix).as_chunks_mut::<2>().0;
        let inputs = re.chunks_exact(from).zip(im.chunks_exact(from));
        let outputs = out_re.chunks_exact_mut(to).zip(out_im.chunks_exact_mut(to));
        for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
            for block in 0..width.div_ceil(V::LANES) {
                // The last block is full too, and takes some columns again. There may be fewer columns than lanes.
                let start = (block * V::LANES).min(width.saturating_sub(V::LANES));
                let used = V::LANES.min(width);
                // Bins without a mode are 0.
                if transform.rows[0] < plan.points {
                    tile.fill(Complex::zero(token));
                }
                // Rows go where the passes take them, so that the outputs are in natural order.
                for row in 0..transform.rows[0] {
                    let at = row * width + start..row * width + start + used;
                    let place = plan.places[transform.place(row, is_inverse)] as usize;
                    tile[place] = Complex { re: load_some(token, &re[at.clone()]), im: load_some(token, &im[at]) };
                }
                passes(token, plan, tile, pairs);
                // All points, or the bins of the modes that are kept, times the factor.
                for row in 0..transform.rows[1] {
                    let at = row * width + start..row * width + start + used;
                    let value = tile[transform.place(row, !is_inverse)];
                    store_some(value.re * factor, &mut out_re[at.clone()]);
                    store_some(value.im * factor, &mut out_im[at]);
                }
            }
        }
    }
}
