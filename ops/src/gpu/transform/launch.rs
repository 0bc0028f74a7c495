//! Launches of a transform: one after the other, batches split to the device's memory.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::kernel::{self, TransformInputArgs, TransformOutputArgs, TransformShapeLaunch};
use super::launch_plan::{Fold, RowForm, TransformLaunchPlan, roots_len};
use super::plan::{TransformKind, TransformProblem};
use super::plan_cache::{PreparedTransform, prepared};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{
    DeviceLimit, DeviceLimitError, GpuDevice, MAX_ELEMENTS, Result, buffer, elements, floats, grid, launch,
};

/// Bytes of scratch memory per launch, at most.
const SCRATCH: usize = 256 << 20;
/// Rows per launch start at a multiple of so many values, as devices align bindings to 256 bytes.
pub const ALIGNED_VALUES: usize = 64;
/// Bytes of a pair of values.
const PAIR: usize = size_of::<[f32; 2]>();

/// Rows in device memory; real where there are no imaginary parts.
#[derive(Debug, Clone)]
pub struct StridedRows {
    pub values: ComplexRows,
    /// Values from one row to the next.
    pub stride: usize,
    /// Values of a row.
    pub len: usize,
    /// Whether values are pairs side by side in the place of real ones: complex values, or two samples.
    is_interleaved: bool,
}

impl StridedRows {
    /// Rows of `len` values that start `stride` values apart.
    pub fn new(values: ComplexRows, stride: usize, len: usize) -> Self {
        Self { values, stride, len, is_interleaved: false }
    }

    /// Rows of `len` values one after the other.
    pub fn contiguous(values: ComplexRows, len: usize) -> Self {
        Self::new(values, len, len)
    }

    /// Rows of `len` complex values one after the other, whose parts are side by side at the alignment of pairs.
    pub fn interleaved(pairs: Handle, len: usize) -> Self {
        Self { is_interleaved: true, ..Self::contiguous(ComplexRows::real(pairs), len) }
    }

    /// Real values from one row to the next.
    const fn real_stride(&self) -> usize {
        if self.is_interleaved { 2 * self.stride } else { self.stride }
    }

    /// The rows from `row` on.
    pub(in crate::gpu) fn skip_rows(&self, row: usize) -> Self {
        Self { values: self.values.skip_rows(row, self.real_stride()), ..self.clone() }
    }

    /// Values from the first to the last of `rows` rows.
    fn span(&self, rows: usize) -> usize {
        (rows - 1) * self.stride + self.len
    }

    /// Whether all rows are pairs of real values at the alignment of pairs.
    pub(in crate::gpu) fn is_paired(&self) -> bool {
        let offset = self.values.re.offset_start.unwrap_or(0) as usize;
        [self.stride, self.len].iter().all(|values| values.is_multiple_of(2)) && offset.is_multiple_of(PAIR)
    }

    /// The real values of `rows` rows as a kernel argument.
    pub(in crate::gpu) fn floats(&self, rows: usize) -> BufferArg {
        floats(&self.values.re, self.span(rows))
    }

    /// The pairs of real values of `rows` rows as a kernel argument.
    pub(in crate::gpu) fn pairs(&self, rows: usize) -> BufferArg {
        buffer::<[f32; 2]>(&self.values.re, if self.is_interleaved { self.span(rows) } else { self.span(rows) / 2 })
    }

    /// Real rows as rows of the pairs of their samples, where these are aligned.
    fn in_pairs(self) -> Self {
        if self.is_interleaved || !self.is_paired() {
            return self;
        }
        Self { stride: self.stride / 2, len: self.len / 2, is_interleaved: true, ..self }
    }

    /// Values of `rows` rows as a kernel reads them.
    fn input(&self, rows: usize) -> TransformInputArgs {
        match self.is_interleaved {
            true => TransformInputArgs::Pairs(self.pairs(rows)),
            false => TransformInputArgs::Parts(self.values.buffers(self.span(rows))),
        }
    }

    /// Values of `rows` rows as a kernel writes them, real or complex ones.
    fn output(&self, rows: usize, is_real: bool) -> TransformOutputArgs {
        match is_real {
            _ if self.is_interleaved => TransformOutputArgs::Pairs(self.pairs(rows)),
            true => TransformOutputArgs::Real(self.floats(rows)),
            false => TransformOutputArgs::Complex(self.values.buffers(self.span(rows))),
        }
    }

    /// The fewest rows after which the next one is aligned.
    const fn alignment(&self) -> usize {
        let factors = self.real_stride().trailing_zeros();
        if factors >= ALIGNED_VALUES.ilog2() { 1 } else { ALIGNED_VALUES >> factors }
    }
}

/// A transform of `rows` rows.
#[derive(Debug, Clone, Copy)]
pub struct TransformCall {
    pub problem: TransformProblem,
    /// Rows, at least one.
    pub rows: usize,
    /// Factor of every output.
    pub scale: f32,
    /// Factor of the bins of half spectra that stand for two bins of the whole.
    pub interior: f32,
}

impl TransformCall {
    /// A transform without factors.
    pub fn new(problem: TransformProblem, rows: usize) -> Self {
        Self { problem, rows, scale: 1.0, interior: 1.0 }
    }
}

