//! Log-mel spectra, with fixed or with learned filters.

use firefly_ops::fft::stft;
use firefly_ops::options::{LogUnit, Logarithm, MelBands, MelNorm, MelScale, SpectrumKind, mel_filters};
use firefly_ops::{MelOptions, StftOptions, log_mel};

use crate::prelude::*;

/// Range of a standardised spectrum below the greatest value of a recording, in decades of power.
const RANGE: f64 = 5.0;
/// Added to a deviation that spectra are divided by.
const MIN_DEVIATION: f64 = 1e-3;

config! {
    /// Configuration of [`LogMel`]; the defaults are those of Whisper.
    ///
    /// ```
    /// use firefly_models::LogMelConfig;
    ///
    /// let config = LogMelConfig::new().with_sample_rate(8_000.0).with_bands(40);
    /// assert!(config.validate().is_ok());
    /// assert!(config.with_hop(0).validate().unwrap_err().to_string().contains("`hop` is 0"));
    /// ```
    LogMelConfig;
    /// Samples per second, in hertz.
    sample_rate: f64 = 16_000.0;
    /// Samples in a frame.
    n_fft: usize = 400;
    /// Samples from one frame's start to the next.
    hop: usize = 160;
    /// Number of bands.
    bands: usize = 80;
    /// Lower edge of the first band, in hertz.
    f_min: f64 = 0.0;
    /// Upper edge of the last band, in hertz; half the sample rate if `None`.
    f_max: Option<f64>;
    /// The mel scale.
    scale: MelScale = "MelScale::Slaney";
    /// The factor on each filter.
    norm: MelNorm = "MelNorm::Slaney";
    /// Quantity that is summed into bands.
    kind: SpectrumKind = "SpectrumKind::Power";
    /// Shape of the window, periodic.
    window: Window = "Window::Hann";
    /// Unit of the logarithm.
    unit: LogUnit = "LogUnit::Ten";
    /// Least value that the logarithm is taken of.
    floor: f64 = 1e-10;
    /// Whether the filters are learned, starting from mel filters.
    learned: bool = false;
    /// Samples of a row of the declared inputs; rows of other lengths are accepted as well.
    samples: usize = 16_000;
}

impl LogMelConfig {
    /// Frames and bands.
    pub fn options(&self) -> MelOptions {
        let stft = StftOptions::new(self.n_fft).with_hop(self.hop);
        let bands = MelBands::new(self.sample_rate, self.bands).with_f_min(self.f_min);
        let bands = bands.with_scale(self.scale).with_norm(self.norm);
        let bands = self.f_max.map_or(bands, |f_max| bands.with_f_max(f_max));
        MelOptions::new(stft, bands).with_kind(self.kind)
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "LogMelConfig";
        ensure(self.n_fft >= 2, NAME, "n_fft", self.n_fft, "at least 2 samples")?;
        ensure(self.hop >= 1, NAME, "hop", self.hop, "at least 1 sample")?;
        self.options().bands.validate(NAME)?;
        self.window.validate(NAME, self.n_fft)?;
        ensure_table(NAME, "bands", self.bands, self.n_fft / 2 + 1)?;
        let [least, most] = [f32::MIN_POSITIVE, f32::MAX].map(f64::from);
        let is_floor = (least..=most).contains(&self.floor);
        ensure(is_floor, NAME, "floor", self.floor, format_args!("from {least:e} to {most:e}"))?;
        let half = self.n_fft / 2;
        ensure(self.samples > half, NAME, "samples", self.samples, format_args!("more than half a frame, {half}"))
    }
}

/// Logarithm of the power of each frame in mel bands, centred frames with reflected ends.
///
/// Fixed filters are one operation, [`log_mel`]. Learned ones start from the same filters, and every bin may get a
/// weight in every band.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::LogMelConfig;
///
/// let device = Device::flex();
/// let config = LogMelConfig::new().with_sample_rate(8_000.0).with_n_fft(200).with_hop(80).with_bands(40);
/// let signal = Tensor::<2>::ones([3, 8_000], &device);
/// let fixed: Tensor<3> = config.init(&device).forward(signal.clone());
/// let learned: Tensor<3> = config.with_learned(true).init(&device).forward(signal);
/// assert_eq!((fixed.dims(), learned.dims()), ([3, 40, 101], [3, 40, 101]));
/// ```
#[derive(Module, Debug)]
pub struct LogMel {
    window: Tensor<1>,
    /// Learned filters, `[bands, n_fft / 2 + 1]`.
    pub filters: Option<Param<Tensor<2>>>,
    #[module(skip)]
    config: LogMelConfig,
}

configured! { LogMel by LogMelConfig }

