//! Operations on batches of rows by name, those of `firefly_ops` that are composed of others: one function of the
//! extension module for all of them. Blocks of rows are computed on all threads; their intermediate values stay in caches.

use std::ops::Range;

use burn::tensor::{DType, Device, Element, Tensor, TensorData, s};
use bytemuck::Pod;
use bytes::Bytes;
use firefly_ops::ArgumentError;
use firefly_ops::fft::ComplexTensor;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;

use crate::array::{memory, own, shared};
use crate::device::{open, upload};
use crate::error::value_error;
use crate::operations::operation;
use crate::threads::run;

/// Bytes of the rows of a block, a part of a core's cache.
const BLOCK: usize = 1 << 19;
/// Pairs that one thread joins or splits at a time.
const PAIRS: usize = 1 << 14;

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
    /// All rows, of operations with one kernel, which uses all threads: results have memory of their own.
    Whole,
}

/// Computes an operation of rows `[rows, n]`, or pairs `[rows, n, 2]`, into `outputs` of the same type: an output has a
/// row for one or several rows of the inputs. Operations of whole batches return their results, real rows, instead.
#[pyfunction]
pub fn apply<'py>(
    py: Python<'py>,
    name: &str,
    inputs: Vec<Bound<'py, PyUntypedArray>>,
    outputs: Vec<Bound<'py, PyUntypedArray>>,
    arguments: &Bound<'py, PyTuple>,
    device: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let (blocks, work) = operation(name, arguments)?;
    let device = open(device)?;
    let inputs = inputs.iter().map(Input::new).collect::<PyResult<Vec<_>>>()?;
    let dtype = inputs[0].dtype;
    if blocks == Blocks::Whole {
        let all = move || inputs.iter().map(|input| input.values(0..1, 1, &device)).collect();
        let results = run(py, move || work(all()))?.map_err(value_error)?;
        return results.into_iter().map(|values| own(py, values.re.into_data())).collect();
    }
    let outputs = outputs.iter().map(|array| Output::new(array, dtype)).collect::<PyResult<Vec<_>>>()?;
    let computed = run(py, move || match dtype {
        DType::F64 => compute::<f64>(&inputs, outputs, (blocks, work), &device),
        _ => compute::<f32>(&inputs, outputs, (blocks, work), &device),
    })?;
    computed.map_err(value_error).map(|()| Vec::new())
}

/// Memory of a NumPy array that is computed from.
struct Input {
    memory: Bytes,
    shape: Vec<usize>,
    dtype: DType,
}

impl Input {
    fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let (memory, dtype) = memory(array)?;
        Ok(Self { memory, shape: array.shape().to_vec(), dtype })
    }

    /// The part that rows `block` of the results are computed from, of `count` rows.
    fn values(&self, block: Range<usize>, count: usize, device: &Device) -> Values {
        let (each, mut shape) = (self.memory.len() / count, self.shape.clone());
        let memory = self.memory.slice(block.start * each..block.end * each);
        shape[0] = shape[0] / count * block.len();
        Values::of(shared(memory, shape, self.dtype), device)
    }
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
        if memory(array)?.1 != dtype {
            return Err(PyTypeError::new_err("inputs and outputs are of different types"));
        }
        // SAFETY: the pointer is that of a live array.
        let start = unsafe { (*array.as_array_ptr()).data }.cast::<u8>();
        Ok(Self { start, len: array.len(), rows: array.shape()[0], array: array.clone().unbind() })
    }
}

/// Computes `work` of blocks of the inputs into the same rows of the outputs.
fn compute<T: Element + Pod>(
    inputs: &[Input],
    outputs: Vec<Output>,
    (blocks, work): (Blocks, Work),
    device: &Device,
) -> Result<(), ArgumentError> {
    let rows = outputs[0].rows;
    let row = (inputs[0].memory.len() / rows).max(1);
    let count = match blocks {
        _ if *device != Device::flex() => 1,
        Blocks::Single => rows,
        Blocks::Whole => 1,
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
        let inputs = inputs.iter().map(|input| input.values(ends[0]..ends[1], rows, device));
        let results = work(inputs.collect())?;
        outputs.into_iter().zip(results).for_each(|(output, values)| values.write(output));
        Ok(())
    })
}

