//! Transforms of Burn's tensors.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::tensor::CubeTensor;

use super::launch::{Call, StridedRows, is_padded, transform};
use super::plan::{Kind, Problem};
use crate::gpu::complex::ComplexRows;
use crate::gpu::device::{DeviceLimitError, GpuDevice};
use crate::options::{Direction, FftOptions};

/// The complex transform of rows, `[…, m]` to `[…, length]`, both parts of one shape.
///
/// # Errors
/// If the device's limits are too low for the length or the number of elements.
pub fn complex(
    re: CubeTensor,
    im: CubeTensor,
    options: &FftOptions,
) -> Result<(CubeTensor, CubeTensor), DeviceLimitError> {
    // The inverse transform is the transform of exchanged parts, exchanged.
    let inverse = options.direction == Direction::Inverse;
    let input = Rows::complex(if inverse { [im, re] } else { [re, im] });
    let [re, im] = input.transform(Kind::Complex, options, options.length)?;
    Ok(if inverse { (im, re) } else { (re, im) })
}

/// The half spectrum of real rows, `[…, m]` to `[…, length/2 + 1]`, its interior bins times `interior`.
///
/// # Errors
/// As [`complex`].
pub fn real_forward(signal: CubeTensor, options: &FftOptions) -> Result<(CubeTensor, CubeTensor), DeviceLimitError> {
    let [re, im] = Rows::real(signal).transform(Kind::RealForward, options, options.length / 2 + 1)?;
    Ok((re, im))
}

/// The real rows whose half spectra are given, `[…, m]` to `[…, length]`: the sum over all bins, of which the interior
/// ones are multiplied by `interior` and those above the middle are the conjugates of their mirror images. Imaginary
/// parts of the first bin, and of the middle one of an even length, are ignored.
///
/// # Errors
/// As [`complex`].
pub fn real_inverse(re: CubeTensor, im: CubeTensor, options: &FftOptions) -> Result<CubeTensor, DeviceLimitError> {
    let [rows] = Rows::complex([re, im]).transform(Kind::RealInverse, options, options.length)?;
    Ok(rows)
}

/// The rows of a tensor, or of two of the same layout.
struct Rows {
    tensors: Vec<CubeTensor>,
    /// Number of rows, values of each, and from one to the next.
    size: [usize; 3],
}

impl Rows {
    fn real(tensor: CubeTensor) -> Self {
        let tensor = floats(tensor);
        match row_layout(&tensor) {
            Some(size) => Self { tensors: vec![tensor], size },
            None => Self::contiguous(vec![tensor]),
        }
    }

    fn complex(parts: [CubeTensor; 2]) -> Self {
        let tensors = parts.map(floats);
        match tensors.each_ref().map(row_layout) {
            [Some(size), Some(other)] if size == other => Self { tensors: tensors.into(), size },
            _ => Self::contiguous(tensors.into()),
        }
    }

    /// The rows copied to contiguous memory.
    fn contiguous(tensors: Vec<CubeTensor>) -> Self {
        let tensors: Vec<_> = tensors.into_iter().map(into_contiguous).collect();
        let shape = tensors[0].shape();
        let len = shape.last().copied().unwrap_or(1);
        Self { size: [shape.num_elements() / len.max(1), len, len], tensors }
    }

    /// The transformed rows, of `len` values each; one tensor of real rows, two of complex ones.
    fn transform<const PARTS: usize>(
        &self,
        kind: Kind,
        options: &FftOptions,
        len: usize,
    ) -> Result<[CubeTensor; PARTS], DeviceLimitError> {
        let [rows, samples, stride] = self.size;
        let like = &self.tensors[0];
        let mut shape = like.shape();
        if let Some(last) = shape.last_mut() {
            *last = len;
        }
        let outputs: [CubeTensor; PARTS] = std::array::from_fn(|_| output(like, shape.clone()));
        if rows == 0 {
            return Ok(outputs);
        }
        let handles = |tensors: &[CubeTensor]| ComplexRows {
            re: tensors[0].handle.clone(),
            im: tensors.get(1).map(|tensor| tensor.handle.clone()),
        };
        let problem = Problem {
            points: options.length,
            kind,
            is_padded: is_padded(kind, samples, options.length),
            // The other sign of the exponent conjugates the spectrum of real rows.
            conjugates: kind != Kind::Complex && options.direction == Direction::Inverse,
        };
        let call = Call { problem, rows, scale: options.scale as f32, interior: options.interior as f32 };
        let input = StridedRows { values: handles(&self.tensors), stride, len: samples };
        let output = StridedRows { values: handles(&outputs), stride: len, len };
        transform(&GpuDevice::of(&like.client), &call, &input, &output)?;
        Ok(outputs)
    }
}

/// A tensor as f32.
fn floats(tensor: CubeTensor) -> CubeTensor {
    if tensor.dtype == DType::F32 { tensor } else { cast(tensor, DType::F32) }
}

/// Number of rows, values of each, and from one to the next, where rows are evenly spaced runs of memory.
fn row_layout(tensor: &CubeTensor) -> Option<[usize; 3]> {
    if tensor.meta.is_tiled() || tensor.qparams.is_some() {
        return None;
    }
    let (shape, strides) = (tensor.meta.shape(), tensor.meta.strides());
    let (&len, outer) = shape.split_last()?;
    let (&step, outer_strides) = strides.split_last()?;
    if len > 1 && step != 1 {
        return None;
    }
    let mut rows = 1;
    let mut stride = None;
    for (&count, &own) in outer.iter().zip(outer_strides).rev().filter(|&(&count, _)| count != 1) {
        match stride {
            None => stride = Some(own),
            Some(stride) if own == stride * rows => {}
            Some(_) => return None,
        }
        rows *= count;
    }
    Some([rows, len, stride.unwrap_or(len)])
}

/// A new tensor on the device of `like`, uninitialised.
fn output(like: &CubeTensor, shape: Shape) -> CubeTensor {
    let (client, device) = (like.client.clone(), like.device.clone());
    let handle = client.empty(shape.num_elements().max(1) * size_of::<f32>());
    CubeTensor::new_contiguous(client, device, shape, handle, DType::F32)
}
