//! Models that peaks are computed with.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::{
    AutoWelchPeaks, AutoWelchPeaksConfig, LearnedWelchPeaks, LearnedWelchPeaksConfig, Peaks, Tier, WelchPeaks, Window,
};
use firefly_ops::{Band, LearnedParameters, WelchOptions, learned_welch_peaks, learned_welch_psd};
use firefly_trainer::manifest::Manifest;
use firefly_trainer::run_folder::RunFolder;
use firefly_trainer::tasks::peaks;
use serde::Serialize;

use crate::frequency_band::FrequencyBand;
use crate::local_maxima::LocalMaximaSearch;
use crate::options::EstimateOptions;
use crate::peak_values::{PeakValues, read};
use crate::search::SearchOptions;

/// A model by its name, or the folder of a run that trained one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// The exact estimate of a tier.
    Tier(Tier),
    /// The fast tier by the strategy that is predicted to be fastest.
    Auto,
    /// The learned estimate for signals of any kind.
    Universal,
    /// The model of a finished run.
    Run(PathBuf),
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => return Ok(Self::Auto),
            "universal" => return Ok(Self::Universal),
            _ => {}
        }
        if let Ok(tier) = text.parse() {
            return Ok(Self::Tier(tier));
        }
        let path = PathBuf::from(text);
        if path.is_dir() {
            return Ok(Self::Run(path));
        }
        let hint = firefly_app::suggest::hint(text, ["ultra", "fast", "reference", "auto", "universal"]);
        Err(format!("`{text}` is neither ultra, fast, reference, auto or universal, nor the folder of a run{hint}"))
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(tier) => tier.fmt(f),
            Self::Auto => f.write_str("auto"),
            Self::Universal => f.write_str("universal"),
            Self::Run(path) => path.display().fmt(f),
        }
    }
}

/// Computation of a model, independent of the sample rate.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRequest {
    /// The model, as the user named it.
    pub name: String,
    /// Configuration of the exact estimate; of a run, what its model was fitted to.
    pub estimate: String,
    /// Samples per segment.
    pub n_fft: usize,
    /// Samples of a frame.
    pub frame: usize,
    /// Peaks per frame; of local maxima at most.
    pub k: usize,
    /// Search of local maxima, in place of the strongest bins.
    pub search: Option<LocalMaximaSearch>,
    /// Frequencies among which peaks are searched; all, or those of a run's model, if `None`.
    #[serde(skip)]
    band: Option<FrequencyBand>,
    /// Hashes of the weights of a run's model.
    weights: Option<Manifest>,
    #[serde(skip)]
    kind: RequestedModel,
}

#[derive(Debug, Clone)]
enum RequestedModel {
    Exact(EstimateOptions, Tier),
    Auto(EstimateOptions),
    Universal(EstimateOptions),
    Learned(Box<LearnedWelchPeaks>),
}

impl ModelRequest {
    /// Checks the options, and reads the model of a run.
    ///
    /// # Errors
    /// If an option is out of range or contradicts the run, or the run can't be read.
    pub fn new(model: &ModelName, estimate: &EstimateOptions, search: &SearchOptions, device: &Device) -> Result<Self> {
        let tier = match model {
            ModelName::Run(path) => return Self::of_run(model, path, estimate, search, device),
            ModelName::Universal => return Self::universal(estimate, search),
            ModelName::Tier(tier) => *tier,
            ModelName::Auto => Tier::Fast,
        };
        let SearchOptions { k, band, maxima } = search;
        let search = maxima.search(estimate.window() == Window::Hann)?;
        // The strategies of `auto` differ in how they compute the strongest bins.
        let kind = match model {
            ModelName::Auto if search.is_none() => RequestedModel::Auto(estimate.clone()),
            _ => RequestedModel::Exact(estimate.clone(), tier),
        };
        let config = estimate.config(tier, k.unwrap_or(16), 1.0);
        config.validate()?;
        Ok(Self {
            name: model.to_string(),
            estimate: format!("{estimate}, {} segments{}", tier.segments(), described(*band)),
            n_fft: config.n_fft,
            frame: config.options().frame(),
            k: config.k,
            band: *band,
            search,
            weights: None,
            kind,
        })
    }

