//! Exact Welch peaks as a module.

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use firefly_framework::graph::{AnyTensor, Input};
use firefly_ops::options::validate_n_fft;
use firefly_ops::{
    ArgumentError, Band, Detrend, HostError, HostPeaks, Peaks, Scaling, WelchOptions, Window, WindowSymmetry,
    welch_peaks, welch_peaks_from_host, welch_psd,
};

use crate::expect_valid;
use crate::tier::Tier;
use crate::zoo::{Family, FamilyCard, MACHINE, Measurement, Paper, Signature, Variant, exactly};

/// Command of the measurements on the card, which evaluates exact estimates too.
const COMMAND: &str = "firefly train configs/bearing-256.toml --data DATA";

/// Configuration of [`WelchPeaks`].
///
/// ```
/// use firefly_models::{Tier, WelchPeaksConfig};
///
/// let config = WelchPeaksConfig::new().with_n_fft(512).with_tier(Tier::Reference);
/// assert_eq!((config.options().frame(), config.options().bins()), (512 + 7 * 256, 257));
/// assert!(config.with_n_fft(500).validate().unwrap_err().to_string().contains("`n_fft` is 500"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct WelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples between the starts of consecutive segments; `n_fft / 2` if `None`.
    pub hop: Option<usize>,
    /// Number of segments averaged.
    #[config(default = "Tier::Fast")]
    pub tier: Tier,
    /// Peaks per frame: from 1 to the number of bins, `n_fft / 2 + 1` or those of the band.
    #[config(default = 16)]
    pub k: usize,
    /// Bins among which peaks are searched; all if `None`.
    pub band: Option<Band>,
    /// Shape of the window.
    #[config(default = "Window::Hann")]
    pub window: Window,
    /// Period of the window: `n_fft` samples (periodic, for spectra) or `n_fft − 1` (symmetric).
    #[config(default = "WindowSymmetry::Periodic")]
    pub symmetry: WindowSymmetry,
    /// Scaling of power.
    #[config(default = "Scaling::Power")]
    pub scaling: Scaling,
    /// Trend removed from each segment.
    #[config(default = "Detrend::None")]
    pub detrend: Detrend,
}

impl WelchPeaksConfig {
    /// Options of the Welch estimate.
    pub fn options(&self) -> WelchOptions {
        WelchOptions::new(self.n_fft, self.tier.segments())
            .with_hop(self.hop.unwrap_or(self.n_fft / 2))
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_band(self.band)
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        validate("WelchPeaksConfig", &self.options(), self.window, self.k)
    }

    /// The module on `device`.
    ///
    /// # Panics
    /// With the message of [`try_init`](Self::try_init)'s error.
    #[track_caller]
    pub fn init(&self, device: &Device) -> WelchPeaks {
        expect_valid(self.try_init(device))
    }

    /// The module on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<WelchPeaks, ArgumentError> {
        self.validate()?;
        let options = self.options();
        let window = self.window.tensor(self.n_fft, self.symmetry, FloatDType::F32, device);
        Ok(WelchPeaks { window, options, config: self.clone() })
    }
}

/// The checks that exact and learned configurations share.
pub(crate) fn validate(
    config: &'static str,
    options: &WelchOptions,
    window: Window,
    k: usize,
) -> Result<(), ArgumentError> {
    options.validate(config)?;
    validate_n_fft(config, "n_fft", options.n_fft)?;
    window.validate(config, options.n_fft)?;
    options.validate_k(config, k)
}

/// Strongest lines of each frame's Welch power spectrum, by the method of P. D. Welch (1967).
///
/// A module without parameters, differentiable in the signal through the peaks' power. f32 and, on a CPU, f64 compute
/// in their own precision; f16 and bf16 compute in f32.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use firefly_models::{Tier, WelchPeaksConfig};
///
/// // A tone of 8 periods per 64 samples, one frame: the strongest bin is 8.
/// let device = Device::flex();
/// let time = Tensor::<1, Int>::arange(0..64, &device).float();
/// let signal = (time * (8.0 * std::f32::consts::TAU / 64.0)).sin(); // [frame]
/// let model = WelchPeaksConfig::new().with_n_fft(64).with_tier(Tier::Ultra).with_k(3).init(&device);
/// let bins: Vec<i64> = model.forward(signal).bins.into_data().iter().collect();
/// assert_eq!(bins[0], 8);
/// ```
#[derive(Module, Debug)]
pub struct WelchPeaks {
    window: Tensor<1>,
    #[module(skip)]
    options: WelchOptions,
    #[module(skip)]
    config: WelchPeaksConfig,
}

