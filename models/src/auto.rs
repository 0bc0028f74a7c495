//! Welch peaks by the strategy that is the fastest on a device, as the [picker](firefly_framework::picker) selects it.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use burn::config::Config;
use burn::module::{Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor};
use burn::tensor::{DType, Device, Tensor, TensorData, Transaction};
use firefly_framework::device::DeviceId;
pub use firefly_framework::picker::{Candidate, Selection, Strategy};
use firefly_framework::picker::{LearnedSize, PeaksRequest, PeaksSize};
use firefly_framework::profile::{DeviceProfile, load_or_preset};
use firefly_framework::published::PublishedStrategy;
use firefly_ops::{ArgumentError, Peaks};

use crate::learned_welch_peaks::{LearnedEstimate, LearnedWelchPeaks, LearnedWelchPeaksConfig};
use crate::welch_peaks::{WelchPeaks, WelchPeaksConfig, strongest};

config! {
    /// Configuration of [`AutoWelchPeaks`]: the estimate, and the candidates among which time decides.
    ///
    /// By default the number of segments is that of the estimate, so that accuracy does not depend on the batch, and
    /// every strategy that computes exact peaks is a candidate.
    ///
    /// ```
    /// use firefly_models::auto::Strategy;
    /// use firefly_models::{AutoWelchPeaksConfig, WelchPeaksConfig};
    ///
    /// let config = AutoWelchPeaksConfig::new().with_peaks(WelchPeaksConfig::new().with_segments(8));
    /// assert_eq!(config.strategies, [Strategy::Host, Strategy::Fused, Strategy::Spectrum]);
    /// // By a published name: one segment, on the host.
    /// let config = config.with_published("ultra")?;
    /// assert_eq!((config.peaks.segments, config.strategies), (1, vec![Strategy::Host]));
    /// # Ok::<_, firefly_models::ArgumentError>(())
    /// ```
    AutoWelchPeaksConfig;
    /// The estimate.
    peaks: WelchPeaksConfig = "WelchPeaksConfig::new()";
    /// Candidate numbers of segments; if empty, only that of the estimate. One is considered if the frames are long
    /// enough.
    segments: Vec<usize> = "Vec::new()";
    /// Candidate strategies. If `Learned` is the only one, the model is
    /// [`LearnedWelchPeaksConfig::universal_for`] the estimate, whatever
    /// its segments and window, and takes frames of eight segments, unless
    /// [`with_learned`](AutoWelchPeaks::with_learned) replaces it. Among others, it is a candidate with the model
    /// that `with_learned` adds.
    strategies: Vec<Strategy> = "Strategy::EXACT.to_vec()";
    /// Whether published thresholds on the batch decide instead of times.
    by_thresholds: bool = false;
    /// Whether peaks stay on the device of the frames; they are delivered in host memory otherwise.
    keep_on_device: bool = false;
    /// Profile of the device; by default the user's calibrated profile of it, or else a preset.
    profile: Option<DeviceProfile>;
}

impl AutoWelchPeaksConfig {
    /// The same configuration with the candidates of a [published name](PublishedStrategy), such as `fused`, or of an
    /// alias.
    ///
    /// # Errors
    /// [`ArgumentError`] for a name that is not published.
    pub fn with_published(self, name: &str) -> Result<Self, ArgumentError> {
        let row = PublishedStrategy::named(name)?;
        let mut config = Self { strategies: row.strategies.to_vec(), by_thresholds: row.by_thresholds, ..self };
        match row.segments {
            [segments] => (config.peaks.segments, config.segments) = (*segments, Vec::new()),
            segments => config.segments = segments.to_vec(),
        }
        Ok(config)
    }

    or_panic! { init = try_init(device: &Device) -> AutoWelchPeaks }

