//! Models that peaks and spectra are computed with.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use burn::tensor::{DType, Device, Tensor};
use firefly_models::learned_welch_peaks::LearnedEstimate;
use firefly_models::segments::{SEGMENT_NAMES, segments_named};
use firefly_models::zoo::{self, ZooModel};
use firefly_models::{
    AutoWelchPeaks, AutoWelchPeaksConfig, Detrend, LearnedWelchPeaks, LearnedWelchPeaksConfig, Peaks, WelchPeaks,
    Window,
};
use firefly_ops::fft::{ComplexTensor, fftshift_with};
use firefly_ops::{
    ArgumentError, Band, WelchOptions, WindowSymmetry, welch_peaks, welch_peaks_complex, welch_psd, welch_psd_complex,
};
use firefly_recordings::FrameSamples;
use serde::Serialize;

use crate::local_maxima::LocalMaximaSearch;
use crate::options::{EstimateOptions, ScalingName};
use crate::peak_values::{PeakValues, read, read_power};
use crate::pipeline::OpenRecording;
use crate::row_scales::{RowScales, of_frames};
use crate::search::{FrequencyBand, SearchOptions};
use crate::segments::FrameSegments;

const DEFAULT_SEGMENTS: FrameSegments = FrameSegments::adjacent(2);
const DEFAULT_K: usize = 16;

#[derive(Debug, Clone, clap::Args)]
pub struct ModelOptions {
    /// Model: ultra, fast or reference (the exact estimate of 1, 2 or 8 segments per frame), auto (the exact estimate, by the
    /// strategy that is predicted to be fastest), universal (2 of the 8 segments of reference, for signals of any kind), or
    /// the folder of a run of `firefly train` [default: the exact estimate]
    #[arg(long)]
    model: Option<ModelName>,
    /// Segments averaged per frame, of the exact estimate or of auto: a number from 1, or the indices of several, from 0 to
    /// 127, as in 0,2,5 [default: 2]
    #[arg(long, value_name = "N|LIST")]
    segments: Option<FrameSegments>,
    /// Spread them evenly over a frame of N segments, at most 128, instead of one after the other: segments that lie apart
    /// say more of a longer frame in the same time [default without =N: 8]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "8")]
    spread: Option<usize>,
}

impl ModelOptions {
    /// The model. An error for segments beside a model that sets its own, and segments that can't be spread.
    fn model(&self) -> Result<ModelName> {
        let model = match (&self.model, self.segments) {
            (Some(model), None) => model.clone(),
            (None, segments) => ModelName::Exact(segments.unwrap_or(DEFAULT_SEGMENTS)),
            (Some(ModelName::Auto(_)), Some(segments)) => ModelName::Auto(segments),
            (Some(model), Some(_)) => bail!("--segments is set by the model {model}"),
        };
        Ok(match (model, self.spread) {
            (model, None) => model,
            (ModelName::Exact(segments), Some(frame)) => ModelName::Exact(segments.spread(frame)?),
            (ModelName::Auto(segments), Some(frame)) => ModelName::Auto(segments.spread(frame)?),
            (model, Some(_)) => bail!("--spread is set by the model {model}"),
        })
    }
}

/// A model by its name, or the folder of a run that trained one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// The exact estimate of these segments.
    Exact(FrameSegments),
    /// The exact estimate of these segments by the strategy that is predicted to be fastest.
    Auto(FrameSegments),
    /// The learned estimate for signals of any kind.
    Universal,
    Run(PathBuf),
}

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = SEGMENT_NAMES.map(|(name, _)| name);
        let path = PathBuf::from(text);
        match text {
            "auto" => Ok(Self::Auto(DEFAULT_SEGMENTS)),
            "universal" => Ok(Self::Universal),
            _ if names.contains(&text) => {
                let count = segments_named(text).map_err(|error| error.to_string())?;
                Ok(Self::Exact(FrameSegments::adjacent(count)))
            }
            _ if path.is_dir() => Ok(Self::Run(path)),
            _ => {
                let hint = firefly_app::suggest::hint(text, names.into_iter().chain(["auto", "universal"]));
                Err(format!(
                    "`{text}` is neither ultra, fast, reference, auto or universal, nor the folder of a run{hint}"
                ))
            }
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(segments) => segments.fmt(f),
            Self::Auto(_) => f.write_str("auto"),
            Self::Universal => f.write_str("universal"),
            Self::Run(path) => path.display().fmt(f),
        }
    }
}