impl WelchPeaks {
    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Panics
    /// With the message of [`try_forward`](Self::try_forward)'s error.
    #[track_caller]
    pub fn forward<const D: usize>(&self, signal: Tensor<D>) -> Peaks<D> {
        expect_valid(self.try_forward(signal))
    }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are shorter than [`options().frame()`](WelchOptions::frame) or on another
    /// device.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Peaks<D>, ArgumentError> {
        let window = self.window_for(&signal);
        welch_peaks(signal, window, &self.options, self.config.k)
    }

    /// Peaks in host memory of frames in host memory, in chunks whose upload, computation and read-back overlap.
    /// `chunks` are f32 `[rows, frame]`, as [`host_chunks`](firefly_ops::host_chunks) makes them.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::{Tier, WelchPeaksConfig};
    /// use firefly_ops::host_chunks;
    ///
    /// let device = Device::flex();
    /// let model = WelchPeaksConfig::new().with_n_fft(64).with_tier(Tier::Ultra).with_k(3).init(&device);
    /// let samples = vec![1.0; 1_000 * 64];
    /// let peaks = model.try_forward_from_host(host_chunks(&samples, 64, &device)?)?;
    /// assert_eq!((peaks.bins.len(), peaks.bins[0]), (3_000, 0));
    /// # Ok::<(), firefly_ops::HostError>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward), and if the device fails.
    pub fn try_forward_from_host(&self, chunks: impl IntoIterator<Item = TensorData>) -> Result<HostPeaks, HostError> {
        welch_peaks_from_host(chunks, self.window.clone(), &self.options, self.config.k)
    }

    /// Power of every bin of each frame of `signal` `[.., frame]`: `[.., bins]`, in the signal's unit squared (per
    /// hertz with [`Scaling::Density`]).
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use firefly_models::{Detrend, WelchPeaksConfig};
    ///
    /// // A constant, without its mean.
    /// let device = Device::flex();
    /// let model = WelchPeaksConfig::new().with_n_fft(64).with_detrend(Detrend::Constant).with_k(3).init(&device);
    /// let power = model.psd(Tensor::<2>::ones([5, 96], &device)); // [batch, frame]
    /// assert_eq!((power.dims(), power.max().into_scalar::<f32>()), ([5, 33], 0.0));
    /// ```
    ///
    /// # Panics
    /// With the message of [`try_psd`](Self::try_psd)'s error.
    #[track_caller]
    pub fn psd<const D: usize>(&self, signal: Tensor<D>) -> Tensor<D> {
        expect_valid(self.try_psd(signal))
    }

    /// Power of every bin, as [`psd`](Self::psd).
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize>(&self, signal: Tensor<D>) -> Result<Tensor<D>, ArgumentError> {
        let window = self.window_for(&signal);
        welch_psd(signal, window, &self.options)
    }

    /// The window, in double precision for a signal in double precision.
    fn window_for<const D: usize>(&self, signal: &Tensor<D>) -> Tensor<1> {
        let WelchPeaksConfig { n_fft, window, symmetry, .. } = self.config;
        match signal.dtype() {
            DType::F64 => window.tensor(n_fft, symmetry, FloatDType::F64, &signal.device().inner()),
            _ => self.window.clone(),
        }
    }

    /// Options of the Welch estimate.
    pub fn options(&self) -> &WelchOptions {
        &self.options
    }

    /// Peaks per frame.
    pub fn k(&self) -> usize {
        self.config.k
    }

    /// Configuration of the model.
    pub fn config(&self) -> &WelchPeaksConfig {
        &self.config
    }

    /// Butterflies per frame, `log2(n_fft) · n_fft / 2` per segment: the count by which learned models are compared.
    /// (The kernels share one complex transform between two segments.)
    pub fn butterflies(&self) -> usize {
        self.options.butterflies()
    }
}

/// Output signatures of models that find peaks.
pub(crate) const PEAKS: &[Signature] = &[
    Signature { name: "bins", shape: "[batch, k], integers", meaning: "bins of the peaks, strongest first" },
    Signature { name: "power", shape: "[batch, k]", meaning: "their power, in the signal's unit squared" },
];

/// Input signature of models that take frames.
pub(crate) const FRAMES: &[Signature] =
    &[Signature { name: "signal", shape: "[batch, frame]", meaning: "samples of each frame" }];

impl Family for WelchPeaks {
    type Config = WelchPeaksConfig;

    const CARD: FamilyCard = FamilyCard {
        name: "welch_peaks",
        summary: "Strongest bins of each frame's Welch power spectrum.",
        paper: Some(Paper {
            authors: "Welch 1967",
            title: "The use of fast Fourier transform for the estimation of power spectra",
            url: "https://doi.org/10.1109/TAU.1967.1161901",
        }),
        inputs: FRAMES,
        outputs: PEAKS,
        results: &[
            Measurement {
                model: "welch_peaks",
                what: "share of the 16 strongest bins of eight segments, bearings under load 3",
                value: "0.829",
                command: COMMAND,
                machine: MACHINE,
            },
            Measurement {
                model: "welch_peaks_ultra",
                what: "the same of one segment",
                value: "0.741",
                command: COMMAND,
                machine: MACHINE,
            },
        ],
    };

    fn variants() -> Vec<Variant<WelchPeaksConfig>> {
        let config = WelchPeaksConfig::new();
        let of_tier = |tier| config.clone().with_tier(tier);
        vec![
            Variant::new("welch_peaks", "two segments of 256 samples", config.clone()),
            Variant::new("welch_peaks_ultra", "one segment of 256 samples", of_tier(Tier::Ultra)),
            Variant::new("welch_peaks_reference", "eight segments of 256 samples", of_tier(Tier::Reference)),
            Variant::new(
                "welch_peaks_tiny",
                "two segments of 32 samples",
                of_tier(Tier::Fast).with_n_fft(32).with_k(3),
            ),
        ]
    }

    fn from_config(config: &WelchPeaksConfig, device: &Device) -> Result<Self, ArgumentError> {
        config.try_init(device)
    }

    fn config(&self) -> WelchPeaksConfig {
        self.config.clone()
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options.frame()])]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, ArgumentError> {
        const NAME: &str = "WelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let signal = signal.try_float::<2>(NAME, "signal")?;
        let peaks = self.try_forward(signal)?;
        Ok(vec![peaks.bins.into(), peaks.power.into()])
    }
}
