//! Sections of a configuration that are the task's own.

use firefly_models::segments::segments_named;
use firefly_models::{Band, Detrend, LearnedWelchPeaksConfig, Scaling, WelchPeaksConfig, Window, WindowSymmetry};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{self, ConfigError, ModelChoice, Training, ensure};

/// Segments of the exact estimate that a model is fitted to and compared with.
pub const REFERENCE_SEGMENTS: usize = 8;
/// Name of the model.
const MODEL: &str = "learned_welch_peaks";

/// The model and the reference it is fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSection {
    /// Samples per segment.
    pub n_fft: usize,
    /// Samples from one segment's start to the next, in exact estimates and between the model's candidates.
    pub hop: usize,
    /// Peaks per frame, K.
    pub k: usize,
    /// The window of exact estimates, and the taper at the start unless that is given.
    pub window: Window,
    /// The taper at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taper: Option<Window>,
    /// Periodic or symmetric window.
    pub symmetry: WindowSymmetry,
    /// Scaling of power.
    pub scaling: Scaling,
    /// Detrending of each segment.
    pub detrend: Detrend,
    /// Candidate segments of the model, each with a gate: a number, or the name of one.
    #[serde(deserialize_with = "segments")]
    pub segments: usize,
    /// Candidates that start open; all of them unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_segments: Option<Vec<usize>>,
    /// Logit of a gate that starts open.
    pub open_logit: f64,
    /// Gain from each neighbouring bin at the start, relative to the bin's own; 0.018 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbour_gain: Option<f64>,
    /// Weight of the products with both neighbouring bins at the start, from −1 to 1, if bins take them; they do not
    /// unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_weight: Option<f64>,
    /// Number of gains, each for as many neighbouring bins; one per bin unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<usize>,
    /// Whether the model has twiddles and gates of butterflies, in place of the exact transform.
    pub learned_transform: bool,
    /// Bins among which the model searches peaks, those of the reference being searched among all; all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
}

impl Default for ModelSection {
    fn default() -> Self {
        Self {
            n_fft: 256,
            hop: 128,
            k: 16,
            window: Window::Hann,
            taper: None,
            symmetry: WindowSymmetry::Periodic,
            scaling: Scaling::Power,
            detrend: Detrend::None,
            segments: 2,
            open_segments: None,
            open_logit: 3.0,
            neighbour_gain: None,
            product_weight: None,
            gains: None,
            learned_transform: false,
            band: None,
        }
    }
}

/// A number of segments, given as such or by its name.
fn segments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a number of segments, ultra, fast or reference")]
    enum Segments {
        Number(usize),
        Name(String),
    }

    match Segments::deserialize(deserializer)? {
        Segments::Number(number) => Ok(number),
        Segments::Name(name) => segments_named(&name).map_err(Error::custom),
    }
}

impl ModelChoice for ModelSection {
    fn models() -> Vec<&'static str> {
        vec![MODEL]
    }

    fn choose(&mut self, name: &str) -> Result<(), ConfigError> {
        ensure(name == MODEL, "--model", name, MODEL)
    }
}

impl ModelSection {
    /// The exact model of a number of segments.
    pub fn exact(&self, segments: usize) -> WelchPeaksConfig {
        WelchPeaksConfig::new()
            .with_n_fft(self.n_fft)
            .with_hop(Some(self.hop))
            .with_segments(segments)
            .with_k(self.k)
            .with_window(self.window)
            .with_symmetry(self.symmetry)
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
    }

    /// The learned model.
    pub fn learned(&self) -> LearnedWelchPeaksConfig {
        LearnedWelchPeaksConfig::new()
            .with_n_fft(self.n_fft)
            .with_hop(Some(self.hop))
            .with_segments(self.segments)
            .with_open_segments(self.open_segments.clone())
            .with_k(self.k)
            .with_window(self.taper.unwrap_or(self.window))
            .with_symmetry(self.symmetry)
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_open_logit(self.open_logit)
            .with_neighbour_gain(self.neighbour_gain)
            .with_product_weight(self.product_weight)
            .with_gains(self.gains)
            .with_learned_transform(self.learned_transform)
            .with_band(self.band)
    }

    /// Samples in a frame: what the reference needs, or the candidates if they reach further.
    pub fn frame(&self) -> usize {
        self.exact(REFERENCE_SEGMENTS).options().frame().max(self.learned().options().frame())
    }
}

/// A group of the model's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameters {
    /// The taper.
    Taper,
    /// The twiddles.
    Twiddles,
    /// The gates of the butterflies.
    Gates,
    /// The gates of the segments.
    Segments,
    /// The per-bin gain.
    Gain,
}

/// Length of the training, learned parameters and learning rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSection {
    /// Steps.
    pub steps: usize,
    /// Frames per step.
    pub batch: usize,
    /// Groups of parameters that are learned.
    pub learn: Vec<Parameters>,
    /// Initial learning rate of gain and gates.
    pub learning_rate: f64,
    /// Learning rate of the taper, as a share of that.
    pub taper_rate: f64,
    /// Learning rate of the twiddles, as a share of that.
    pub twiddle_rate: f64,
}

impl Default for TrainingSection {
    fn default() -> Self {
        Self {
            steps: 4000,
            batch: 64,
            learn: vec![Parameters::Taper, Parameters::Gain],
            learning_rate: 0.03,
            taper_rate: 0.3,
            twiddle_rate: 0.01,
        }
    }
}

impl Training for TrainingSection {
    fn common(&self) -> config::TrainingSection {
        let Self { steps, batch, learning_rate, .. } = *self;
        config::TrainingSection { steps: Some(steps), epochs: None, batch, learning_rate }
    }
}

/// The loss: ranking · ranking loss + log_power · squared error of log power + price · work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSection {
    /// Weight of the ranking loss.
    pub ranking: f64,
    /// Width of the boundary around rank K, in nepers of power.
    pub temperature: f64,
    /// Weight of the squared error of log power at the reference bins.
    pub log_power: f64,
    /// Price of as much work per frame as two exact segments have: their butterflies, or their time.
    pub price: f64,
    /// Share of the steps over which the price rises from zero.
    pub price_ramp: f64,
    /// Device on which the time that the gates leave is the work, by its calibrated profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_device: Option<String>,
    /// Nanoseconds per frame with 1, 2, … open segments, which are the work; butterflies are if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segment_times: Vec<f64>,
}

impl Default for LossSection {
    fn default() -> Self {
        Self {
            ranking: 1.0,
            temperature: 0.3,
            log_power: 0.5,
            price: 0.0,
            price_ramp: 0.25,
            price_device: None,
            segment_times: Vec::new(),
        }
    }
}
