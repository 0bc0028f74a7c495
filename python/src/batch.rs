//! Operations on batches of rows by name, those of `firefly_ops` that are composed of others: one function of the
//! extension module for all of them. Blocks of rows are computed on all threads; their intermediate values stay in caches.

use std::ops::Range;

use burn::tensor::{DType, Device, Element, Tensor, TensorData};
use bytemuck::Pod;
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;

use crate::array::borrow;
use crate::device::{open, upload};
use crate::error::value_error;
use crate::operations::operation;
use crate::threads::run;

/// Bytes of the rows of a block, a part of a core's cache.
const BLOCK: usize = 1 << 19;

/// Rows of an input or of a result, `[rows, n]`.
pub struct Values {
    /// Real part, or real rows.
    pub re: Tensor<2>,
    /// Imaginary part of complex rows.
    im: Option<Tensor<2>>,
}

/// An operation with its arguments, from its inputs to its results.
pub type Work = Box<dyn Fn(Vec<Values>) -> Result<Vec<Values>, ArgumentError> + Send + Sync>;

/// How rows are divided into blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// Of rows that fit into a cache.
    Cached,
    /// Of more rows, for operations that make tables first.
    Tabled,
    /// Of what one row of the results is computed from, for operations whose results depend on the place in a block.
    Single,
}

/// Computes an operation of rows `[rows, n]`, or pairs `[rows, n, 2]`, into `outputs` of the same type: an output has a
/// row for one or several rows of the inputs.
#[pyfunction]
pub fn apply<'py>(
    py: Python<'py>,
    name: &str,
    inputs: Vec<Bound<'py, PyUntypedArray>>,
    outputs: Vec<Bound<'py, PyUntypedArray>>,
    arguments: &Bound<'py, PyTuple>,
    device: &str,
) -> PyResult<()> {
    let (blocks, work) = operation(name, arguments)?;
    let device = open(device)?;
    let inputs = inputs.iter().map(borrow).collect::<PyResult<Vec<_>>>()?;
    let dtype = inputs[0].dtype();
    let outputs = outputs.iter().map(|array| Output::new(array, dtype)).collect::<PyResult<Vec<_>>>()?;
    let computed = run(py, move || match dtype {
        DType::F64 => compute::<f64>(&inputs, outputs, (blocks, work), &device),
        _ => compute::<f32>(&inputs, outputs, (blocks, work), &device),
    })?;
    computed.map_err(value_error)
}

/// Memory of a NumPy array that results are written to, which lives as long as this.
struct Output {
    start: *mut u8,
    /// Number of values.
    len: usize,
    rows: usize,
    #[expect(dead_code, reason = "the reference keeps the memory alive")]
    array: Py<PyUntypedArray>,
}

// SAFETY: writing to the memory is not bound to a thread, and nothing else refers to the new array.
unsafe impl Send for Output {}

impl Output {
    /// The memory of an array of that type, C-contiguous and aligned.
    fn new(array: &Bound<'_, PyUntypedArray>, dtype: DType) -> PyResult<Self> {
        let values = borrow(array)?;
        if values.dtype() != dtype {
            return Err(PyTypeError::new_err("inputs and outputs are of different types"));
        }
        // SAFETY: the pointer is that of a live array.
        let start = unsafe { (*array.as_array_ptr()).data }.cast::<u8>();
        Ok(Self { start, len: array.len(), rows: array.shape()[0], array: array.clone().unbind() })
    }
}

/// Computes `work` of blocks of the inputs into the same rows of the outputs.
fn compute<T: Element + Pod>(
    inputs: &[TensorData],
    outputs: Vec<Output>,
    (blocks, work): (Blocks, Work),
    device: &Device,
) -> Result<(), ArgumentError> {
    let rows = outputs[0].rows;
    let inputs: Vec<(&[T], &[usize])> =
        inputs.iter().map(|data| (bytemuck::cast_slice(data.as_bytes()), &**data.shape())).collect();
    let row = (inputs[0].0.len() / rows * size_of::<T>()).max(1);
    let count = match blocks {
        _ if *device != Device::flex() => 1,
        Blocks::Single => rows,
        Blocks::Tabled => (rows * row).div_ceil(4 * BLOCK).min(rows),
        Blocks::Cached => (rows * row).div_ceil(BLOCK).min(rows),
    };
    // Blocks do not depend on the number of threads, and have the same number of rows, or one more.
    let starts: Vec<usize> = (0..=count).map(|block| rows * block / count).collect();
    let mut parts: Vec<Vec<&mut [T]>> = (0..count).map(|_| Vec::new()).collect();
    for output in &outputs {
        // SAFETY: the array has this many values of this type, which live as long as `outputs`.
        let mut rest = unsafe { std::slice::from_raw_parts_mut(output.start.cast::<T>(), output.len) };
        for (part, ends) in parts.iter_mut().zip(starts.windows(2)) {
            let (chunk, behind) = rest.split_at_mut((ends[1] - ends[0]) * (output.len / rows));
            part.push(chunk);
            rest = behind;
        }
    }
    parts.into_par_iter().zip(starts.par_windows(2)).try_for_each(|(outputs, ends)| {
        let inputs = inputs.iter().map(|&(values, shape)| read(values, shape, ends[0]..ends[1], rows, device));
        let results = work(inputs.collect())?;
        outputs.into_iter().zip(results).for_each(|(output, values)| values.write(output));
        Ok(())
    })
}

/// The part of an input of that shape that rows `block` of the results are computed from, of `count` rows.
fn read<T: Element + Pod>(values: &[T], shape: &[usize], block: Range<usize>, count: usize, device: &Device) -> Values {
    let each = values.len() / count;
    let values = &values[block.start * each..block.end * each];
    let shape_of_part = [shape[0] / count * block.len(), shape[1]];
    let tensor = |values: Vec<T>| upload::<2>(TensorData::new(values, shape_of_part), device);
    if shape.len() == 2 {
        return Values { re: tensor(values.to_vec()), im: None };
    }
    let part = |index: usize| tensor(values.chunks_exact(2).map(|pair| pair[index]).collect());
    Values { re: part(0), im: Some(part(1)) }
}

impl Values {
    /// The values of complex rows, or of real ones.
    pub fn complex(self) -> ComplexTensor<2> {
        let im = self.im.unwrap_or_else(|| self.re.zeros_like());
        ComplexTensor { re: self.re, im }
    }

    /// Copies the values, complex ones as pairs, to an output of as many.
    fn write<T: Element + Pod>(self, output: &mut [T]) {
        let re = self.re.into_data();
        let re: &[T] = bytemuck::cast_slice(re.as_bytes());
        let Some(im) = self.im.map(Tensor::into_data) else { return output.copy_from_slice(re) };
        let im: &[T] = bytemuck::cast_slice(im.as_bytes());
        assert_eq!(output.len(), 2 * re.len(), "an output has other rows than the result");
        for (pair, (&re, &im)) in output.chunks_exact_mut(2).zip(re.iter().zip(im)) {
            pair[0] = re;
            pair[1] = im;
        }
    }
}

impl<const D: usize> From<Tensor<D>> for Values {
    /// Rows along all dimensions but the first.
    fn from(values: Tensor<D>) -> Self {
        Self { re: flat(values), im: None }
    }
}

impl<const D: usize> From<ComplexTensor<D>> for Values {
    fn from(values: ComplexTensor<D>) -> Self {
        Self { re: flat(values.re), im: Some(flat(values.im)) }
    }
}

fn flat<const D: usize>(values: Tensor<D>) -> Tensor<2> {
    let dims = values.dims();
    values.reshape([dims[0], dims[1..].iter().product()])
}