    fn universal(estimate: &EstimateOptions, search: &SearchOptions) -> Result<Self> {
        let SearchOptions { k, band, maxima } = search;
        ensure!(estimate.window.is_none(), "--window is set by the model universal");
        let config = universal(estimate, k.unwrap_or(16), 1.0);
        config.validate()?;
        let (options, open) = (config.options(), config.open_segments.map_or(0, |open| open.len()));
        Ok(Self {
            name: ModelName::Universal.to_string(),
            estimate: format!(
                "n_fft {}, hop {}, {open} of {} segments, {} scaling, detrend {}{}",
                options.n_fft,
                options.hop,
                options.segments,
                estimate.scaling(),
                estimate.detrend(),
                described(*band)
            ),
            n_fft: options.n_fft,
            frame: options.frame(),
            k: config.k,
            band: *band,
            search: maxima.search(false)?,
            weights: None,
            kind: RequestedModel::Universal(estimate.clone()),
        })
    }

    fn of_run(
        model: &ModelName,
        folder: &Path,
        estimate: &EstimateOptions,
        search: &SearchOptions,
        device: &Device,
    ) -> Result<Self> {
        let SearchOptions { k, band, maxima } = search;
        let given = estimate.given();
        ensure!(given.is_empty(), "{} is set by the model of {}", given.join(", "), folder.display());
        let run = RunFolder::new(folder);
        let learned = run.load_model::<peaks::PeaksTask>(device).context("--model")?;
        let k = k.unwrap_or(learned.config().k);
        let learned = learned.try_with_k(k)?;
        let weights = Manifest::of(&run.model(), "model").context("--model")?;
        let options = learned.options();
        Ok(Self {
            name: model.to_string(),
            estimate: format!(
                "n_fft {}, hop {}, learned, {} scaling{}",
                options.n_fft,
                options.hop,
                options.scaling,
                described(*band)
            ),
            n_fft: options.n_fft,
            frame: options.frame(),
            k,
            band: *band,
            search: maxima.search(false)?,
            weights: Some(weights),
            kind: RequestedModel::Learned(Box::new(learned)),
        })
    }

    /// The model for recordings of a sample rate.
    ///
    /// # Errors
    /// If the device refuses it.
    pub fn open(&self, rate: f64, device: &Device) -> Result<PeakModel> {
        let band = match (&self.band, &self.kind) {
            (Some(band), _) => Some(band.bins(self.n_fft, rate)?),
            (None, RequestedModel::Learned(learned)) => learned.options().band,
            (None, _) => None,
        };
        // Local maxima are searched in the power of all bins: those of an end of the band have neighbours beyond it.
        let strongest = if self.search.is_some() { None } else { band };
        let model = match &self.kind {
            RequestedModel::Exact(estimate, tier) => {
                let config = estimate.config(*tier, self.k, rate).with_band(strongest);
                DeviceModel::Exact(Box::new(config.try_init(device)?))
            }
            RequestedModel::Auto(estimate) => {
                let peaks = estimate.config(Tier::Fast, self.k, rate).with_band(strongest);
                DeviceModel::Auto(Box::new(AutoWelchPeaksConfig::new().with_peaks(peaks).try_init(device)?))
            }
            RequestedModel::Universal(estimate) => {
                let config = universal(estimate, self.k, rate).with_band(strongest);
                DeviceModel::of_learned(&config.try_init(device)?, strongest)?
            }
            RequestedModel::Learned(learned) => DeviceModel::of_learned(learned, strongest)?,
        };
        let search = self.search.map(|search| (search, rate / self.n_fft as f64));
        Ok(PeakModel { model, device: device.clone(), frame: self.frame, k: self.k, band, search })
    }
}

/// The learned estimate for signals of any kind, with the options of an exact one.
fn universal(estimate: &EstimateOptions, k: usize, rate: f64) -> LearnedWelchPeaksConfig {
    LearnedWelchPeaksConfig::universal_for(&estimate.config(Tier::Reference, k, rate))
}