/// Model of a command, checked, for recordings of any sample rate.
#[derive(Debug, Clone, Serialize)]
pub struct ModelRequest {
    /// The model, as the user named it.
    pub name: String,
    /// Configuration of the estimate; of a run, what its model was fitted to.
    pub estimate: String,
    pub n_fft: usize,
    /// Samples of a frame.
    pub frame: usize,
    /// Peaks per frame; of local maxima at most.
    pub k: usize,
    /// Whether recordings with fewer bins in the band have fewer peaks: their number was left open.
    pub may_be_fewer: bool,
    /// Search of local maxima instead of the strongest bins.
    pub search: Option<LocalMaximaSearch>,
    /// Whether the mean of each segment is subtracted, or its line.
    pub is_centred: bool,
    /// Frequencies among which peaks are searched; all, or those of a run's model, if `None`.
    #[serde(skip)]
    band: Option<FrequencyBand>,
    /// Checksums of the files of a run's model.
    weights: Option<BTreeMap<String, u32>>,
    #[serde(skip)]
    options: EstimateOptions,
    #[serde(skip)]
    model: ModelName,
    /// The model of a run.
    #[serde(skip)]
    trained: Option<Box<LearnedWelchPeaks>>,
}

impl ModelRequest {
    /// Checks the options, and reads the model of a run. An error if an option is out of range or contradicts the
    /// model, or the run can't be read.
    pub fn new(
        model: &ModelOptions,
        options: &EstimateOptions,
        search: &SearchOptions,
        device: &Device,
    ) -> Result<Self> {
        let model = model.model()?;
        let k = search.k.unwrap_or(DEFAULT_K.min(options.n_fft() / 2 + 1));
        let exact_for_hann =
            matches!(model, ModelName::Exact(_) | ModelName::Auto(_)) && options.window() == Window::Hann;
        let (mut weights, mut trained) = (None, None);
        let (welch, k, estimate) = match &model {
            ModelName::Exact(segments) | ModelName::Auto(segments) => {
                let config = options.config(*segments, k, 1.0);
                config.validate().map_err(of_option)?;
                let placement = segments.placement.map_or_else(String::new, |placement| format!(" ({placement})"));
                (config.options(), k, format!("{options}, {} segments{placement}", segments.count))
            }
            ModelName::Universal => {
                ensure!(options.window.is_none(), "--window is set by the model universal");
                ensure!(options.average.is_none(), "--average is set by the model universal");
                let config = universal(options, k, 1.0);
                config.validate().map_err(of_option)?;
                let (welch, open) = (config.options(), config.open_segments.map_or(0, |open| open.len()));
                let WelchOptions { n_fft, hop, segments, .. } = welch;
                let (scaling, detrend) = (options.scaling(), options.detrend());
                let segments = format!("{open} of {segments} segments");
                (welch, k, format!("n_fft {n_fft}, hop {hop}, {segments}, {scaling} scaling, detrend {detrend}"))
            }
            ModelName::Run(folder) => {
                let given = options.given();
                ensure!(given.is_empty(), "{} is set by the model of {}", given.join(", "), folder.display());
                let files = folder.join("model");
                let file = files.join("model.safetensors");
                let ZooModel::LearnedWelchPeaks(learned) = zoo::load(&file, device).context("--model")? else {
                    bail!("--model: {} is no model of the task peaks", file.display());
                };
                let k = search.k.unwrap_or(learned.config().k);
                let learned = learned.try_with_k(k).map_err(of_option)?;
                weights = Some(checksums(&files).context("--model")?);
                let welch = learned.options();
                trained = Some(Box::new(learned));
                let WelchOptions { n_fft, hop, scaling, .. } = welch;
                (welch, k, format!("n_fft {n_fft}, hop {hop}, learned, {scaling} scaling"))
            }
        };
        let band = search.band.map_or_else(String::new, |band| format!(", band {band} Hz"));
        Ok(Self {
            name: model.to_string(),
            estimate: estimate + &band,
            n_fft: welch.n_fft,
            frame: welch.frame(),
            k,
            may_be_fewer: search.k.is_none() && search.band.is_some(),
            search: search.maxima.search(exact_for_hann)?,
            is_centred: welch.detrend != Detrend::None,
            band: search.band,
            weights,
            options: options.clone(),
            model,
            trained,
        })
    }

