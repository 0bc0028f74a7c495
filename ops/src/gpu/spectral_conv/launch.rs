//! Launches of a spectral convolution and of its backward pass, for each part of a batch.

use std::ops::Range;

use super::kernel::{self, ColumnShapeLaunch, ModeProductShapeLaunch};
use super::plan::{BatchPlan, MatrixStrides, ProductForm, ProductPlan, ProductSize};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{GpuDevice, Result, elements, grid, launch};
use crate::gpu::reduce::sum_rows;
use crate::gpu::transform::plan_cache::planned;
use crate::gpu::transform::{ColumnModes, StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::options::{Direction, FftOptions};
use crate::spectral_shape::{Columns, SpectralShape};

pub struct SpectralConv<'a> {
    pub device: &'a GpuDevice,
    /// Sizes; the batch is not empty.
    pub shape: &'a SpectralShape,
    /// `[inputs, outputs, modes…]`, contiguous.
    pub weights: ComplexRows,
}

/// Buffers of gradients; those that are absent are not computed.
pub struct SpectralConvGradients {
    /// `[batch, inputs, points…]`, contiguous.
    pub input: Option<StridedRows>,
    /// `[inputs, outputs, modes…]`, contiguous.
    pub weights: Option<ComplexRows>,
}

impl SpectralConv<'_> {
    /// `output` `[batch, outputs, points…]` from `input` `[batch, inputs, points…]`, rows of the last dimension.
    ///
    /// # Errors
    /// If a length takes more than the device has, or a batch element more values than a launch counts.
    pub fn forward(&self, input: &StridedRows, output: &StridedRows) -> Result<()> {
        let shape = self.shape;
        for batch in BatchPlan::of(shape, &[input.stride, output.stride])?.parts() {
            let spectra = self.transform(&shape.forward(), input, &batch, shape.inputs)?;
            let product = self.times_weights(&spectra, batch.len(), false);
            self.transform_back(&shape.inverse(), product, &batch, shape.outputs, output)?;
        }
        Ok(())
    }

    /// Computes gradients of the inputs of [`forward`](Self::forward) from the gradient of its output.
    pub fn backward(&self, input: &StridedRows, grad: &StridedRows, into: &SpectralConvGradients) -> Result<()> {
        let shape = self.shape;
        let strides = [input.stride, grad.stride, shape.points[shape.last()]];
        for batch in BatchPlan::of(shape, &strides)?.parts() {
            let of_output = self.transform(&shape.inverse_adjoint(), grad, &batch, shape.outputs)?;
            if let Some(of_weights) = &into.weights {
                let spectra = self.transform(&shape.forward(), input, &batch, shape.inputs)?;
                self.add_over_batch(&of_output, &spectra, &batch, of_weights);
            }
            if let Some(of_input) = &into.input {
                let product = self.times_weights(&of_output, batch.len(), true);
                self.transform_back(&shape.forward_adjoint(), product, &batch, shape.inputs, of_input)?;
            }
        }
        Ok(())
    }

    /// The kept modes `[batch, channels, modes…]` of rows.
    fn transform(
        &self,
        options: &FftOptions,
        input: &StridedRows,
        batch: &Range<usize>,
        channels: usize,
    ) -> Result<ComplexRows> {
        let (device, shape, last) = (self.device, self.shape, self.shape.last());
        let (points, kept) = (options.length, shape.modes[last]);
        let per_channel = shape.samples() / points;
        let rows = batch.len() * channels * per_channel;
        let values = ComplexRows::empty(&device.client, rows * kept);
        let kind = if kept < options.bins() { TransformKind::LowestBins } else { TransformKind::RealForward };
        let input = input.skip_rows(batch.start * channels * per_channel);
        let output = StridedRows::contiguous(values.clone(), kept);
        transform(device, &call(kind, options, rows, false), &input, &output)?;
        (0..last).rev().try_fold(values, |values, dim| {
            let matrices = batch.len() * channels * shape.points[..dim].iter().product::<usize>();
            ColumnTransform { columns: shape.columns(dim), matrices }.forward(device, &values)
        })
    }

    /// Rows `output` of all points from their modes `[batch, channels, modes…]`.
    fn transform_back(
        &self,
        options: &FftOptions,
        modes: ComplexRows,
        batch: &Range<usize>,
        channels: usize,
        output: &StridedRows,
    ) -> Result<()> {
        let (device, shape, last) = (self.device, self.shape, self.shape.last());
        let values = (0..last).try_fold(modes, |values, dim| {
            let matrices = batch.len() * channels * shape.points[..dim].iter().product::<usize>();
            ColumnTransform { columns: shape.columns(dim), matrices }.inverse(device, &values)
        })?;
        let (points, kept) = (options.length, shape.modes[last]);
        let per_channel = shape.samples() / points;
        let rows = batch.len() * channels * per_channel;
        let input = StridedRows::contiguous(values, kept);
        let output = output.skip_rows(batch.start * channels * per_channel);
        transform(device, &call(TransformKind::RealInverse, options, rows, kept < options.bins()), &input, &output)
    }

    /// Spectra times the weights of their modes, summed over input channels; or, for the adjoint, times the conjugate
    /// weights, summed over output channels.
    fn times_weights(&self, spectra: &ComplexRows, batch: usize, is_adjoint: bool) -> ComplexRows {
        let shape = self.shape;
        let modes = shape.channel_modes();
        let [terms, columns] = match is_adjoint {
            false => [shape.inputs, shape.outputs],
            true => [shape.outputs, shape.inputs],
        };
        let (row, column) = (shape.outputs * modes, modes);
        let (row, column) = if is_adjoint { (column, row) } else { (row, column) };
        let weights = ModeMatrix { values: self.weights.clone(), row, column };
        let values = ComplexRows::empty(&self.device.client, batch * columns * modes);
        let matrix = |values: &ComplexRows, channels| ModeMatrix {
            values: values.clone(),
            row: channels * modes,
            column: modes,
        };
        let size = ProductSize { rows: batch, columns, terms, modes };
        ModeProduct { conjugates: is_adjoint, ..ModeProduct::new(size) }.launch(
            self.device,
            &matrix(spectra, terms),
            &weights,
            &matrix(&values, columns),
        );
        values
    }

    /// Gradients of the weights: Σ_b grad\[b, o\] · spectra\[b, i\]*, on top of those of earlier parts of the batch.
    fn add_over_batch(&self, grad: &ComplexRows, spectra: &ComplexRows, batch: &Range<usize>, into: &ComplexRows) {
        let shape = self.shape;
        let modes = shape.channel_modes();
        let row = shape.outputs * modes;
        let size = ProductSize { rows: shape.outputs, columns: shape.inputs, terms: batch.len(), modes };
        let product = ModeProduct { conjugates: true, accumulates: batch.start > 0, ..ModeProduct::new(size) };
        product.launch(
            self.device,
            &ModeMatrix { values: grad.clone(), row: modes, column: row },
            &ModeMatrix { values: spectra.clone(), row: shape.inputs * modes, column: modes },
            &ModeMatrix { values: into.clone(), row: modes, column: row },
        );
    }
}

