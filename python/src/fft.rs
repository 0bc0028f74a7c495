//! Fourier transforms of rows. A row of complex values is an array of pairs, `[n, 2]`.

use burn::tensor::{DType, Device, Element, Tensor, TensorData};
use firefly_ops::fft::ComplexTensor;
use firefly_ops::{ArgumentError, Norm};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::{borrow, own};
use crate::device::{open, upload};
use crate::error::value_error;
use crate::threads::run;

/// Values that one thread interleaves at a time.
const BLOCK: usize = 1 << 14;

/// Complex transform of rows `[rows, m]` or `[rows, m, 2]` to `n` points, `[rows, n, 2]`.
#[pyfunction]
pub fn fft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyUntypedArray>,
    n: usize,
    inverse: bool,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm, device) = (borrow(values)?, norm_of(norm)?, open(device)?);
    let spectrum = run(py, move || {
        let transform = if inverse { firefly_ops::fft::ifft::<2> } else { firefly_ops::fft::fft::<2> };
        Ok(joined(transform(parts(values, &device), Some(n), -1, norm)?))
    })?;
    own(py, spectrum.map_err(|error: ArgumentError| value_error(error))?)
}

/// Transform of real rows `[rows, m]` to `n / 2 + 1` bins, `[rows, bins, 2]`.
#[pyfunction]
pub fn rfft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyUntypedArray>,
    n: usize,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm, device) = (borrow(values)?, norm_of(norm)?, open(device)?);
    let transformed = move || Ok(joined(firefly_ops::fft::rfft(upload::<2>(values, &device), Some(n), -1, norm)?));
    own(py, run(py, transformed)?.map_err(|error: ArgumentError| value_error(error))?)
}

/// Inverse of `rfft`: real rows `[rows, n]` of bins `[rows, m]` or `[rows, m, 2]`.
#[pyfunction]
pub fn irfft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyUntypedArray>,
    n: usize,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm, device) = (borrow(values)?, norm_of(norm)?, open(device)?);
    let transformed = move || firefly_ops::fft::irfft(parts(values, &device), Some(n), -1, norm).map(Tensor::into_data);
    own(py, run(py, transformed)?.map_err(value_error)?)
}

fn norm_of(name: &str) -> PyResult<Norm> {
    match name {
        "backward" => Ok(Norm::Backward),
        "ortho" => Ok(Norm::Ortho),
        "forward" => Ok(Norm::Forward),
        other => {
            let text = format!("norm is {other:?}, but must be 'backward', 'ortho' or 'forward'");
            Err(PyValueError::new_err(text))
        }
    }
}

/// Rows `[rows, m]` or pairs `[rows, m, 2]` as a complex tensor.
fn parts(values: TensorData, device: &Device) -> ComplexTensor<2> {
    let shape = values.shape().to_vec();
    if shape.len() == 2 {
        return upload::<2>(values, device).into();
    }
    let shape = [shape[0], shape[1]];
    let [re, im] = match values.dtype() {
        DType::F64 => split::<f64>(&values, shape),
        _ => split::<f32>(&values, shape),
    };
    ComplexTensor::new(upload(re, device), upload(im, device))
}

/// The first and the second of each pair.
fn split<T: Element + bytemuck::Pod>(pairs: &TensorData, shape: [usize; 2]) -> [TensorData; 2] {
    let pairs: &[[T; 2]] = bytemuck::cast_slice(pairs.as_bytes());
    let part = |index: usize| {
        let mut values = vec![T::zeroed(); pairs.len()];
        let blocks = values.par_chunks_mut(BLOCK).zip(pairs.par_chunks(BLOCK));
        blocks.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(to, from)| *to = from[index]));
        TensorData::new(values, shape)
    };
    [part(0), part(1)]
}

/// A complex tensor as pairs, `[rows, n, 2]`.
fn joined(spectrum: ComplexTensor<2>) -> TensorData {
    let [rows, n] = spectrum.dims();
    let (re, im) = (spectrum.re.into_data(), spectrum.im.into_data());
    match re.dtype() {
        DType::F64 => pairs::<f64>(&re, &im, [rows, n, 2]),
        _ => pairs::<f32>(&re, &im, [rows, n, 2]),
    }
}

fn pairs<T: Element + bytemuck::Pod>(re: &TensorData, im: &TensorData, shape: [usize; 3]) -> TensorData {
    let (re, im): (&[T], &[T]) = (bytemuck::cast_slice(re.as_bytes()), bytemuck::cast_slice(im.as_bytes()));
    let mut values = vec![T::zeroed(); 2 * re.len()];
    let blocks = values.par_chunks_mut(2 * BLOCK).zip(re.par_chunks(BLOCK).zip(im.par_chunks(BLOCK)));
    blocks.for_each(|(to, (re, im))| {
        to.chunks_exact_mut(2).zip(re.iter().zip(im)).for_each(|(pair, (&re, &im))| {
            pair[0] = re;
            pair[1] = im;
        });
    });
    TensorData::new(values, shape)
}