    /// The exact estimate of the power of frames of so many segments.
    pub fn power(options: &EstimateOptions, segments: usize) -> Result<Self> {
        let model = ModelOptions { model: None, segments: Some(FrameSegments::adjacent(segments)), spread: None };
        Self::new(&model, options, &SearchOptions { k: Some(1), ..SearchOptions::default() }, &Device::flex())
    }

    pub fn scaling(&self) -> ScalingName {
        self.options.scaling()
    }

    /// The bins among which peaks of a recording are searched, by rising frequency; all if `None`.
    fn band(&self, recording: OpenRecording) -> Result<Option<Band>> {
        match (&self.band, &self.trained) {
            (Some(band), _) => Ok(Some(band.bins(recording, self.n_fft)?)),
            (None, Some(learned)) => Ok(learned.options().band),
            (None, None) => Ok(None),
        }
    }

    /// Peaks per frame of a recording. An error if the recording has fewer bins in the band, and for complex samples
    /// and a model that takes none.
    pub fn peaks_per_frame(&self, recording: OpenRecording) -> Result<usize> {
        if recording.centre.is_some() {
            self.exact_segments()?;
        }
        let bins = self.band(recording)?.map_or(recording.bins(self.n_fft), |band| band.end - band.first);
        if self.search.is_some() || self.k <= bins {
            return Ok(self.k);
        }
        ensure!(
            self.may_be_fewer,
            "-k is {}, but must be from 1 to the number of bins in the band at {} Hz, {bins}",
            self.k,
            recording.rate
        );
        Ok(bins)
    }

    /// Segments of the exact estimate, the only one of complex samples and in f64.
    pub fn exact_segments(&self) -> Result<FrameSegments> {
        match self.model {
            ModelName::Exact(segments) | ModelName::Auto(segments) => Ok(segments),
            _ => bail!("complex samples take the exact estimate, not the model {}", self.name),
        }
    }

    /// The exact estimate, with a window of the type of its frames.
    fn exact(&self, rate: f64, frames: &Tensor<3>) -> Result<(WelchOptions, Tensor<1>)> {
        let options = self.options.config(self.exact_segments()?, 1, rate).options();
        let (window, dtype) = (self.options.window(), frames.dtype().into());
        Ok((options, window.tensor(self.n_fft, WindowSymmetry::Periodic, dtype, &frames.device())))
    }

    /// Power `[rows, bins]` of frames `[rows, 1, frame]`, of complex ones `[rows, 2, frame]`, by the exact estimate.
    fn exact_power(&self, rate: f64, frames: Tensor<3>) -> Result<Tensor<2>> {
        let (options, window) = self.exact(rate, &frames)?;
        Ok(match parts(frames) {
            (re, Some(im)) => welch_psd_complex(ComplexTensor::new(re, im), window, &options)?,
            (signal, None) => welch_psd(signal, window, &options)?,
        })
    }

