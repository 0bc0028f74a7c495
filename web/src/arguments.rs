//! Options of a Welch estimate and of mel spectra, as `js/firefly.js` writes them: every key is there.

use burn::tensor::{FloatDType, Tensor};
use firefly_ops::options::{LogGuard, LogUnit, Logarithm, MelBands, MelNorm, MelScale, SignalPadding, SpectrumKind};
use firefly_ops::{
    ArgumentError, Band, Detrend, MelOptions, Scaling, StftOptions, WelchOptions, Window, WindowSymmetry,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsError;

use crate::device;

/// Reads options from JSON.
pub fn read<A: DeserializeOwned>(json: &str) -> Result<A, JsError> {
    serde_json::from_str(json).map_err(|error| JsError::new(&format!("options: {error}")))
}

/// Options of a Welch estimate.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WelchArguments {
    n_fft: usize,
    hop: usize,
    segments: usize,
    window: String,
    scaling: String,
    sample_rate: f64,
    detrend: Detrend,
    band: Option<Band>,
}

impl WelchArguments {
    /// The options and the window.
    pub fn options(&self) -> Result<(WelchOptions, Tensor<1>), ArgumentError> {
        const NAME: &str = "welch";
        let scaling = match self.scaling.as_str() {
            "power" => Scaling::Power,
            "spectrum" => Scaling::Spectrum,
            "density" => Scaling::Density { sample_rate: self.sample_rate },
            other => return Err(ArgumentError::new(NAME, "scaling", other, "power, spectrum or density")),
        };
        let options = WelchOptions::new(self.n_fft, self.segments)
            .with_hop(self.hop)
            .with_scaling(scaling)
            .with_detrend(self.detrend)
            .with_band(self.band);
        options.validate(NAME)?;
        Ok((options, window(NAME, &self.window, self.n_fft)?))
    }
}

/// Options of mel spectra.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MelArguments {
    n_fft: usize,
    hop: usize,
    window_length: usize,
    window: String,
    center: bool,
    pad: String,
    sample_rate: f64,
    n_mels: usize,
    f_min: f64,
    f_max: Option<f64>,
    scale: MelScale,
    norm: MelNorm,
    kind: SpectrumKind,
    unit: LogUnit,
    floor: Option<f64>,
    offset: Option<f64>,
}

impl MelArguments {
    /// The options, the logarithm and the window.
    pub fn options(&self) -> Result<(MelOptions, Logarithm, Tensor<1>), ArgumentError> {
        const NAME: &str = "log_mel";
        let pad = match self.pad.as_str() {
            "constant" => SignalPadding::Constant(0.0),
            "reflect" => SignalPadding::Reflect,
            "edge" => SignalPadding::Edge,
            "circular" => SignalPadding::Circular,
            other => return Err(ArgumentError::new(NAME, "pad", other, "constant, reflect, edge or circular")),
        };
        let mut bands = MelBands::new(self.sample_rate, self.n_mels)
            .with_f_min(self.f_min)
            .with_scale(self.scale)
            .with_norm(self.norm);
        if let Some(f_max) = self.f_max {
            bands = bands.with_f_max(f_max);
        }
        let stft = StftOptions::new(self.n_fft)
            .with_hop(self.hop)
            .with_window_length(self.window_length)
            .with_center(self.center)
            .with_pad(pad);
        let guard = match (self.floor, self.offset) {
            (Some(floor), None) => LogGuard::Floor(floor),
            (None, Some(offset)) => LogGuard::Offset(offset),
            _ => return Err(ArgumentError::new(NAME, "floor", "given as is offset", "one of the two")),
        };
        let window = window(NAME, &self.window, self.window_length)?;
        Ok((MelOptions::new(stft, bands).with_kind(self.kind), Logarithm::new(self.unit).with_guard(guard), window))
    }
}

/// The periodic window of that name, such as `hann` or `kaiser(8.6)`.
fn window(operation: &'static str, name: &str, n: usize) -> Result<Tensor<1>, ArgumentError> {
    let named = |error: ArgumentError| {
        // A parameter that is out of range, or no window's name.
        let parameter = if error.argument == "name" { String::new() } else { format!("with {} ", error.argument) };
        ArgumentError::new(operation, "window", format_args!("`{name}`"), parameter + &error.expected)
    };
    let window: Window = name.parse().map_err(named)?;
    window.validate(operation, n)?;
    Ok(window.tensor(n, WindowSymmetry::Periodic, FloatDType::F32, &device()))
}
