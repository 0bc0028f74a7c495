//! Transforms of the segments of a Welch estimate in a launch of their own.

use crate::gpu::butterfly::ButterflyTransform;
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice};
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, transform};
use crate::options::has_butterflies;

/// The transform of complex rows of `n` values: by butterflies where `n` is a length of theirs.
pub struct ExactTransform {
    n: usize,
    butterflies: Option<ButterflyTransform>,
}

impl ExactTransform {
    /// The transform of a length.
    pub fn new(device: &GpuDevice, n: usize) -> Self {
        Self { n, butterflies: has_butterflies(n).then(|| ButterflyTransform::exact(device, n)) }
    }

    /// Transforms `rows` contiguous rows.
    ///
    /// # Errors
    /// If the device can't transform rows of that length.
    pub fn forward(
        &self,
        device: &GpuDevice,
        input: &ComplexRows,
        output: &ComplexRows,
        rows: usize,
    ) -> Result<(), DeviceLimitError> {
        if let Some(butterflies) = &self.butterflies {
            return butterflies.forward(device, input, output, rows);
        }
        let strided = |values: &ComplexRows| StridedRows { values: values.clone(), stride: self.n, len: self.n };
        let problem =
            TransformProblem { points: self.n, kind: TransformKind::Complex, is_padded: false, conjugates: false };
        transform(
            device,
            &TransformCall { problem, rows, scale: 1.0, interior: 1.0 },
            &strided(input),
            &strided(output),
        )
    }
}
