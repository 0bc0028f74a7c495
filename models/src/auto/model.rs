//! The model that decides.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use firefly_framework::cost::DeviceProfile;
use firefly_framework::device::DeviceName;
use firefly_ops::{ArgumentError, Peaks};

use super::choice::{Choice, Question, Selection};
use super::device::profile_of;
use super::host_peaks::host_peaks;
use super::method::{Destination, Method};
use super::strategy::Strategy;
use crate::learned_welch_peaks::LearnedWelchPeaks;
use crate::tier::Tier;
use crate::welch_peaks::{WelchPeaks, WelchPeaksConfig};

/// Set to anything but `0` or nothing, this environment variable raises the event of each new decision from debug to info.
const TRACE: &str = "FIREFLY_TRACE";

/// Whether new decisions of [`AutoWelchPeaks`] are events at level info: whether `FIREFLY_TRACE` is set to anything but `0`.
pub fn traces_choices() -> bool {
    std::env::var_os(TRACE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// How [`AutoWelchPeaks`] decides.
#[derive(Debug, Clone, Default)]
pub struct AutoOptions {
    /// Where peaks are wanted.
    pub destination: Destination,
    /// What may be chosen between.
    pub selection: Selection,
    /// The only method of a tier to consider, if one is: to compare methods.
    pub method: Option<Method>,
    /// What the device costs; unless given, the user's calibrated profile of it, or a preset.
    pub profile: Option<DeviceProfile>,
}

/// The strongest lines of each frame, by the strategy that is predicted fastest for where the frames are and the peaks are
/// wanted, or by one that is forced.
///
/// The tier stays the configuration's unless [`AutoOptions::selection`] or a strategy says otherwise. A decision is made once for
/// each batch and length; with `FIREFLY_TRACE=1` it is a `tracing` event at level info, else at debug. Where gradients are
/// tracked, and for floats other than f32, the operation on the device is the only one considered.
#[derive(Debug, Clone)]
pub struct AutoWelchPeaks {
    strategy: Strategy,
    options: AutoOptions,
    config: WelchPeaksConfig,
    learned: Option<(LearnedWelchPeaks, (usize, usize))>,
    /// Each tier's model, on the device of the frames and on the host.
    exact: [[WelchPeaks; 2]; 3],
    device: Device,
    name: DeviceName,
    profile: Arc<DeviceProfile>,
    choices: Arc<Mutex<Choices>>,
}

/// What was chosen for each batch, length of frames, and whether only one operation would do.
type Choices = HashMap<(usize, usize, bool), Arc<Choice>>;

const ON_DEVICE: usize = 0;
const ON_HOST: usize = 1;

impl AutoWelchPeaks {
    /// The model for frames on `device`, deciding by predicted time.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field of the configuration that is out of range.
    pub fn new(config: &WelchPeaksConfig, device: &Device) -> Result<Self, ArgumentError> {
        let host = Device::flex();
        let of = |tier: Tier| -> Result<[WelchPeaks; 2], ArgumentError> {
            let config = config.clone().with_tier(tier);
            Ok([config.try_init(device)?, config.try_init(&host)?])
        };
        let name = DeviceName::of(device);
        Ok(Self {
            strategy: Strategy::Auto,
            options: AutoOptions::default(),
            config: config.clone(),
            learned: None,
            exact: [of(Tier::Ultra)?, of(Tier::Fast)?, of(Tier::Reference)?],
            device: device.clone(),
            name,
            profile: Arc::new(profile_of(name)),
            choices: Arc::default(),
        })
    }

    /// The same model with a strategy forced, or decided again.
    pub fn with_strategy(self, strategy: Strategy) -> Self {
        Self { strategy, choices: Arc::default(), ..self }
    }

    /// The same model, deciding by other options.
    pub fn with_options(self, options: AutoOptions) -> Self {
        let profile = options.profile.clone().unwrap_or_else(|| profile_of(self.name));
        Self { options, profile: Arc::new(profile), choices: Arc::default(), ..self }
    }

    /// The same model with a learned model on the same device, for the strategy `learned`, and for `auto` where any tier
    /// will do.
    pub fn with_learned(self, learned: LearnedWelchPeaks) -> Self {
        let butterflies = (learned.count_open_butterflies(), learned.all_butterflies());
        Self { learned: Some((learned, butterflies)), choices: Arc::default(), ..self }
    }

    /// What runs for `batch` frames of `frame` samples, as in `auto: fast fused`.
    pub fn strategy_label(&self, batch: usize, frame: usize) -> String {
        let chosen = self.choose(batch, frame, false).chosen;
        format!("{}: {} {}", self.strategy, chosen.tier, chosen.method)
    }

    /// What is chosen for `batch` frames of `frame` samples, and why. `direct`: whether only one operation on the device will
    /// do, as where gradients are tracked.
    pub fn choose(&self, batch: usize, frame: usize, direct: bool) -> Arc<Choice> {
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        let choice = choices.entry((batch, frame, direct)).or_insert_with(|| {
            let choice = self.question(batch, frame, direct).answer();
            self.trace(batch, frame, &choice);
            Arc::new(choice)
        });
        choice.clone()
    }

    fn question(&self, batch: usize, frame: usize, direct: bool) -> Question<'_> {
        Question {
            strategy: self.strategy,
            selection: self.options.selection,
            method: self.options.method,
            destination: self.options.destination,
            tier: self.config.tier,
            options: self.config.options(),
            k: self.config.k,
            batch,
            frame,
            on_host: self.name.kind().is_host(),
            direct,
            butterflies: self.learned.as_ref().map(|(_, butterflies)| *butterflies),
            device: &self.profile,
        }
    }

    fn trace(&self, batch: usize, frame: usize, choice: &Choice) {
        let (device, choice) = (&self.profile.name, choice.explain());
        let strategy = self.strategy;
        if traces_choices() {
            tracing::info!(device, batch, frame, %strategy, choice, "strategy chosen");
        } else {
            tracing::debug!(device, batch, frame, %strategy, choice, "strategy chosen");
        }
    }

    /// Peaks of each row of `signal` `[batch, frame]`: bins and power `[batch, k]`, in host memory or on the device of the
    /// frames, as [`AutoOptions::destination`] says.
    ///
    /// # Errors
    /// [`ArgumentError`] if the frames are too short for what is chosen or on another device, and for the strategy
    /// `learned` without a learned model.
    pub fn forward(&self, signal: Tensor<2>) -> Result<Peaks, ArgumentError> {
        let [batch, frame] = signal.dims();
        let tracked = signal.device().gradient_checkpointing_strategy().is_some();
        let direct = tracked || signal.dtype() != DType::F32;
        let chosen = self.choose(batch, frame, direct).chosen;
        let exact = &self.exact[Tier::ALL.iter().position(|tier| *tier == chosen.tier).unwrap_or(0)];
        let peaks = match chosen.method {
            Method::Fused => exact[ON_DEVICE].try_forward(signal)?,
            Method::Host => exact[ON_HOST].try_forward(signal.to_device(&Device::flex()))?,
            Method::Spectrum => self.search(exact[ON_DEVICE].try_psd(signal)?)?,
            Method::Learned => {
                let (learned, _) = self.learned.as_ref().ok_or_else(|| {
                    ArgumentError::new(
                        "AutoWelchPeaks",
                        "strategy",
                        "learned without a model",
                        "given one by with_learned",
                    )
                })?;
                learned.try_forward(signal, &learned.hard_gates())?
            }
        };
        let device = match self.options.destination {
            _ if direct => return Ok(peaks),
            Destination::Host => &Device::flex(),
            Destination::Device => &self.device,
        };
        Ok(Peaks { bins: peaks.bins.to_device(device), power: peaks.power.to_device(device) })
    }

    /// The peaks of spectra, found on the host.
    fn search(&self, power: Tensor<2>) -> Result<Peaks, ArgumentError> {
        let [rows, bins] = power.dims();
        let k = self.config.k;
        let unreadable =
            |got: String| ArgumentError::new("AutoWelchPeaks", "signal", got, "on a device that can be read");
        let data = power.try_into_data().map_err(|error| unreadable(error.to_string()))?;
        let power = data.as_slice::<f32>().map_err(|error| unreadable(format!("{error:?}")))?;
        let (places, values) = host_peaks(power, bins, k);
        let host = Device::flex();
        let places = Tensor::<2, Int>::from_data(TensorData::new(places, [rows, k]), (&host, DType::I64));
        Ok(Peaks { bins: places, power: Tensor::from_data(TensorData::new(values, [rows, k]), &host) })
    }
}
