//! Exact Welch peaks as a module.

use burn::tensor::DType;
use firefly_ops::from_host::{HostError, HostPeaks, welch_peaks_from_host};
use firefly_ops::options::{Average, SegmentPlacement};
use firefly_ops::{SampleKind, top_k, welch_peaks, welch_psd};

use crate::prelude::*;

/// Largest number of samples in a segment of a model: a damaged configuration asks for no more memory than this needs.
pub(crate) const MAX_MODEL_N_FFT: usize = 1 << 24;

config! {
    /// Configuration of [`WelchPeaks`].
    ///
    /// ```
    /// use firefly_models::WelchPeaksConfig;
    /// use firefly_ops::options::SegmentPlacement;
    ///
    /// let config = WelchPeaksConfig::new().with_n_fft(1000).with_segments(3);
    /// assert_eq!((config.options().frame(), config.options().bins()), (1000 + 2 * 500, 501));
    /// // The same number of segments, spread over the frame of eight.
    /// let spread = config.clone().with_placement(Some(SegmentPlacement::Spread(8)));
    /// assert_eq!((spread.options().averaged(), spread.options().frame()), (3, 1000 + 7 * 500));
    /// assert!(config.with_n_fft(0).validate().unwrap_err().to_string().contains("`n_fft` is 0"));
    /// ```
    WelchPeaksConfig;
    /// Samples in a segment, at least 1: lengths without large prime factors are fastest.
    n_fft: usize = 256;
    /// Samples between the starts of consecutive segments; `n_fft / 2`, at least 1, if `None`.
    hop: Option<usize>;
    /// Number of segments averaged: more are more accurate and cost more.
    segments: usize = 2;
    /// Placement of these segments in a frame; adjacent, from its start, if `None`. Segments that lie apart have less in
    /// common, and cost no more: see [`SegmentPlacement::Spread`].
    placement: Option<SegmentPlacement>;
    /// Peaks per frame: from 1 to the number of bins, `n_fft / 2 + 1` or those of the band.
    k: usize = 16;
    /// Bins among which peaks are searched; all if `None`.
    band: Option<Band>;
    /// Shape of the window.
    window: Window = "Window::Hann";
    /// Period of the window: `n_fft` samples (periodic, for spectra) or `n_fft − 1` (symmetric).
    symmetry: WindowSymmetry = "WindowSymmetry::Periodic";
    /// Scaling of power.
    scaling: Scaling = "Scaling::Power";
    /// Trend removed from each segment.
    detrend: Detrend = "Detrend::None";
    /// Average of the power of segments; the mean if `None`.
    average: Option<Average>;
}

impl WelchPeaksConfig {
    /// Options of the Welch estimate; with adjacent segments where they can't be placed, which
    /// [`validate`](Self::validate) refuses.
    pub fn options(&self) -> WelchOptions {
        let adjacent = self.adjacent();
        adjacent.with_placement(self.placement).unwrap_or(adjacent)
    }

    /// The options with adjacent segments.
    fn adjacent(&self) -> WelchOptions {
        let options = WelchOptions::new(self.n_fft, self.segments);
        options
            .with_hop(self.hop.unwrap_or(options.hop))
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_average(self.average.unwrap_or_default())
            .with_band(self.band)
    }

    fn check_fields(&self) -> Result<()> {
        const NAME: &str = "WelchPeaksConfig";
        let is_length = (1..=MAX_MODEL_N_FFT).contains(&self.n_fft);
        ensure(is_length, NAME, "n_fft", self.n_fft, format_args!("from 1 to {MAX_MODEL_N_FFT}"))?;
        let options = self.adjacent().with_placement(self.placement)?;
        options.validate(NAME)?;
        self.window.validate(NAME, self.n_fft)?;
        options.validate_k(NAME, self.k)
    }
}

/// Strongest lines of each frame's Welch power spectrum, by the method of P. D. Welch (1967).
///
/// A module without parameters, differentiable in the signal through the peaks' power. f32 and, on a CPU, f64 compute
/// in their own precision; f16 and bf16 compute in f32.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use firefly_models::WelchPeaksConfig;
///
/// // A tone of 8 periods per 64 samples, one frame: the strongest bin is 8.
/// let device = Device::flex();
/// let time = Tensor::<1, Int>::arange(0..64, &device).float();
/// let signal = (time * (8.0 * std::f32::consts::TAU / 64.0)).sin(); // [frame]
/// let model = WelchPeaksConfig::new().with_n_fft(64).with_segments(1).with_k(3).init(&device);
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

configured! { WelchPeaks by WelchPeaksConfig }

impl WelchPeaks {
    fn new(config: &WelchPeaksConfig, device: &Device) -> Result<Self> {
        let options = config.options();
        let window = config.window.tensor(config.n_fft, config.symmetry, FloatDType::F32, device);
        Ok(Self { window, options, config: config.clone() })
    }

