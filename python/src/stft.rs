//! Short-time Fourier transforms of rows, in the conventions of SciPy.

use burn::tensor::{Tensor, s};
use firefly_ops::fft::{ComplexTensor, fft_with, ifft_with, irfft, overlap_add, rfft_with};
use firefly_ops::{ArgumentError, Norm};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::own;
use crate::batch::{joined, two_sided};
use crate::device::{upload, vector};
use crate::rows::Rows;

/// The least sum of squared windows that a sample is divided by.
const MIN_ENVELOPE: f64 = 1e-10;

/// Frames of rows, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FrameArguments {
    /// Samples from one frame's start to the next.
    step: usize,
    /// Points of a transform.
    nfft: usize,
    /// Samples that a row is extended by at each end.
    ends: usize,
    /// What rows are extended by: "zeros", "even", "odd" or "constant".
    boundary: String,
    /// Whether zeros complete the last frame.
    padded: bool,
    /// Whether frames are without their mean.
    detrend: bool,
    /// Whether spectra of real rows have all frequencies too.
    two_sided: bool,
}

impl FrameArguments {
    /// Frames `[rows, frames, length]` of rows.
    fn framed(&self, rows: Tensor<2>, boundary: Boundary, length: usize) -> Result<Tensor<3>, ArgumentError> {
        let mut signal = boundary.extended(rows, self.ends);
        let [_, samples] = signal.dims();
        let rest = samples.saturating_sub(length) % self.step.max(1);
        if self.padded && rest > 0 {
            signal = signal.pad([(0, self.step - rest)], 0.0);
        }
        let frames: Tensor<3> = firefly_ops::fft::frames(signal, length, self.step)?;
        Ok(if self.detrend { frames.clone() - frames.mean_dim(2) } else { frames })
    }
}

/// Frames `[rows, frames, length]` of rows `[rows, samples]`.
#[pyfunction]
pub fn frames<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    length: usize,
    arguments: FrameArguments,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let boundary = Boundary::of(&arguments.boundary)?;
    let rows = Rows::of(values, device)?;
    let frames = rows.compute(py, move |rows| Ok(arguments.framed(rows.tensor(), boundary, length)?.into_data()))?;
    own(py, frames)
}

/// Spectra `[rows * bins, frames, 2]` of the frames of rows `[rows, samples]`, or pairs of them, times a window.
#[pyfunction]
pub fn stft<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    window: PyReadonlyArray1<'_, f64>,
    arguments: FrameArguments,
    device: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let boundary = Boundary::of(&arguments.boundary)?;
    let (window, values) = (window.as_array().to_vec(), Rows::of(values, device)?);
    let dtype = values.dtype();
    let spectra = values.compute(py, move |rows| {
        let device = rows.device().clone();
        let (length, nfft) = (window.len(), arguments.nfft);
        let window: Tensor<3> = upload::<1>(vector(window, dtype), &device).unsqueeze();
        let windowed = |rows| Ok::<_, ArgumentError>(arguments.framed(rows, boundary, length)? * window.clone());
        let spectra = if rows.is_complex() {
            let ComplexTensor { re, im } = rows.complex();
            fft_with(ComplexTensor::new(windowed(re)?, windowed(im)?), Some(nfft), -1, Norm::Backward)?
        } else {
            let half = rfft_with(windowed(rows.tensor())?, Some(nfft), -1, Norm::Backward)?;
            match arguments.two_sided {
                true => ComplexTensor::new(two_sided(half.re, nfft, 1.0), two_sided(half.im, nfft, -1.0)),
                false => half,
            }
        };
        let [rows, count, bins] = spectra.dims();
        Ok(joined(spectra.map(|part| part.swap_dims(1, 2).reshape([rows * bins, count]))))
    })?;
    own(py, spectra)
}