impl LogMel {
    fn new(config: &LogMelConfig, device: &Device) -> Result<Self> {
        let filters = if config.learned {
            let filters = mel_filters(config.n_fft, &config.options().bands)?;
            let weights: Vec<f32> = filters.concat().into_iter().map(|weight| weight as f32).collect();
            let data = TensorData::new(weights, [config.bands, config.n_fft / 2 + 1]);
            Some(Param::from_tensor(Tensor::from_data(data, device)))
        } else {
            None
        };
        let window = config.window.tensor(config.n_fft, WindowSymmetry::Periodic, FloatDType::F32, device);
        Ok(Self { window, filters, config: config.clone() })
    }

    or_panic! { forward<const D, const E> = try_forward(signal: Tensor<D>) -> Tensor<E> }

    /// Log-mel spectra of each row of `signal` `[.., samples]`: `[.., bands, frames]`, one dimension more.
    ///
    /// # Errors
    /// [`ArgumentError`] for rows of half a frame or less.
    pub fn try_forward<const D: usize, const E: usize>(&self, signal: Tensor<D>) -> Result<Tensor<E>> {
        let (options, unit, floor) = (self.config.options(), self.config.unit, self.config.floor);
        let Some(filters) = &self.filters else {
            let logarithm = Logarithm::new(unit).with_guard(firefly_ops::options::LogGuard::Floor(floor));
            return log_mel(signal, self.window.clone(), &options, &logarithm);
        };
        let power = stft::<D, E>(signal, Some(self.window.clone()), &options.stft)?.abs_squared();
        let values = match options.kind {
            SpectrumKind::Power => power,
            // The gradient of a root at 0 is not finite.
            SpectrumKind::Amplitude => power.clamp_min(f64::from(f32::MIN_POSITIVE)).sqrt(),
        };
        let bands = times_columns(filters.val(), values);
        let factor = match (unit, options.kind) {
            (LogUnit::Natural, _) => 1.0,
            (LogUnit::Ten, _) => 10f64.ln().recip(),
            (LogUnit::Decibel, SpectrumKind::Power) => 10.0 / 10f64.ln(),
            (LogUnit::Decibel, SpectrumKind::Amplitude) => 20.0 / 10f64.ln(),
        };
        Ok(bands.clamp_min(floor).log() * factor)
    }
}

/// Log-mel spectra `[batch, bands, frames]` in decades of power, cut off 50 dB below the greatest value of each
/// recording and brought to mean 0 and deviation 1 over it, so that loudness and silence around a recording do not
/// count.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::log_mel::standardised_spectrum;
///
/// let spectrum = Tensor::<3>::from_floats([[[0.0, -2.0], [-9.0, -2.0]]], &Device::flex());
/// let values: Vec<f32> = standardised_spectrum(spectrum).into_data().iter().collect();
/// assert!((values[1] - 0.14).abs() < 0.01 && (values[2] + 1.54).abs() < 0.01, "{values:?}"); // -9 counts as -5
/// ```
pub fn standardised_spectrum(spectrum: Tensor<3>) -> Tensor<3> {
    let [batch, bands, frames] = spectrum.dims();
    let flat: Tensor<2> = spectrum.reshape([batch, bands * frames]);
    let floor = (flat.clone().max_dim(1) - RANGE).expand([batch, bands * frames]);
    let flat = flat.max_pair(floor);
    let centred = flat.clone() - flat.mean_dim(1);
    let deviation = centred.clone().square().mean_dim(1).sqrt() + MIN_DEVIATION;
    (centred / deviation).reshape([batch, bands, frames])
}

/// The product of `matrix` `[m, n]` with every column of `values` `[.., n, frames]`.
pub(crate) fn times_columns<const E: usize>(matrix: Tensor<2>, values: Tensor<E>) -> Tensor<E> {
    let mut dims = values.dims();
    let rows: usize = dims[..E - 2].iter().product();
    let values: Tensor<3> = values.reshape([rows, dims[E - 2], dims[E - 1]]);
    dims[E - 2] = matrix.dims()[0];
    matrix.cast(values.dtype()).unsqueeze::<3>().matmul(values).reshape(dims)
}

impl Family for LogMel {
    configured_by! { LogMelConfig, "log_mel" }

    fn variants() -> Vec<Variant<LogMelConfig>> {
        let config = LogMelConfig::new();
        let tiny = LogMelConfig::new().with_sample_rate(800.0).with_n_fft(40).with_hop(16).with_bands(4);
        let tiny = tiny.with_samples(100);
        vec![
            Variant::new("log_mel", "80 bands of 16 kHz, fixed filters", config.clone()),
            Variant::new("log_mel_learned", "80 bands of 16 kHz, learned filters", config.with_learned(true)),
            Variant::new("log_mel_fixed_tiny", "4 bands of frames of 40 samples, fixed filters", tiny.clone()),
            Variant::new("log_mel_tiny", "4 bands of frames of 40 samples, learned filters", tiny.with_learned(true)),
        ]
    }

    applied_to! { signal [samples]: Tensor<2> => Tensor<3>, "LogMel" }
}
