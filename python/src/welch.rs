//! Welch power spectra and their strongest bins.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_ops::{
    ArgumentError, Detrend, HostError, HostMemory, Scaling, WelchOptions, host_chunks, welch_peaks,
    welch_peaks_from_host, welch_psd,
};
use numpy::{PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{borrow, own};
use crate::device::{open, upload};
use crate::error::{runtime_error, value_error};
use crate::threads::run;

/// An estimate of power: a window, segments of its length, scaling and detrending, on a device.
#[pyclass(frozen)]
pub struct WelchEstimate {
    options: WelchOptions,
    window: Vec<f64>,
    device: Device,
}

/// What an estimate is made of, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct WelchArguments {
    hop: usize,
    segments: usize,
    scaling: String,
    fs: f64,
    detrend: bool,
    device: String,
}

#[pymethods]
impl WelchEstimate {
    #[new]
    fn new(window: PyReadonlyArray1<'_, f64>, arguments: WelchArguments) -> PyResult<Self> {
        let WelchArguments { hop, segments, scaling, fs, detrend, device } = arguments;
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
        options.validate("welch").map_err(value_error)?;
        Ok(Self { options, window, device: open(&device)? })
    }

    /// Power `[rows, bins]` of a signal `[rows, frame]`.
    fn psd<'py>(&self, py: Python<'py>, signal: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
        let (signal, options) = (borrow(signal)?, self.options);
        let (window, device) = (self.window(&signal), self.device.clone());
        let power = run(py, move || welch_psd(upload::<2>(signal, &device), window, &options).map(Tensor::into_data))?;
        own(py, power.map_err(value_error)?)
    }

    /// Bins and power `[rows, k]` of the strongest bins of a signal `[rows, frame]`.
    fn peaks<'py>(
        &self,
        py: Python<'py>,
        signal: &Bound<'py, PyUntypedArray>,
        k: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (signal, options) = (borrow(signal)?, self.options);
        let (window, device) = (self.window(&signal), self.device.clone());
        let found = run(py, move || strongest(signal, window, &options, k, &device))?;
        let [bins, power] = found.map_err(|error| match error {
            HostError::Argument(error) => value_error(error),
            error => runtime_error(error),
        })?;
        Ok((own(py, bins)?, own(py, power)?))
    }
}

impl WelchEstimate {
    /// The window in the type of a signal.
    fn window(&self, signal: &TensorData) -> Tensor<1> {
        let window = TensorData::new(self.window.clone(), [self.window.len()]);
        upload(window.convert_dtype(signal.dtype()), &self.device)
    }
}

/// Bins and power; on accelerators in chunks, whose transfers overlap with the computation.
fn strongest(
    signal: TensorData,
    window: Tensor<1>,
    options: &WelchOptions,
    k: usize,
    device: &Device,
) -> Result<[TensorData; 2], HostError> {
    if *device == Device::flex() {
        let peaks = welch_peaks(upload::<2>(signal, device), window, options, k)?;
        return Ok([peaks.bins.into_data(), peaks.power.into_data()]);
    }
    let shape: &[usize] = signal.shape();
    let (rows, frame) = (shape[0], shape[1]);
    let samples = signal.as_slice::<f32>().map_err(|_| {
        ArgumentError::new("welch_peaks", "signal", format_args!("{:?}", signal.dtype()), "float32 on this device")
    })?;
    let chunks = host_chunks(samples, frame, HostMemory::Pageable)?;
    let peaks = welch_peaks_from_host(chunks, window, options, k)?;
    Ok([TensorData::new(peaks.bins, [rows, k]), TensorData::new(peaks.power, [rows, k])])
}