    /// Peaks of such frames with the scales of their rows, in the order of `fftfreq`.
    fn exact_peaks(&self, recording: OpenRecording, frames: Tensor<3>, scales: &RowScales) -> Result<PeakValues> {
        let (n_fft, rate) = (self.n_fft, recording.rate);
        let (band, k) = (self.band(recording)?, self.peaks_per_frame(recording)?);
        if let Some(search) = &self.search {
            let mut power = self.exact_power(rate, frames)?;
            let below = if recording.centre.is_some() { n_fft / 2 } else { 0 };
            if below > 0 {
                power = fftshift_with(power, &[1])?;
            }
            let mut values = search.find(power, scales, band, k, rate / n_fft as f64)?;
            let in_order = |bin: i32| (bin as usize + n_fft - below) % n_fft;
            values.bins.iter_mut().filter(|bin| **bin >= 0).for_each(|bin| *bin = in_order(*bin) as i32);
            return Ok(values);
        }
        let (options, window) = self.exact(rate, &frames)?;
        let options = options.with_band(band);
        let Peaks { bins, power } = match parts(frames) {
            (re, Some(im)) => welch_peaks_complex(ComplexTensor::new(re, im), window, &options, k)?,
            (signal, None) => welch_peaks(signal, window, &options, k)?,
        };
        Ok(PeakValues { bins: read(bins)?, columns: vec![read_power(power, scales)?] })
    }

    /// The model for recordings of the sample rate of one.
    fn open(&self, recording: OpenRecording, device: &Device) -> Result<Model> {
        // Local maxima are searched in the power of all bins: those at an end of the band have neighbours beyond it.
        let band = if self.search.is_some() { None } else { self.band(recording)? };
        let (rate, k) = (recording.rate, self.peaks_per_frame(recording)?);
        Ok(match (&self.model, &self.trained) {
            (_, Some(learned)) => Model::learned(&learned.clone().try_with_k(k)?, band)?,
            (ModelName::Universal, None) => {
                Model::learned(&universal(&self.options, k, rate).with_band(band).try_init(device)?, band)?
            }
            // The strategies of `auto` differ in how they compute the strongest bins.
            (ModelName::Auto(segments), None) if self.search.is_none() => {
                let peaks = self.options.config(*segments, k, rate).with_band(band);
                Model::Auto(Box::new(AutoWelchPeaksConfig::new().with_peaks(peaks).try_init(device)?))
            }
            (ModelName::Exact(segments) | ModelName::Auto(segments), None) => {
                Model::Exact(Box::new(self.options.config(*segments, k, rate).with_band(band).try_init(device)?))
            }
            (ModelName::Run(folder), None) => bail!("{}: its model was not read", folder.display()),
        })
    }
}

/// Whether frames take the exact estimate, the only one of complex samples and in f64.
fn is_exact(recording: OpenRecording, frames: &Tensor<3>) -> bool {
    recording.centre.is_some() || frames.dtype() == DType::F64
}

/// Frames `[rows, parts, frame]` as their real, and of complex ones their imaginary part.
fn parts(frames: Tensor<3>) -> (Tensor<2>, Option<Tensor<2>>) {
    if frames.dims()[1] == 1 {
        return (frames.squeeze_dim(1), None);
    }
    let part = |part: usize| frames.clone().narrow(1, part, 1).squeeze_dim(1);
    (part(0), Some(part(1)))
}

/// The learned estimate for signals of any kind, with the options of an exact one.
fn universal(options: &EstimateOptions, k: usize, rate: f64) -> LearnedWelchPeaksConfig {
    LearnedWelchPeaksConfig::universal_for(&options.config(DEFAULT_SEGMENTS, k, rate))
}

/// An error of the configuration as one of the option that sets it.
fn of_option(error: ArgumentError) -> anyhow::Error {
    let option = match error.argument {
        "k" => "-k".to_owned(),
        // Its limit is the segment's length, so that the option's parser can't check it.
        "nw" => "--window dpss(NW): NW".to_owned(),
        name => format!("--{}", name.replace('_', "-")),
    };
    anyhow!("{option} is {}, but must be {}", error.got, error.expected)
}