    /// The module for frames on `device`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field of the estimate that is out of range.
    pub fn try_init(&self, device: &Device) -> Result<AutoWelchPeaks, ArgumentError> {
        for &segments in &self.segments {
            self.peaks.clone().with_segments(segments).validate()?;
        }
        let (exact, on_host) = (self.peaks.try_init(device)?, self.peaks.try_init(&Device::flex())?);
        let (prepared, cache, config) = (PreparedEstimate::default(), Arc::default(), self.clone());
        let model = AutoWelchPeaks { exact, learned: None, prepared, on_host, config, learned_size: None, cache };
        if self.strategies != [Strategy::Learned] {
            return Ok(model);
        }
        Ok(model.with_learned(LearnedWelchPeaksConfig::universal_for(&self.peaks).try_init(device)?))
    }
}

/// Whether new selections of [`AutoWelchPeaks`] are events at level info and not debug: the environment variable
/// `FIREFLY_TRACE` is neither empty nor `0`.
pub fn traces_selections() -> bool {
    std::env::var_os("FIREFLY_TRACE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Strongest spectral lines of each frame, by the strategy that is the fastest for the batch: as measured on a
/// calibrated device, and by the published estimates on others.
///
/// The number of segments is the configured one unless the configuration has several candidates. A selection is made
/// once per batch size and frame length; it is a `tracing` event at level debug, or at level info with
/// `FIREFLY_TRACE=1`. Where gradients are tracked, and for floats other than f32, the operation on the device is the only candidate, and peaks
/// stay on the device.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_models::{AutoWelchPeaksConfig, WelchPeaksConfig};
///
/// let device = Device::flex();
/// let model = AutoWelchPeaksConfig::new().with_peaks(WelchPeaksConfig::new().with_k(4)).init(&device);
/// let peaks = model.forward(Tensor::<2>::ones([8, 384], &device)); // [batch, frame]
/// assert_eq!(peaks.bins.dims(), [8, 4]);
/// println!("{}", model.select(8, 384, false).explain());
/// ```
#[derive(Module, Debug)]
pub struct AutoWelchPeaks {
    /// Exact model on the device of the frames.
    exact: WelchPeaks,
    learned: Option<LearnedWelchPeaks>,
    prepared: PreparedEstimate,
    /// The same model on the host, wherever the module is moved.
    #[module(skip)]
    on_host: WelchPeaks,
    #[module(skip)]
    config: AutoWelchPeaksConfig,
    #[module(skip)]
    learned_size: Option<LearnedSize>,
    #[module(skip)]
    cache: Arc<Cache>,
}

/// Device, frames of a batch, samples of a frame, and whether only one operation on the device is possible.
type SelectionKey = (DeviceId, usize, usize, bool);

/// Device profiles and selections, each computed once.
#[derive(Debug, Default)]
struct Cache {
    profiles: Mutex<HashMap<DeviceId, Arc<DeviceProfile>>>,
    selections: Mutex<HashMap<SelectionKey, Arc<Selection>>>,
}

impl AutoWelchPeaks {
    /// The same module with a learned model on the same device, which is a candidate where the configuration has the
    /// strategy `Learned`.
    pub fn with_learned(self, learned: LearnedWelchPeaks) -> Self {
        let learned_size = Some(learned.size());
        let prepared = PreparedEstimate::default();
        Self { learned: Some(learned), prepared, learned_size, cache: Arc::default(), ..self }
    }

    /// The configuration.
    pub fn config(&self) -> &AutoWelchPeaksConfig {
        &self.config
    }

    /// Selection for `batch` frames of `frame` samples on the module's device. `direct`: whether only one operation on
    /// the device is possible.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use firefly_models::AutoWelchPeaksConfig;
    ///
    /// let model = AutoWelchPeaksConfig::new().init(&Device::flex());
    /// let selection = model.select(1_000, 384, false);
    /// assert_eq!(selection.selected.segments, 2);
    /// assert!(selection.considered.contains(&selection.selected));
    /// assert!(selection.explain().starts_with("fast "));
    /// ```
    pub fn select(&self, batch: usize, frame: usize, direct: bool) -> Arc<Selection> {
        let device = self.exact.devices().first().map_or(DeviceId::CPU, DeviceId::of);
        let mut selections = self.cache.selections.lock().unwrap_or_else(PoisonError::into_inner);
        let selection = selections.entry((device, batch, frame, direct)).or_insert_with(|| {
            let profile = self.cache.profile(device, &self.config);
            let peaks = &self.config.peaks;
            // Where its segments lie does not change the time of an estimate.
            let (placed, k) = (peaks.options(), peaks.k);
            let options = placed.with_segments(placed.averaged()).with_chosen(None);
            let mut request = PeaksRequest::new(PeaksSize { options, batch, k }, &profile);
            request.segments = &self.config.segments;
            request.strategies = &self.config.strategies;
            request.by_thresholds = self.config.by_thresholds;
            request.keep_on_device = self.config.keep_on_device;
            (request.frame, request.on_host, request.direct) = (frame, device.kind().is_host(), direct);
            request.learned = self.learned_size;
            let selection = request.select();
            trace(&profile.name, batch, frame, &selection);
            Arc::new(selection)
        });
        selection.clone()
    }

    or_panic! { forward<const D> = try_forward(signal: Tensor<D>) -> Peaks<D> }

    /// Peaks of each frame of `signal` `[.., frame]`: bins and power `[.., k]`, strongest first, in host memory or,
    /// with [`keep_on_device`](AutoWelchPeaksConfig::keep_on_device), on the device of the frames.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short for the selected segments or learned model, or on another device.
    pub fn try_forward<const D: usize>(&self, signal: Tensor<D>) -> Result<Peaks<D>, ArgumentError> {
        let direct = tracks_gradients(&signal.device()) || signal.dtype() != DType::F32;
        let device = signal.device();
        let peaks = self.compute(signal, direct)?;
        match (direct, self.config.keep_on_device) {
            (true, _) => Ok(peaks),
            (false, true) => Ok(Peaks { bins: peaks.bins.to_device(&device), power: peaks.power.to_device(&device) }),
            (false, false) => in_host_memory(peaks),
        }
    }

    /// Peaks by the selected strategy, on the device where it computes them.
    fn compute<const D: usize>(&self, signal: Tensor<D>, direct: bool) -> Result<Peaks<D>, ArgumentError> {
        let shape = signal.dims();
        let (batch, frame) = (shape[..D - 1].iter().product(), shape[D - 1]);
        let selected = self.select(batch, frame, direct).selected;
        let exact = || self.exact.with_segments(selected.segments);
        match selected.strategy {
            Strategy::Fused => exact().try_forward(signal),
            Strategy::Host => {
                self.on_host.with_segments(selected.segments).try_forward(signal.to_device(&Device::flex()))
            }
            Strategy::Spectrum => {
                let power = exact().try_psd(signal)?.try_into_data().map_err(unreadable)?;
                let power = Tensor::<D>::from_data(power, &Device::flex());
                strongest(power, self.config.peaks.band, self.config.peaks.k)
            }
            Strategy::Learned => {
                let learned = self.learned.as_ref().expect("a learned model is selected only if there is one");
                // A graph of gradients is of one call.
                if [signal.device(), learned.taper.val().device()].iter().any(tracks_gradients) {
                    return learned.try_forward(signal, &learned.hard_gates());
                }
                self.prepared.of(learned)?.try_forward(signal)
            }
        }
    }
}

/// Estimate of a learned model with hard gates: without it a call computes the gates, a dozen small operations, and reads
/// them back.
///
/// A module without parameters beside the model that they follow from. Whatever makes another module of that one,
/// perhaps with other values or on another device, makes an empty one of this; a clone shares the estimate.
#[derive(Debug, Clone, Default)]
struct PreparedEstimate(Arc<OnceLock<LearnedEstimate>>);

impl PreparedEstimate {
    /// The estimate of `model`.
    ///
    /// # Errors
    /// [`ArgumentError`] as [`LearnedWelchPeaks::try_estimate`].
    fn of(&self, model: &LearnedWelchPeaks) -> Result<&LearnedEstimate, ArgumentError> {
        if let Some(prepared) = self.0.get() {
            return Ok(prepared);
        }
        let prepared = model.try_estimate(&model.hard_gates())?;
        Ok(self.0.get_or_init(|| prepared))
    }
}

impl Module for PreparedEstimate {
    fn collect_devices(&self, devices: Devices) -> Devices {
        devices
    }

    fn fork(self, _: &Device) -> Self {
        Self::default()
    }

    fn to_device(self, _: &Device) -> Self {
        Self::default()
    }

    fn train(self) -> Self {
        Self::default()
    }

    fn valid(&self) -> Self {
        Self::default()
    }

    fn materialize(self) -> Self {
        Self::default()
    }

    fn visit<V: ModuleVisitor>(&self, _: &mut V) {}

    fn map<M: ModuleMapper>(self, _: &mut M) -> Self {
        Self::default()
    }
}

impl ModuleDisplayDefault for PreparedEstimate {
    fn content(&self, _: Content) -> Option<Content> {
        None
    }
}

impl ModuleDisplay for PreparedEstimate {}

impl Cache {
    /// The configured profile; by default the calibrated profile or the preset of the device.
    fn profile(&self, device: DeviceId, config: &AutoWelchPeaksConfig) -> Arc<DeviceProfile> {
        let mut profiles = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = profiles.entry(device).or_insert_with(|| {
            let profile = config.profile.clone().unwrap_or_else(|| {
                let (profile, ignored) = load_or_preset(device);
                if let Some(error) = ignored {
                    static WARNED: Once = Once::new();
                    WARNED.call_once(|| tracing::warn!(%error, "the device's profile is ignored; calibrate it again"));
                }
                profile
            });
            Arc::new(profile)
        });
        profile.clone()
    }
}

/// Peaks in host memory, all of them read in one transaction: tensors moved one by one are copied on first access.
fn in_host_memory<const D: usize>(peaks: Peaks<D>) -> Result<Peaks<D>, ArgumentError> {
    let host = Device::flex();
    if peaks.power.device() == host {
        return Ok(peaks);
    }
    let read = Transaction::default().register(peaks.bins).register(peaks.power).try_execute().map_err(unreadable)?;
    let [bins, power]: [TensorData; 2] = read.try_into().expect("two tensors were registered");
    let (bin_type, power_type) = (bins.dtype(), power.dtype());
    Ok(Peaks { bins: Tensor::from_data(bins, (&host, bin_type)), power: Tensor::from_data(power, (&host, power_type)) })
}

/// The error for a device that can't be read.
fn unreadable(error: impl Display) -> ArgumentError {
    ArgumentError::new("AutoWelchPeaks", "signal", error.to_string(), "on a device that can be read")
}

fn trace(device: &str, batch: usize, frame: usize, selection: &Selection) {
    let selection = selection.explain();
    if traces_selections() {
        tracing::info!(device, batch, frame, selection, "strategy selected");
    } else {
        tracing::debug!(device, batch, frame, selection, "strategy selected");
    }
}

/// Whether operations on a device are differentiated.
fn tracks_gradients(device: &Device) -> bool {
    #[cfg(feature = "autodiff")]
    return device.gradient_checkpointing_strategy().is_some();
    #[cfg(not(feature = "autodiff"))]
    {
        let _ = device;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_made_once_and_forgotten_by_another_module() {
        let device = Device::flex();
        let model = LearnedWelchPeaksConfig::new().with_n_fft(16).with_k(3).init(&device);
        let estimate = PreparedEstimate::default();
        let made = estimate.of(&model).unwrap();
        assert!(std::ptr::eq(made, estimate.of(&model).unwrap()));
        assert!(std::ptr::eq(made, estimate.clone().of(&model).unwrap()));
        for other in [estimate.valid(), estimate.clone().train(), estimate.clone().to_device(&device)] {
            assert!(other.0.get().is_none());
        }
    }
}
