//! What a run is made of: the TOML file, with every key checked.

mod load;
mod resolve;

use firefly_models::{Detrend, LearnedWelchPeaksConfig, Scaling, Tier, WelchPeaksConfig, Window, WindowSymmetry};
use serde::{Deserialize, Serialize};

pub use load::{ConfigFileError, load};
pub use resolve::Resolved;

use crate::data::DataConfig;

/// A training run, as its TOML file states it. Every section but `model` may be left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The run's name: its folder's, unless another is given.
    pub name: String,
    /// Everything random follows from it.
    pub seed: u64,
    /// The model.
    pub model: ModelSection,
    /// The signals.
    pub data: DataConfig,
    /// The optimisation.
    pub training: TrainingSection,
    /// The loss.
    pub loss: LossSection,
    /// What happens between steps.
    pub schedule: ScheduleSection,
}

/// The model and the reference it is fitted to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSection {
    /// Samples in a segment.
    pub n_fft: usize,
    /// Samples from one segment's start to the next, in the exact tiers and between the model's candidates.
    pub hop: usize,
    /// Peaks a frame.
    pub k: usize,
    /// The window of the exact tiers, and the taper at the start.
    pub window: Window,
    /// Whether it is periodic or symmetric.
    pub symmetry: WindowSymmetry,
    /// How power is scaled.
    pub scaling: Scaling,
    /// What is taken off each segment.
    pub detrend: Detrend,
    /// Candidate segments of the model; each has a gate.
    pub segments: usize,
    /// Candidates that start open; all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_segments: Option<Vec<usize>>,
    /// Logit of a gate that starts open.
    pub open_logit: f64,
}

impl Default for ModelSection {
    fn default() -> Self {
        Self {
            n_fft: 256,
            hop: 128,
            k: 16,
            window: Window::Hann,
            symmetry: WindowSymmetry::Periodic,
            scaling: Scaling::Power,
            detrend: Detrend::None,
            segments: 8,
            open_segments: None,
            open_logit: 3.0,
        }
    }
}

impl ModelSection {
    /// The exact model at a tier.
    pub fn exact(&self, tier: Tier) -> WelchPeaksConfig {
        WelchPeaksConfig::new()
            .with_n_fft(self.n_fft)
            .with_hop(Some(self.hop))
            .with_tier(tier)
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
            .with_window(self.window)
            .with_symmetry(self.symmetry)
            .with_scaling(self.scaling)
            .with_detrend(self.detrend)
            .with_open_logit(self.open_logit)
    }

    /// Samples in a frame: what the reference needs, or the candidates if they reach further.
    pub fn frame(&self) -> usize {
        self.exact(Tier::Reference).options().frame().max(self.learned().options().frame())
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

/// The optimisation: Adam, the learning rate falling along half a cosine to zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingSection {
    /// Steps.
    pub steps: usize,
    /// Frames a step.
    pub batch: usize,
    /// Which parameters are learned.
    pub learn: Vec<Parameters>,
    /// Learning rate of gain and gates at the start.
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
            learn: vec![
                Parameters::Taper,
                Parameters::Twiddles,
                Parameters::Gates,
                Parameters::Segments,
                Parameters::Gain,
            ],
            learning_rate: 0.03,
            taper_rate: 0.3,
            twiddle_rate: 0.01,
        }
    }
}

/// The loss: ranking + log_power · squared error of log power + price · butterflies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSection {
    /// How soft the boundary around rank K is, in nepers of power.
    pub temperature: f64,
    /// Weight of the squared error of log power at the reference bins.
    pub log_power: f64,
    /// Price of executing as many butterflies a frame as the exact fast tier.
    pub price: f64,
    /// Share of the steps over which the price rises from zero.
    pub price_ramp: f64,
}

impl Default for LossSection {
    fn default() -> Self {
        Self { temperature: 0.3, log_power: 0.1, price: 0.0, price_ramp: 0.25 }
    }
}

/// What happens between steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSection {
    /// Steps between two lines of metrics.
    pub log_every: usize,
    /// Steps between two validations.
    pub validate_every: usize,
    /// Frames of a validation, at most.
    pub validation_frames: usize,
    /// Validations without a better loss after which training stops; 0 never stops early.
    pub patience: usize,
    /// Steps between two checkpoints.
    pub checkpoint_every: usize,
    /// Checkpoints kept.
    pub keep_checkpoints: usize,
}

impl Default for ScheduleSection {
    fn default() -> Self {
        Self {
            log_every: 20,
            validate_every: 250,
            validation_frames: 512,
            patience: 0,
            checkpoint_every: 500,
            keep_checkpoints: 2,
        }
    }
}