/// The end of a description that names the band, if there is one.
fn described(band: Option<FrequencyBand>) -> String {
    band.map_or_else(String::new, |band| format!(", band {band} Hz"))
}

/// A model on a device, for recordings of one sample rate.
pub struct PeakModel {
    model: DeviceModel,
    device: Device,
    frame: usize,
    k: usize,
    /// Bins among which peaks are searched.
    band: Option<Band>,
    /// Search of local maxima, and the hertz of a bin.
    search: Option<(LocalMaximaSearch, f64)>,
}

enum DeviceModel {
    Exact(Box<WelchPeaks>),
    Auto(Box<AutoWelchPeaks>),
    /// Parameters of a model whose weights do not change.
    Learned(Box<LearnedParameters>, WelchOptions),
}

impl DeviceModel {
    fn of_learned(learned: &LearnedWelchPeaks, band: Option<Band>) -> Result<Self> {
        let gates = learned.hard_gates();
        let (parameters, options) = (learned.try_parameters(&gates)?, learned.options_with(&gates));
        // A halved transform has the lower bins alone.
        let bins = options.bins();
        if let Some(band) = band
            && band.first >= bins
        {
            bail!("the model finds no peaks in the bins {band}: it halves its transform, which has the bins 0..{bins}");
        }
        let band = band.map(|band| Band::new(band.first..band.end.min(bins)));
        Ok(Self::Learned(Box::new(parameters), options.with_band(band)))
    }
}

impl PeakModel {
    /// Peaks of each frame of samples `[rows, frame]`.
    ///
    /// # Errors
    /// If the device fails.
    pub fn peaks(&self, samples: Vec<f32>) -> Result<PeakValues> {
        let shape = [samples.len() / self.frame, self.frame];
        let frames = Tensor::<2>::from_data(TensorData::new(samples, shape), &self.device);
        if let Some((search, hertz_per_bin)) = &self.search {
            return search.find(self.power(frames)?, self.band, self.k, *hertz_per_bin);
        }
        let Peaks { bins, power } = match &self.model {
            DeviceModel::Exact(model) => model.try_forward(frames)?,
            DeviceModel::Auto(model) => model.try_forward(frames)?,
            DeviceModel::Learned(parameters, options) => {
                learned_welch_peaks(frames, *parameters.clone(), options, self.k)?
            }
        };
        Ok(PeakValues { bins: read(bins)?, power: read(power)?, maxima: None })
    }

    /// Power of every bin of frames.
    fn power(&self, frames: Tensor<2>) -> Result<Tensor<2>> {
        match &self.model {
            DeviceModel::Exact(model) => Ok(model.try_psd(frames)?),
            DeviceModel::Learned(parameters, options) => Ok(learned_welch_psd(frames, *parameters.clone(), options)?),
            DeviceModel::Auto(_) => bail!("the strategies of auto compute the strongest bins only"),
        }
    }
}

/// Power of every bin of single segments, by the exact estimate.
#[derive(Clone)]
pub struct PowerModel {
    estimate: EstimateOptions,
    /// Model of the current sample rate.
    model: Option<(f64, WelchPeaks)>,
}

impl PowerModel {
    /// Checks the options.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn new(estimate: &EstimateOptions) -> Result<Self> {
        estimate.config(Tier::Ultra, 1, 1.0).validate()?;
        Ok(Self { estimate: estimate.clone(), model: None })
    }

    /// Power `[rows, bins]` of samples `[rows, n_fft]`, always on the same device.
    ///
    /// # Errors
    /// If the device fails.
    pub fn power(&mut self, device: &Device, rate: f64, samples: Vec<f32>) -> Result<Vec<f32>> {
        let model = match self.model.take() {
            Some((same, model)) if same == rate => model,
            _ => self.estimate.config(Tier::Ultra, 1, rate).try_init(device)?,
        };
        let n_fft = self.estimate.n_fft();
        let shape = [samples.len() / n_fft, n_fft];
        let power = model.try_psd(Tensor::<2>::from_data(TensorData::new(samples, shape), device))?;
        self.model = Some((rate, model));
        read(power)
    }
}