impl Values {
    /// Real rows, or pairs `[rows, n, 2]`.
    pub fn of(data: TensorData, device: &Device) -> Self {
        let [rows, n] = [data.shape()[0], data.shape()[1]];
        let parts = match (data.rank(), data.dtype()) {
            (3, DType::F64) => split::<f64>(&data),
            (3, _) => split::<f32>(&data),
            _ => return Self { re: upload(data, device), im: None },
        };
        let [re, im] = parts.map(|part| upload::<1>(part, device).reshape([rows, n]));
        Self { re, im: Some(im) }
    }

    /// The values of complex rows, or of real ones.
    pub fn complex(self) -> ComplexTensor<2> {
        let im = self.im.unwrap_or_else(|| self.re.zeros_like());
        ComplexTensor { re: self.re, im }
    }

    /// Copies the values, complex ones as pairs, to an output of as many.
    fn write<T: Element + Pod>(self, output: &mut [T]) {
        let re = self.re.into_data();
        match self.im.map(Tensor::into_data) {
            Some(im) => join(&re, &im, output),
            None => output.copy_from_slice(bytemuck::cast_slice(re.as_bytes())),
        }
    }
}

/// Values of all `n` bins along the last dimension, in the order of `fftfreq`, from those of the bins up to `n / 2` of
/// real signals. Those of the bins above are mirrored and multiplied by `sign`.
pub fn two_sided<const D: usize>(half: Tensor<D>, n: usize, sign: f64) -> Tensor<D> {
    let upper = n.div_ceil(2);
    if upper <= 1 {
        return half;
    }
    let mirrored = half.clone().slice_dim(D - 1, s![1..upper;-1]) * sign;
    Tensor::cat(vec![half, mirrored], D - 1)
}

/// The first and the second of each pair.
fn split<T: Element + Pod>(pairs: &TensorData) -> [TensorData; 2] {
    let pairs: &[[T; 2]] = bytemuck::cast_slice(pairs.as_bytes());
    let part = |index: usize| {
        let values: Vec<T> = pairs.par_iter().with_min_len(PAIRS).map(|pair| pair[index]).collect();
        TensorData::new(values, [pairs.len()])
    };
    [part(0), part(1)]
}

/// A complex tensor as pairs, `[rows, n, 2]`.
pub fn joined(spectrum: ComplexTensor<2>) -> TensorData {
    let [rows, n] = spectrum.dims();
    let (re, im) = (spectrum.re.into_data(), spectrum.im.into_data());
    fn pairs<T: Element + Pod>(re: &TensorData, im: &TensorData, shape: [usize; 3]) -> TensorData {
        let mut values = vec![T::zeroed(); shape.iter().product()];
        join(re, im, &mut values);
        TensorData::new(values, shape)
    }
    if re.dtype() == DType::F64 { pairs::<f64>(&re, &im, [rows, n, 2]) } else { pairs::<f32>(&re, &im, [rows, n, 2]) }
}

/// Writes real and imaginary parts as pairs.
fn join<T: Element + Pod>(re: &TensorData, im: &TensorData, output: &mut [T]) {
    let [re, im]: [&[T]; 2] = [re, im].map(|part| bytemuck::cast_slice(part.as_bytes()));
    let pairs: &mut [[T; 2]] = bytemuck::cast_slice_mut(output);
    assert_eq!(pairs.len(), re.len(), "an output has other rows than the result");
    let blocks = pairs.par_chunks_mut(PAIRS).zip(re.par_chunks(PAIRS).zip(im.par_chunks(PAIRS)));
    blocks.for_each(|(pairs, (re, im))| {
        pairs.iter_mut().zip(re.iter().zip(im)).for_each(|(pair, (&re, &im))| *pair = [re, im]);
    });
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