/// CRC-32 of the files of a folder, by name.
fn checksums(folder: &Path) -> Result<BTreeMap<String, u32>> {
    let mut checksums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let checksum = crc32fast::hash(&fs::read(entry.path())?);
            checksums.insert(entry.file_name().to_string_lossy().into_owned(), checksum);
        }
    }
    Ok(checksums)
}

/// A model on a device, for recordings of one sample rate.
enum Model {
    Exact(Box<WelchPeaks>),
    Auto(Box<AutoWelchPeaks>),
    /// Estimate of a model whose weights do not change.
    Learned(Box<LearnedEstimate>),
}

impl Model {
    fn learned(learned: &LearnedWelchPeaks, band: Option<Band>) -> Result<Self> {
        Ok(Self::Learned(Box::new(learned.try_estimate(&learned.hard_gates())?.with_band(band))))
    }

    fn peaks(&self, frames: Tensor<2>) -> Result<Peaks<2>> {
        Ok(match self {
            Self::Exact(model) => model.try_forward(frames)?,
            Self::Auto(model) => model.try_forward(frames)?,
            Self::Learned(estimate) => estimate.try_forward(frames)?,
        })
    }

    fn power(&self, frames: Tensor<2>) -> Result<Tensor<2>> {
        match self {
            Self::Exact(model) => Ok(model.try_psd(frames)?),
            Self::Learned(estimate) => Ok(estimate.try_psd(frames)?),
            Self::Auto(_) => bail!("the strategies of auto compute the strongest bins only"),
        }
    }
}

/// The model of a request on one device, opened again when the sample rate changes.
pub struct DeviceModel<'a> {
    request: &'a ModelRequest,
    open: Option<(f64, Model)>,
}

impl<'a> DeviceModel<'a> {
    pub fn new(request: &'a ModelRequest) -> Self {
        Self { request, open: None }
    }

    /// Peaks of each frame of samples `[rows, frame]`, of complex ones `[rows, 2, frame]`, always on the same device;
    /// of those that have more digits on the CPU. An error if the device fails, and for complex samples and a model
    /// that takes none.
    pub fn peaks(&mut self, device: &Device, recording: OpenRecording, samples: FrameSamples) -> Result<PeakValues> {
        let request = self.request;
        of_frames(device, [recording.parts(), request.frame], samples, |frames, scales| {
            if is_exact(recording, &frames) {
                return request.exact_peaks(recording, frames, scales);
            }
            let (frames, model) = (parts(frames).0, self.at(device, recording)?);
            if let Some(search) = &request.search {
                let (band, hertz_per_bin) = (request.band(recording)?, recording.rate / request.n_fft as f64);
                return search.find(model.power(frames)?, scales, band, request.k, hertz_per_bin);
            }
            let Peaks { bins, power } = model.peaks(frames)?;
            Ok(PeakValues { bins: read(bins)?, columns: vec![read_power(power, scales)?] })
        })
    }

    /// Power `[rows, bins]` of frames as in [`peaks`](Self::peaks).
    pub fn power(&mut self, device: &Device, recording: OpenRecording, samples: FrameSamples) -> Result<Vec<f64>> {
        let request = self.request;
        of_frames(device, [recording.parts(), request.frame], samples, |frames, scales| {
            let power = match is_exact(recording, &frames) {
                true => request.exact_power(recording.rate, frames)?,
                false => self.at(device, recording)?.power(parts(frames).0)?,
            };
            read_power(power, scales)
        })
    }

    fn at(&mut self, device: &Device, recording: OpenRecording) -> Result<&Model> {
        let model = match self.open.take() {
            Some((same, model)) if same == recording.rate => model,
            _ => self.request.open(recording, device)?,
        };
        Ok(&self.open.insert((recording.rate, model)).1)
    }
}