/// Rows `[rows, samples]` of which spectra `[rows * bins, frames]`, or pairs of them, are those of `stft`, and whether
/// windows cover every sample. `scale` is the factor on the window in `stft`; `frames` are the samples from one frame's
/// start to the next, the points of a transform, and the samples that a row is cut by at each end. Of spectra that are
/// not `onesided` rows are pairs `[rows, samples, 2]`.
#[pyfunction]
pub fn istft<'py>(
    py: Python<'py>,
    spectra: &Bound<'py, PyAny>,
    window: PyReadonlyArray1<'_, f64>,
    scale: f64,
    frames: [usize; 3],
    onesided: bool,
    device: &str,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let [step, nfft, ends] = frames;
    let (window, spectra) = (window.as_array().to_vec(), Rows::of(spectra, device)?);
    let dtype = spectra.dtype();
    let (signal, is_covered) = spectra.compute(py, move |spectra| {
        let device = spectra.device().clone();
        let on_device = |values: Vec<f64>| upload::<1>(vector(values, dtype), &device);
        let (bins, length) = (if onesided { nfft / 2 + 1 } else { nfft }, window.len());
        let spectra = spectra.complex();
        let [rows, count] = spectra.dims();
        if count == 0 {
            return Err(ArgumentError::new("istft", "Zxx", "without times", "of at least one"));
        }
        let mut envelope = envelope(&window, step, count);
        let kept = ends..envelope.len().saturating_sub(ends).max(ends);
        if kept.is_empty() {
            // The ends are all that there is.
            let nothing = Tensor::<2>::zeros([rows / bins, 0], (&device, dtype));
            return Ok((if onesided { nothing.into_data() } else { joined(nothing.into()) }, true));
        }
        let spectra = spectra.map(|part| part.reshape([rows / bins, bins, count]).swap_dims(1, 2));
        let is_covered = envelope[kept.clone()].iter().all(|sum| *sum > MIN_ENVELOPE);
        envelope.iter_mut().filter(|sum| **sum <= MIN_ENVELOPE).for_each(|sum| *sum = 1.0);
        let factor: Tensor<2> = on_device(envelope[kept.clone()].iter().map(|sum| sum.recip()).collect()).unsqueeze();
        let taper: Tensor<3> = on_device(window.iter().map(|value| value / scale).collect()).unsqueeze();
        let signal = |frames: Tensor<3>| -> Result<Tensor<2>, ArgumentError> {
            let added: Tensor<2> = overlap_add(frames.narrow(2, 0, length) * taper.clone(), step)?;
            Ok(added.slice_dim(1, kept.clone()) * factor.clone())
        };
        let signal = if onesided {
            signal(irfft(spectra, nfft)?)?.into_data()
        } else {
            let frames = ifft_with(spectra, Some(nfft), -1, Norm::Backward)?;
            joined(ComplexTensor::new(signal(frames.re)?, signal(frames.im)?))
        };
        Ok((signal, is_covered))
    })?;
    Ok((own(py, signal)?, is_covered))
}

/// Squared windows, added up at each step.
fn envelope(window: &[f64], step: usize, count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; (count - 1) * step + window.len()];
    for frame in 0..count {
        sums[frame * step..].iter_mut().zip(window).for_each(|(sum, value)| *sum += value * value);
    }
    sums
}

/// What a row is extended by at its ends.
#[derive(Debug, Clone, Copy)]
enum Boundary {
    Zeros,
    /// The row reflected at its ends.
    Even,
    /// The row rotated about its ends.
    Odd,
    /// The values at its ends.
    Constant,
}

impl Boundary {
    fn of(name: &str) -> PyResult<Self> {
        match name {
            "zeros" => Ok(Self::Zeros),
            "even" => Ok(Self::Even),
            "odd" => Ok(Self::Odd),
            "constant" => Ok(Self::Constant),
            other => {
                let text = "must be one of 'zeros', 'even', 'odd', 'constant' or None";
                Err(PyValueError::new_err(format!("boundary is '{other}', but {text}")))
            }
        }
    }

    /// Rows with `count` samples more at each end, fewer than a row has.
    fn extended(self, rows: Tensor<2>, count: usize) -> Tensor<2> {
        let [_, samples] = rows.dims();
        if count == 0 {
            return rows;
        }
        let ends = [0, samples - 1].map(|index| rows.clone().narrow(1, index, 1));
        let reversed = |start: usize| rows.clone().slice_dim(1, s![start..start + count;-1]);
        let [before, after] = match self {
            Self::Zeros => return rows.pad([(count, count)], 0.0),
            Self::Even => [reversed(1), reversed(samples - 1 - count)],
            Self::Odd => {
                let [first, last] = ends.map(|end| end * 2.0);
                [first - reversed(1), last - reversed(samples - 1 - count)]
            }
            Self::Constant => ends.map(|end| end.repeat_dim(1, count)),
        };
        Tensor::cat(vec![before, rows, after], 1)
    }
}
