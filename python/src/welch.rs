//! Welch power spectra and their strongest bins.

use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_ops::from_host::{HostError, host_chunks, welch_peaks_from_host};
use firefly_ops::options::{SegmentPlacement, SegmentSet};
use firefly_ops::{ArgumentError, Band, Detrend, Scaling, WelchOptions, welch_peaks, welch_psd, welch_psd_complex};
use numpy::{PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::array::{borrow, own};
use crate::batch::two_sided;
use crate::device::{open, upload, vector};
use crate::error::{runtime_error, value_error};
use crate::rows::Rows;
use crate::threads::run;

/// Exponents of the largest magnitude of a row between which its power is within the range of f32.
const EXPONENTS: std::ops::RangeInclusive<i32> = -30..=30;

/// Values whose largest magnitude one thread finds at a time.
const BLOCK: usize = 1 << 16;

/// An estimate of power: a window, segments of its length, scaling and detrending, on a device.
#[pyclass(frozen)]
pub struct WelchEstimate {
    options: WelchOptions,
    /// Whether real signals have the power of all frequencies too.
    two_sided: bool,
    window: Vec<f64>,
    device: Device,
}

/// Parameters of an estimate, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct WelchArguments {
    hop: usize,
    segments: usize,
    averaged: Option<AveragedSegments>,
    scaling: String,
    fs: f64,
    detrend: bool,
    two_sided: bool,
    device: String,
}

/// Segments of a row that are averaged, where they are not all.
#[derive(FromPyObject)]
enum AveragedSegments {
    /// So many, spread evenly.
    Spread(usize),
    /// Those with these indices.
    Listed(Vec<usize>),
}

impl AveragedSegments {
    /// The options of an estimate of all segments, with these alone.
    fn of(self, options: WelchOptions) -> Result<WelchOptions, ArgumentError> {
        match self {
            Self::Spread(count) => {
                options.with_segments(count).with_placement(Some(SegmentPlacement::Spread(options.segments)))
            }
            Self::Listed(indices) => Ok(options.with_chosen(Some(SegmentSet::new(indices)?))),
        }
    }
}

#[pymethods]
impl WelchEstimate {
    #[new]
    fn new(window: PyReadonlyArray1<'_, f64>, arguments: WelchArguments) -> PyResult<Self> {
        let WelchArguments { hop, segments, averaged, scaling, fs, detrend, two_sided, device } = arguments;
        let window = window.as_array().to_vec();
        let scaling = match scaling.as_str() {
            "density" => Scaling::Density { sample_rate: fs },
            "spectrum" => Scaling::Spectrum,
            "power" => Scaling::Power,
            other => {
                let text = format!("scaling is {other:?}, but must be 'density', 'spectrum' or 'power'");
                return Err(PyValueError::new_err(text));
            }
        };
        let options = WelchOptions::new(window.len(), segments)
            .with_hop(hop)
            .with_scaling(scaling)
            .with_detrend(if detrend { Detrend::Constant } else { Detrend::None });
        let options = averaged.map_or(Ok(options), |averaged| averaged.of(options)).map_err(value_error)?;
        options.validate("welch").map_err(value_error)?;
        Ok(Self { options, two_sided, window, device: open(&device)? })
    }

    /// Power `[rows, bins]` of a signal `[rows, frame]`, or two-sided power of pairs `[rows, frame, 2]`.
    fn psd<'py>(&self, py: Python<'py>, signal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (signal, options, is_two_sided) = (self.rows(signal)?, self.options, self.two_sided);
        let window = self.window(signal.dtype());
        let power = signal.compute(py, move |signal| {
            let window = upload::<1>(window, signal.device());
            if signal.is_complex() {
                return Ok(welch_psd_complex(signal.complex(), window, &options)?.into_data());
            }
            let power = welch_psd(signal.tensor::<2>(), window, &options)?;
            Ok(if is_two_sided { halved(power, options.n_fft) } else { power }.into_data())
        })?;
        own(py, power)
    }

    /// Bins and power `[rows, k]` of the strongest bins of a signal `[rows, frame]`, of all bins or those of a range.
    fn peaks<'py>(
        &self,
        py: Python<'py>,
        signal: &Bound<'py, PyAny>,
        k: usize,
        band: Option<[usize; 2]>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (signal, options) = (self.rows(signal)?, self.options.with_band(band.map(Band::from)));
        let window = self.window(signal.dtype());
        let found = signal.compute(py, move |signal| {
            let window = upload::<1>(window, signal.device());
            if *signal.device() != Device::flex() {
                return Ok(from_host(signal.into_parts().0, window, &options, k));
            }
            let peaks = welch_peaks(signal.tensor::<2>(), window, &options, k)?;
            Ok(Ok([peaks.bins.into_data(), peaks.power.into_data()]))
        })?;
        let [bins, power] = found.map_err(|error| match error {
            HostError::Argument(error) => value_error(error),
            error => runtime_error(error),
        })?;
        Ok((own(py, bins)?, own(py, power)?))
    }
}