/// A transform of real rows along the last dimension.
fn call(kind: TransformKind, options: &FftOptions, rows: usize, is_padded: bool) -> TransformCall {
    // The other sign of the exponent conjugates half spectra.
    let conjugates = options.direction == Direction::Inverse;
    let problem = TransformProblem { points: options.length, kind, is_padded, conjugates };
    TransformCall { problem, rows, scale: options.scale as f32, interior: options.interior as f32 }
}

/// A matrix of complex rows of modes in device memory; row (i, j) starts at `row`·i + `column`·j.
#[derive(Debug, Clone)]
pub struct ModeMatrix {
    pub values: ComplexRows,
    pub row: usize,
    pub column: usize,
}

impl ModeMatrix {
    pub fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    fn strides(&self) -> MatrixStrides {
        MatrixStrides { row: self.row as u32, column: self.column as u32 }
    }
}

/// A product of matrices, one per mode.
#[derive(Debug, Clone, Copy)]
pub struct ModeProduct {
    pub size: ProductSize,
    /// Such products whose matrices lie one after the other.
    pub batch: usize,
    /// Whether the right factor is conjugated.
    pub conjugates: bool,
    /// Whether the product is Hermitian.
    pub is_hermitian: bool,
    /// Whether the product is added to what is there.
    pub accumulates: bool,
}

impl ModeProduct {
    /// The product of any two matrices.
    pub fn new(size: ProductSize) -> Self {
        Self { size, batch: 1, conjugates: false, is_hermitian: false, accumulates: false }
    }

    /// Computes the product of `left` and `right` into `product`, which is contiguous in some order.
    pub fn launch(&self, device: &GpuDevice, left: &ModeMatrix, right: &ModeMatrix, product: &ModeMatrix) {
        let ProductSize { rows, columns, terms, modes } = self.size;
        let form = ProductForm {
            conjugates: self.conjugates,
            is_hermitian: self.is_hermitian,
            left: left.strides(),
            right: right.strides(),
            product: product.strides(),
        };
        let plan = ProductPlan::of(self.size, form, &device.limits);
        let values = self.batch * rows * columns * modes;
        let is_direct = plan.parts == 1 && !self.accumulates;
        let sums = match is_direct {
            true => product.values.clone(),
            false => ComplexRows::empty(&device.client, plan.parts * values),
        };
        let shape = ModeProductShapeLaunch::new(
            rows as u32,
            columns as u32,
            terms as u32,
            modes as u32,
            plan.lanes as u32,
            plan.blocks as u32,
            plan.patch[1] as u32,
            plan.patch[0] as u32,
            plan.patches[1] as u32,
            plan.patches[0] as u32,
            self.batch as u32,
            plan.parts as u32,
            plan.part_terms as u32,
            values as u32,
        );
        // SAFETY: units past the last cube, mode, row or column end at once; the others read rows and columns of the
        // matrices, the last ones where a tile goes beyond, and write their own. The loop ends at the last term.
        unsafe {
            launch!(kernel::mode_product(
                device,
                grid(device, self.batch * plan.cubes(), plan.units() as u32),
                left.values.buffers(self.batch * rows * terms * modes),
                right.values.buffers(self.batch * terms * columns * modes),
                sums.buffers(plan.parts * values),
                shape,
                plan.tile,
            ));
        }
        if !is_direct {
            let into = [&product.values.re, product.values.imaginary()];
            for (sums, into) in [&sums.re, sums.imaginary()].into_iter().zip(into) {
                sum_rows(device, sums.clone(), plan.parts, values, into, self.accumulates);
            }
        }
    }
}