    or_panic! { forward<const D; K: SampleKind> = try_forward(signal: Tensor<D, K>) -> Peaks<D> }

    /// Peaks of each frame of `signal` `[.., frame]`, of any [type of samples](SampleKind): bins and power `[.., k]`,
    /// strongest first.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are shorter than [`options().frame()`](WelchOptions::frame) or on another
    /// device.
    pub fn try_forward<const D: usize, K: SampleKind>(&self, signal: Tensor<D, K>) -> Result<Peaks<D>> {
        let window = self.window_for(&signal);
        welch_peaks(signal, window, &self.options, self.config.k)
    }

    /// Peaks in host memory of frames in host memory, in chunks whose upload, computation and read-back overlap.
    /// `chunks` are f32 `[rows, frame]`, as [`host_chunks`](firefly_ops::from_host::host_chunks) makes them.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::WelchPeaksConfig;
    /// use firefly_ops::from_host::host_chunks;
    ///
    /// let device = Device::flex();
    /// let model = WelchPeaksConfig::new().with_n_fft(64).with_segments(1).with_k(3).init(&device);
    /// let samples = vec![1.0; 1_000 * 64];
    /// let peaks = model.try_forward_from_host(host_chunks(&samples, 64, &device)?)?;
    /// assert_eq!((peaks.bins.len(), peaks.bins[0]), (3_000, 0));
    /// # Ok::<(), firefly_ops::from_host::HostError>(())
    /// ```
    ///
    /// # Errors
    /// As [`try_forward`](Self::try_forward), and if the device fails.
    pub fn try_forward_from_host(&self, chunks: impl IntoIterator<Item = TensorData>) -> Result<HostPeaks, HostError> {
        welch_peaks_from_host(chunks, self.window.clone(), &self.options, self.config.k)
    }

    or_panic! { psd<const D; K: SampleKind> = try_psd(signal: Tensor<D, K>) -> Tensor<D> }

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
    /// # Errors
    /// As [`try_forward`](Self::try_forward).
    pub fn try_psd<const D: usize, K: SampleKind>(&self, signal: Tensor<D, K>) -> Result<Tensor<D>> {
        let window = self.window_for(&signal);
        welch_psd(signal, window, &self.options)
    }

    /// The window, in double precision for a signal in double precision.
    fn window_for<const D: usize, K: SampleKind>(&self, signal: &Tensor<D, K>) -> Tensor<1> {
        let WelchPeaksConfig { n_fft, window, symmetry, .. } = self.config;
        match signal.dtype() {
            DType::F64 => window.tensor(n_fft, symmetry, FloatDType::F64, &signal.device().inner()),
            _ => self.window.clone(),
        }
    }

    /// The same model with another number of segments.
    #[cfg(feature = "flex")]
    pub(crate) fn with_segments(&self, segments: usize) -> Self {
        let config = self.config.clone().with_segments(segments);
        Self { window: self.window.clone(), options: config.options(), config }
    }

    /// Options of the Welch estimate.
    pub fn options(&self) -> &WelchOptions {
        &self.options
    }

    /// Peaks per frame.
    pub fn k(&self) -> usize {
        self.config.k
    }
}

/// The strongest bins of `power`, of a band or of all.
pub(crate) fn strongest<const D: usize>(power: Tensor<D>, band: Option<Band>, k: usize) -> Result<Peaks<D>> {
    let Some(band) = band else { return top_k(power, k) };
    let found = top_k(power.narrow(D - 1, band.first, band.end - band.first), k)?;
    let missing = found.bins.clone().lower_elem(0);
    Ok(Peaks { bins: (found.bins + band.first as i64).mask_fill(missing, -1), power: found.power })
}

impl Family for WelchPeaks {
    configured_by! { WelchPeaksConfig, "welch_peaks" }

    fn variants() -> Vec<Variant<WelchPeaksConfig>> {
        let config = WelchPeaksConfig::new();
        let of = |segments| config.clone().with_segments(segments);
        vec![
            Variant::new("welch_peaks", "two segments of 256 samples", config.clone()),
            Variant::new("welch_peaks_ultra", "one segment of 256 samples", of(1)),
            Variant::new("welch_peaks_reference", "eight segments of 256 samples", of(8)),
            Variant::new("welch_peaks_tiny", "two segments of 32 samples", of(2).with_n_fft(32).with_k(3)),
        ]
    }

    fn inputs(&self, batch: usize) -> Vec<Input> {
        vec![Input::new("signal", [batch, self.options.frame()])]
    }

    fn apply(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>> {
        const NAME: &str = "WelchPeaks";
        let [signal] = exactly(NAME, inputs)?;
        let signal = signal.try_float::<2>(NAME, "signal")?;
        let peaks = self.try_forward(signal)?;
        Ok(vec![peaks.bins.into(), peaks.power.into()])
    }
}