impl WelchEstimate {
    /// The rows of a signal.
    fn rows(&self, signal: &Bound<'_, PyAny>) -> PyResult<Rows> {
        Rows::on(signal, self.device.clone())
    }

    /// The window in a signal's type.
    fn window(&self, dtype: DType) -> TensorData {
        vector(self.window.clone(), dtype)
    }
}

/// Two-sided power `[rows, n]` of one-sided power: half of each bin that stands for two frequencies is at either.
fn halved(power: Tensor<2>, n: usize) -> Tensor<2> {
    let upper = n.div_ceil(2);
    let shares = (0..n / 2 + 1).map(|bin| if (1..upper).contains(&bin) { 0.5 } else { 1.0 });
    let shares = upload::<1>(vector(shares.collect(), power.dtype()), &power.device());
    two_sided(power * shares.unsqueeze(), n, 1.0)
}

/// Exponents `[rows]` of the powers of two that rows of float32, `[rows, …]`, are divided by so that their power is
/// within the range of float32; 0 for rows whose power is.
#[pyfunction]
pub fn exponents<'py>(py: Python<'py>, values: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
    let data = borrow(values)?;
    let exponents = run(py, move || {
        let rows = data.shape()[0];
        let values: &[f32] = bytemuck::cast_slice(data.as_bytes());
        let found: Vec<i32> = values.par_chunks((values.len() / rows.max(1)).max(1)).map(exponent).collect();
        TensorData::new(found, [rows])
    })?;
    own(py, exponents)
}

/// Exponent that a row is divided by.
fn exponent(row: &[f32]) -> i32 {
    // Bits of magnitudes are in the order of the magnitudes, and as signed numbers vector registers compare them.
    let magnitude = |value: &f32| (value.to_bits() & i32::MAX as u32) as i32;
    let infinite = magnitude(&f32::INFINITY);
    let largest_of = |block: &[f32]| {
        let largest = block.iter().map(magnitude).fold(0, i32::max);
        if largest < infinite {
            return largest;
        }
        block.iter().map(magnitude).filter(|bits| *bits < infinite).fold(0, i32::max)
    };
    let largest =
        if row.len() <= BLOCK { largest_of(row) } else { row.par_chunks(BLOCK).map(largest_of).max().unwrap_or(0) };
    let largest = f32::from_bits(largest as u32);
    let exponent = f64::from(largest).log2().floor() as i32;
    if largest == 0.0 || EXPONENTS.contains(&exponent) { 0 } else { exponent }
}

/// Bins and power of frames that go to an accelerator in chunks, whose transfers overlap with the computation.
fn from_host(
    signal: TensorData,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
) -> Result<[TensorData; 2], HostError> {
    let shape: &[usize] = signal.shape();
    let (rows, frame) = (shape[0], shape[1]);
    let samples = signal.as_slice::<f32>().map_err(|_| {
        ArgumentError::new("welch_peaks", "signal", format_args!("{:?}", signal.dtype()), "float32 on this device")
    })?;
    let chunks = host_chunks(samples, frame, &window.device())?;
    let peaks = welch_peaks_from_host(chunks, window, options, k)?;
    Ok([TensorData::new(peaks.bins, [rows, k]), TensorData::new(peaks.power, [rows, k])])
}
