//! Discrete Fourier transforms of tensors.

use burn::backend::TensorMetadata;
use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;

use super::row_layout::evenly_spaced;
use super::{device, launched, output};
use crate::gpu::ComplexRows;
use crate::gpu::transform::{StridedRows, TransformCall, TransformKind, TransformProblem, is_padded, transform};
use crate::options::{Direction, FftOptions};

/// The transforms of rows `[…, m]`, of `len` values each: one tensor of real rows, two of complex ones, in and out.
///
/// A real inverse transform is the sum over all bins, of which the interior ones are multiplied by `interior` and those
/// above the middle are the conjugates of their mirror images. Imaginary parts of the first bin, and of the middle one
/// of an even length, are ignored.
pub(super) fn transformed<const PARTS: usize, const OUT: usize>(
    tensors: [CubeTensor; PARTS],
    kind: TransformKind,
    options: &FftOptions,
    len: usize,
) -> [CubeTensor; OUT] {
    let (inputs, layout) = evenly_spaced(tensors);
    let mut shape = inputs[0].shape();
    if let Some(last) = shape.last_mut() {
        *last = len;
    }
    let outputs: [CubeTensor; OUT] =
        std::array::from_fn(|_| output(&inputs[0], shape.clone(), DType::F32, layout.rows));
    if layout.rows > 0 {
        let problem = TransformProblem {
            points: options.length,
            kind,
            is_padded: is_padded(kind, layout.len, options.length),
            // The other sign of the exponent conjugates the spectrum of real rows.
            conjugates: kind != TransformKind::Complex && options.direction == Direction::Inverse,
        };
        let (scale, interior) = (options.scale as f32, options.interior as f32);
        let call = TransformCall { problem, rows: layout.rows, scale, interior };
        let from = StridedRows { values: parts(&inputs), stride: layout.stride, len: layout.len };
        let into = StridedRows::contiguous(parts(&outputs), len);
        launched(transform(&device(&inputs[0]), &call, &from, &into));
    }
    outputs
}

/// The memory of real rows, or of both parts of complex ones.
fn parts(tensors: &[CubeTensor]) -> ComplexRows {
    ComplexRows { re: tensors[0].handle.clone(), im: tensors.get(1).map(|tensor| tensor.handle.clone()) }
}