/// Transforms rows.
///
/// # Errors
/// If the length takes more than the device has, or the rows more elements than a launch counts.
pub fn transform(device: &GpuDevice, call: &TransformCall, input: &StridedRows, output: &StridedRows) -> Result<()> {
    let prepared = prepared(device, call.problem)?;
    let (values, buffers) = prepared.plan.scratch();
    let unit = input.alignment().max(output.alignment());
    let largest = input.stride.max(output.stride).max(values);
    DeviceLimitError::unless(DeviceLimit::LaunchElements, call.rows.min(unit).saturating_mul(largest), MAX_ELEMENTS)?;
    let in_scratch = SCRATCH / size_of::<[f32; 2]>() / (values * buffers).max(1);
    let rows_per_launch = in_scratch.min(MAX_ELEMENTS / largest.max(1)) / unit * unit;
    let rows_per_launch = rows_per_launch.max(unit).min(call.rows);
    let middle: Vec<ComplexRows> =
        (0..buffers).map(|_| ComplexRows::empty(&device.client, rows_per_launch * values)).collect();
    for start in (0..call.rows).step_by(rows_per_launch) {
        let chunk = Chunk {
            call: TransformCall { rows: rows_per_launch.min(call.rows - start), ..*call },
            prepared: &prepared,
            middle: &middle,
            values,
        };
        chunk.launch(device, &input.skip_rows(start), &output.skip_rows(start));
    }
    Ok(())
}

/// The rows that the launches take at a time.
struct Chunk<'a> {
    call: TransformCall,
    prepared: &'a PreparedTransform,
    /// Scratch memory that launches write to in turn.
    middle: &'a [ComplexRows],
    /// Complex values per row of it.
    values: usize,
}

impl Chunk<'_> {
    /// The rows that launch `i` writes and the next one reads.
    fn between(&self, i: usize) -> StridedRows {
        StridedRows::contiguous(self.middle[i % self.middle.len()].clone(), self.values)
    }

    fn launch(&self, device: &GpuDevice, input: &StridedRows, output: &StridedRows) {
        let plan = &self.prepared.plan;
        let last = plan.launches.len() - 1;
        for (i, (launch, table)) in plan.launches.iter().zip(&self.prepared.tables).enumerate() {
            let from = if i == 0 { input.clone() } else { self.between(i - 1) };
            let is_last = i == last && plan.fold.is_none();
            let into = if is_last { output.clone() } else { self.between(i) };
            let scale = if is_last { self.call.scale } else { 1.0 };
            self.run(device, *launch, &from, table, &into, scale);
        }
        if let (Some(fold), Some(table)) = (plan.fold, &self.prepared.fold) {
            self.launch_fold(device, fold, table, &self.between(last), output);
        }
    }

    fn run(
        &self,
        device: &GpuDevice,
        launch: TransformLaunchPlan,
        from: &StridedRows,
        table: &Handle,
        into: &StridedRows,
        scale: f32,
    ) {
        let rows = self.call.rows;
        let sequences = rows * launch.sequences_per_row() as usize;
        // Samples of a cosine transform are in another order.
        let in_pairs = |form| form == RowForm::SamplePairs && !launch.is_cosine;
        let from = if in_pairs(launch.source) { from.clone().in_pairs() } else { from.clone() };
        let into = if in_pairs(launch.sink) { into.clone().in_pairs() } else { into.clone() };
        let is_real = match launch.sink {
            RowForm::Real | RowForm::SamplePairs => true,
            RowForm::PairSpectrum => launch.is_cosine,
            RowForm::Complex | RowForm::Exchanged | RowForm::HalfSpectrum => false,
        };
        let shape = TransformShapeLaunch::new(
            rows as u32,
            from.stride as u32,
            into.stride as u32,
            from.len as u32,
            into.len as u32,
            scale,
            self.call.interior,
        );
        // SAFETY: values that are read are of the rows, columns and points of the buffers, whose lengths were checked
        // as the arguments were made: units past the last sequence or short transform take those of the last one, and
        // store nothing. Loops have constant bounds.
        unsafe {
            launch!(kernel::transform_sequences(
                device,
                grid(device, sequences.div_ceil(launch.layout.sequences as usize), launch.layout.cube_units()),
                from.input(rows),
                buffer::<[f32; 2]>(table, launch.table_len() as usize),
                into.output(rows, is_real),
                shape,
                launch,
            ));
        }
    }

    fn launch_fold(&self, device: &GpuDevice, fold: Fold, table: &Handle, from: &StridedRows, into: &StridedRows) {
        let rows = self.call.rows;
        // SAFETY: units past the last bin end at once, and the others access a bin of the rows and its mirror image.
        unsafe {
            launch!(kernel::fold_spectra(
                device,
                elements(device, rows * (fold.points as usize / 2 + 1)),
                from.values.buffers(from.span(rows)),
                buffer::<[f32; 2]>(table, roots_len(fold.root()) as usize),
                into.output(rows, fold.is_cosine),
                TransformShapeLaunch::new(
                    rows as u32,
                    from.stride as u32,
                    into.stride as u32,
                    from.len as u32,
                    into.len as u32,
                    self.call.scale,
                    self.call.interior,
                ),
                fold,
            ));
        }
    }
}

/// Whether rows of `len` values lack some that a transform of `points` reads.
pub fn is_padded(kind: TransformKind, len: usize, points: usize) -> bool {
    len < if kind == TransformKind::RealInverse { points / 2 + 1 } else { points }
}
