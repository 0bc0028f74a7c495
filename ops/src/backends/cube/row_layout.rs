//! Rows of tensors in device memory, read where they are.

use burn::backend::TensorMetadata;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;

use crate::gpu::MAX_ELEMENTS;

/// Evenly spaced rows of consecutive values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowLayout {
    /// Number of rows.
    pub rows: usize,
    /// Values of a row.
    pub len: usize,
    /// Values from the start of one row to the start of the next.
    pub stride: usize,
}

impl RowLayout {
    /// The rows along the last dimension; none where their values are not consecutive or their spacing is not even.
    fn of(tensor: &CubeTensor) -> Option<Self> {
        if tensor.meta.is_tiled() || tensor.qparams.is_some() {
            return None;
        }
        let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
        let (&len, outer) = shape.split_last()?;
        let (&value_stride, outer_strides) = strides.split_last()?;
        if len > 1 && value_stride != 1 {
            return None;
        }
        let mut rows = 1;
        let mut stride = None;
        for (&count, &own) in outer.iter().zip(outer_strides).rev().filter(|&(&count, _)| count != 1) {
            match stride {
                None if own > 0 => stride = Some(own),
                Some(stride) if own == stride * rows => {}
                _ => return None,
            }
            rows *= count;
        }
        Some(Self { rows, len, stride: stride.unwrap_or(len) })
    }
}

/// Tensors of one shape as evenly spaced rows, copied only where they do not share a layout of such rows, or gaps
/// between rows would make kernels count past [`MAX_ELEMENTS`]: neither what a device pads on upload nor what `unfold`
/// cuts out of a recording is.
pub(super) fn evenly_spaced<const N: usize>(tensors: [CubeTensor; N]) -> ([CubeTensor; N], RowLayout) {
    let layouts = tensors.each_ref().map(RowLayout::of);
    let is_counted =
        |layout: &RowLayout| layout.stride <= layout.len || layout.rows.saturating_mul(layout.stride) <= MAX_ELEMENTS;
    let shared = layouts[0].filter(|_| layouts.iter().all(|layout| *layout == layouts[0]));
    if let Some(layout) = shared.filter(is_counted) {
        return (tensors, layout);
    }
    let tensors = tensors.map(into_contiguous);
    let shape = tensors[0].shape();
    let len = shape.last().copied().unwrap_or(1);
    (tensors, RowLayout { rows: shape.num_elements() / len.max(1), len, stride: len })
}
