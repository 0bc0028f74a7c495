//! Launches of the transforms of columns: in place where a column fits a cube, else as rows, by two copies.

use super::kernel::{self, ColumnShapeLaunch};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice, elements, launch};
use crate::gpu::transform::plan_cache::planned;
use crate::gpu::transform::{ColumnModes, StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::spectral_shape::Columns;

/// A transform of the columns of `matrices` matrices.
#[derive(Debug, Clone, Copy)]
pub struct ColumnTransform {
    pub columns: Columns,
    pub matrices: usize,
}

impl ColumnTransform {
    /// The modes `[matrices, modes, width]` of the columns of `[matrices, points, width]`: bins of the forward
    /// transform.
    pub fn forward(&self, device: &GpuDevice, input: &ComplexRows) -> Result<ComplexRows, DeviceLimitError> {
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
    pub fn inverse(&self, device: &GpuDevice, input: &ComplexRows) -> Result<ComplexRows, DeviceLimitError> {
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

    /// Transforms the columns in one launch, if a column fits a cube. `rows` are those of a matrix that is read, and
    /// of one that is written.
    fn launch(
        &self,
        device: &GpuDevice,
        kind: TransformKind,
        [input, output]: [&ComplexRows; 2],
        rows: [usize; 2],
    ) -> Result<bool, DeviceLimitError> {
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
    fn transform_rows(&self, device: &GpuDevice, rows: &ComplexRows) -> Result<ComplexRows, DeviceLimitError> {
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
        let (cubes, units) = elements(device, values);
        // SAFETY: units past the last value end at once; the others read a row of the matrices, or none.
        unsafe {
            launch!(
                device,
                kernel::columns_to_rows(
                    &device.client,
                    cubes,
                    units,
                    from.buffers(self.matrices * rows * width),
                    into.buffers(values),
                    self.shape(values, rows),
                )
            );
        }
        into
    }

    /// Columns of `rows` rows from rows of all points.
    fn copy_back(&self, device: &GpuDevice, from: &ComplexRows, into: &ComplexRows, rows: usize) {
        let Columns { points, width, .. } = self.columns;
        let values = self.matrices * rows * width;
        let (cubes, units) = elements(device, values);
        // SAFETY: units past the last value end at once; the others read one of the points of a column.
        unsafe {
            launch!(
                device,
                kernel::rows_to_columns(
                    &device.client,
                    cubes,
                    units,
                    from.buffers(self.matrices * width * points),
                    into.buffers(values),
                    self.shape(values, rows),
                )
            );
        }
    }

    fn shape(&self, values: usize, rows: usize) -> ColumnShapeLaunch {
        let Columns { points, width, .. } = self.columns;
        ColumnShapeLaunch::new(values as u32, rows as u32, points as u32, width as u32)
    }
}
