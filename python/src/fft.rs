//! Fourier transforms of rows. A row of complex values is an array of pairs, `[n, 2]`.

use burn::tensor::{DType, Element, Tensor, TensorData, s};
use firefly_ops::Norm;
use firefly_ops::fft::{ComplexTensor, fft_with, ifft_with, irfft_with, rfft_with};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::own;
use crate::device::upload;
use crate::rows::Rows;

/// Values that one thread interleaves at a time.
const BLOCK: usize = 1 << 14;

/// Complex transform of rows `[rows, m]` or `[rows, m, 2]` to `n` points, `[rows, n, 2]`.
#[pyfunction]
pub fn fft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    n: usize,
    inverse: bool,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm) = (Rows::of(values, device)?, norm_of(norm)?);
    let spectrum = values.compute(py, move |rows| {
        let transform = if inverse { ifft_with::<2> } else { fft_with::<2> };
        Ok(joined(transform(parts(rows), Some(n), -1, norm)?))
    })?;
    own(py, spectrum)
}

/// Transform of real rows `[rows, m]` to `n / 2 + 1` bins, `[rows, bins, 2]`.
#[pyfunction]
pub fn rfft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    n: usize,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm) = (Rows::of(values, device)?, norm_of(norm)?);
    let spectrum = values.compute(py, move |rows| Ok(joined(rfft_with(rows.tensor::<2>(), Some(n), -1, norm)?)))?;
    own(py, spectrum)
}

/// Inverse of `rfft`: real rows `[rows, n]` of bins `[rows, m]` or `[rows, m, 2]`.
#[pyfunction]
pub fn irfft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    n: usize,
    norm: &str,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (values, norm) = (Rows::of(values, device)?, norm_of(norm)?);
    let signal = values.compute(py, move |rows| Ok(irfft_with(parts(rows), Some(n), -1, norm)?.into_data()))?;
    own(py, signal)
}

/// The norm of a name.
///
/// # Errors
/// `ValueError` for another name.
pub fn norm_of(name: &str) -> PyResult<Norm> {
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
pub fn parts(rows: Rows) -> ComplexTensor<2> {
    if !rows.is_complex() {
        return rows.tensor::<2>().into();
    }
    let (values, device) = rows.into_parts();
    let shape = [values.shape()[0], values.shape()[1]];
    let [re, im] = match values.dtype() {
        DType::F64 => split::<f64>(&values, shape),
        _ => split::<f32>(&values, shape),
    };
    ComplexTensor::new(upload(re, &device), upload(im, &device))
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
pub fn joined(spectrum: ComplexTensor<2>) -> TensorData {
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