/// A transform of the columns of `matrices` matrices.
#[derive(Debug, Clone, Copy)]
pub struct ColumnTransform {
    pub columns: Columns,
    pub matrices: usize,
}

impl ColumnTransform {
    /// The modes `[matrices, modes, width]` of columns of `[matrices, points, width]`: bins of the forward transform.
    pub fn forward(&self, device: &GpuDevice, input: &ComplexRows) -> Result<ComplexRows> {
        let Columns { points, modes, width } = self.columns;
        let output = ComplexRows::empty(&device.client, self.matrices * modes * width);
        if self.launch(device, TransformKind::ColumnsToModes(self.kept()), [input, &output], [points, modes])? {
            return Ok(output);
        }
        let rows = self.copy(device, input, points);
        self.copy_back(device, &self.transform_rows(device, &rows)?, &output, modes);
        Ok(output)
    }

    /// The columns `[matrices, points, width]` whose modes are `[matrices, modes, width]`: the inverse transform.
    pub fn inverse(&self, device: &GpuDevice, input: &ComplexRows) -> Result<ComplexRows> {
        let Columns { points, modes, width } = self.columns;
        let output = ComplexRows::empty(&device.client, self.matrices * points * width);
        // The inverse transform is the transform of exchanged parts, exchanged.
        let [from, into] = [input, &output].map(|values| values.clone().exchanged());
        if !self.launch(device, TransformKind::ModesToColumns(self.kept()), [&from, &into], [modes, points])? {
            let rows = self.copy(device, &from, modes);
            self.copy_back(device, &self.transform_rows(device, &rows)?, &into, points);
        }
        Ok(output)
    }

    fn kept(&self) -> ColumnModes {
        ColumnModes { columns: self.columns.width as u32, modes: self.columns.modes as u32 }
    }

    /// Transforms the columns in one launch, if one fits a cube. `rows` are those of the matrices read and written.
    fn launch(
        &self,
        device: &GpuDevice,
        kind: TransformKind,
        [input, output]: [&ComplexRows; 2],
        rows: [usize; 2],
    ) -> Result<bool> {
        let problem = TransformProblem::new(self.columns.points, kind);
        if planned(&device.limits, problem).is_err() {
            return Ok(false);
        }
        let [from, into] = rows.map(|rows| rows * self.columns.width);
        let [input, output] =
            [(input, from), (output, into)].map(|(rows, len)| StridedRows::contiguous(rows.clone(), len));
        transform(device, &TransformCall::new(problem, self.matrices), &input, &output)?;
        Ok(true)
    }

    /// The forward transforms of all columns, which are rows.
    fn transform_rows(&self, device: &GpuDevice, rows: &ComplexRows) -> Result<ComplexRows> {
        let (points, count) = (self.columns.points, self.matrices * self.columns.width);
        let output = ComplexRows::empty(&device.client, count * points);
        let call = TransformCall::new(TransformProblem::new(points, TransformKind::Complex), count);
        let [from, into] = [rows, &output].map(|rows| StridedRows::contiguous(rows.clone(), points));
        transform(device, &call, &from, &into)?;
        Ok(output)
    }

    /// Columns of `rows` rows as rows of all points.
    fn copy(&self, device: &GpuDevice, from: &ComplexRows, rows: usize) -> ComplexRows {
        let Columns { points, width, .. } = self.columns;
        let values = self.matrices * width * points;
        let into = ComplexRows::empty(&device.client, values);
        // SAFETY: units past the last value end at once; the others read a row of the matrices, or none.
        unsafe {
            launch!(kernel::columns_to_rows(
                device,
                elements(device, values),
                from.buffers(self.matrices * rows * width),
                into.buffers(values),
                self.shape(values, rows),
            ));
        }
        into
    }

    /// Columns of `rows` rows from rows of all points.
    fn copy_back(&self, device: &GpuDevice, from: &ComplexRows, into: &ComplexRows, rows: usize) {
        let Columns { points, width, .. } = self.columns;
        let values = self.matrices * rows * width;
        // SAFETY: units past the last value end at once; the others read one of the points of a column.
        unsafe {
            launch!(kernel::rows_to_columns(
                device,
                elements(device, values),
                from.buffers(self.matrices * width * points),
                into.buffers(values),
                self.shape(values, rows),
            ));
        }
    }

    fn shape(&self, values: usize, rows: usize) -> ColumnShapeLaunch {
        let Columns { points, width, .. } = self.columns;
        ColumnShapeLaunch::new(values as u32, rows as u32, points as u32, width as u32)
    }
}
