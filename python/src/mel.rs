//! Mel spectra.

use burn::tensor::TensorData;
use firefly_ops::options::{LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SignalPadding, SpectrumKind};
use firefly_ops::{MelOptions, StftOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::own;
use crate::error::value_error;

/// The bands, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BandArguments {
    fs: f64,
    n_mels: usize,
    fmin: f64,
    fmax: Option<f64>,
    htk: bool,
    slaney_norm: bool,
}

impl BandArguments {
    /// The bands.
    pub fn bands(&self) -> MelBands {
        let bands = MelBands::new(self.fs, self.n_mels)
            .with_f_min(self.fmin)
            .with_scale(if self.htk { MelScale::Htk } else { MelScale::Slaney })
            .with_norm(if self.slaney_norm { MelNorm::Slaney } else { MelNorm::None });
        self.fmax.map_or(bands, |fmax| bands.with_f_max(fmax))
    }
}

/// The frames, and what is summed into bands, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FrameArguments {
    n_fft: usize,
    hop_length: usize,
    center: bool,
    pad_mode: String,
    amplitude: bool,
    /// Unit of the logarithm and its floor.
    logarithm: Option<(String, f64)>,
}

impl FrameArguments {
    /// The frames, under a window of so many samples.
    ///
    /// # Errors
    /// `ValueError` for a padding that is none.
    pub fn stft(&self, window: usize) -> PyResult<StftOptions> {
        let pad = match self.pad_mode.as_str() {
            "constant" => SignalPadding::Constant(0.0),
            "reflect" => SignalPadding::Reflect,
            "edge" => SignalPadding::Edge,
            "wrap" => SignalPadding::Circular,
            other => {
                let text = format!("pad_mode is {other:?}, but must be 'constant', 'reflect', 'edge' or 'wrap'");
                return Err(PyValueError::new_err(text));
            }
        };
        let options = StftOptions::new(self.n_fft).with_hop(self.hop_length).with_window_length(window);
        Ok(options.with_center(self.center).with_pad(pad))
    }

    /// The frames of mel spectra.
    ///
    /// # Errors
    /// As [`stft`](Self::stft).
    pub fn options(&self, window: usize, bands: MelBands) -> PyResult<MelOptions> {
        let kind = if self.amplitude { SpectrumKind::Amplitude } else { SpectrumKind::Power };
        Ok(MelOptions::new(self.stft(window)?, bands).with_kind(kind))
    }

    /// The logarithm, if there is one.
    ///
    /// # Errors
    /// `ValueError` for a unit that is none.
    pub fn logarithm(&self) -> PyResult<Option<Logarithm>> {
        let Some((unit, floor)) = &self.logarithm else { return Ok(None) };
        let unit = match unit.as_str() {
            "natural" => LogUnit::Natural,
            "ten" => LogUnit::Ten,
            "decibel" => LogUnit::Decibel,
            other => {
                let text = format!("log is {other:?}, but must be 'decibel', 'natural' or 'ten'");
                return Err(PyValueError::new_err(text));
            }
        };
        Ok(Some(Logarithm::new(unit).with_guard(LogGuard::Floor(*floor))))
    }
}

/// Filters `[bands, bins]` of spectra of `n_fft` samples.
#[pyfunction]
pub fn mel_filters(py: Python<'_>, n_fft: usize, bands: BandArguments) -> PyResult<Bound<'_, PyAny>> {
    let filters = firefly_ops::options::mel_filters(n_fft, &bands.bands()).map_err(value_error)?;
    let shape = [filters.len(), n_fft / 2 + 1];
    own(py, TensorData::new(filters.concat(), shape))
}
