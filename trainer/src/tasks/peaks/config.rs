//! Sections of a configuration that are the task's own.

use firefly_models::segments::segments_named;
use firefly_models::{Band, Detrend, LearnedWelchPeaksConfig, Scaling, WelchPeaksConfig, Window, WindowSymmetry};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{PeaksConfig, PeaksTask, loss};
use crate::config::{self, ModelChoice, Training, locate_frames};
use crate::data::DataConfig;
use crate::tasks::prelude::*;

/// Segments of the exact estimate that a model is fitted to and compared with.
pub const REFERENCE_SEGMENTS: usize = 8;
const MODEL: &str = "learned_welch_peaks";
/// Limits of the numbers in the loss, which is computed in f32.
const LOSS_LIMITS: [f64; 2] = [1e-6, 1e6];

section! {
    /// The model and the reference it is fitted to.
    pub struct ModelSection {
        pub n_fft: usize = 256,
        pub hop: usize = 128,
        pub k: usize = 16,
        pub window: Window = Window::Hann,
        pub taper: Option<Window> = None,
        pub symmetry: WindowSymmetry = WindowSymmetry::Periodic,
        pub scaling: Scaling = Scaling::Power,
        pub detrend: Detrend = Detrend::None,
        #[serde(deserialize_with = "segments")]
        pub segments: usize = 2,
        pub open_segments: Option<Vec<usize>> = None,
        pub open_logit: f64 = 3.0,
        pub neighbour_gain: Option<f64> = None,
        pub product_weight: Option<f64> = None,
        pub gains: Option<usize> = None,
        pub learned_transform: bool = false,
        pub band: Option<Band> = None,
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

choice! {
    /// A group of the model's parameters.
    pub enum Parameters {
        Taper = "taper",
        Twiddles = "twiddles",
        Gates = "gates",
        Segments = "segments",
        Gain = "gain",
    }
}

section! {
    /// Length of the training, learned parameters and learning rates.
    pub struct TrainingSection {
        pub steps: usize = 4000,
        pub batch: usize = 64,
        pub learn: Vec<Parameters> = vec![Parameters::Taper, Parameters::Gain],
        pub learning_rate: f64 = 0.03,
        pub taper_rate: f64 = 0.3,
        pub twiddle_rate: f64 = 0.01,
    }
}

impl Training for TrainingSection {
    fn common(&self) -> config::TrainingSection {
        let Self { steps, batch, learning_rate, .. } = *self;
        config::TrainingSection { steps: Some(steps), epochs: None, batch, learning_rate }
    }
}

section! {
    /// The loss: ranking · ranking loss + log_power · squared error of log power + price · work.
    pub struct LossSection {
        pub ranking: f64 = 1.0,
        pub temperature: f64 = 0.3,
        pub log_power: f64 = 0.5,
        pub price: f64 = 0.0,
        pub price_ramp: f64 = 0.25,
        pub price_device: Option<String> = None,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub segment_times: Vec<f64> = Vec::new(),
    }
}

impl Sections for PeaksTask {
    const NAME: TaskName = TaskName::Peaks;

    type ModelSection = ModelSection;
    type DataSection = DataConfig;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn validate(config: &PeaksConfig) -> Result<(), ConfigError> {
        let from_model = |error: ArgumentError| ConfigError::Value {
            key: format!("model.{}", error.argument),
            got: error.got,
            expected: error.expected,
        };
        let (model, training, loss) = (&config.model, &config.training, &config.loss);
        // Before the model's own checks, which count the samples of a frame.
        ensure(model.hop <= 16_777_216, "model.hop", model.hop, "at most 16,777,216")?;
        ensure(model.segments <= 128, "model.segments", model.segments, "at most 128")?;
        model.learned().validate().map_err(from_model)?;
        model.exact(REFERENCE_SEGMENTS).validate().map_err(from_model)?;

        // Whether this run uses them or not.
        config.data.sampling.validate().map_err(|error| in_section("data.sampling", error))?;
        config.data.synthetic.validate().map_err(|error| in_section("data.synthetic", error))?;
        let synthetic_frames = config.data.synthetic_frames;
        ensure(synthetic_frames <= MAX_FRAMES, "data.synthetic_frames", synthetic_frames, "at most 1,048,576")?;
        ensure(!training.learn.is_empty(), "training.learn", "empty", "at least one group of parameters")?;
        for (key, value) in
            [("training.taper_rate", training.taper_rate), ("training.twiddle_rate", training.twiddle_rate)]
        {
            ensure(value > 0.0 && value <= 1.0, key, value, "above 0 and at most 1")?;
        }
        let [least, greatest] = LOSS_LIMITS;
        let temperature = loss.temperature;
        ensure((least..=greatest).contains(&temperature), "loss.temperature", temperature, "from 1e-6 to 1e6")?;
        for (key, value) in
            [("loss.ranking", loss.ranking), ("loss.log_power", loss.log_power), ("loss.price", loss.price)]
        {
            ensure((0.0..=greatest).contains(&value), key, value, "from 0 to 1e6")?;
        }
        let (is_fitted, ranking) = (loss.ranking > 0.0 || loss.log_power > 0.0, loss.ranking);
        let expected = "above 0 where loss.log_power is 0: nothing else is fitted to the reference";
        ensure(is_fitted, "loss.ranking", ranking, expected)?;
        ensure((0.0..=1.0).contains(&loss.price_ramp), "loss.price_ramp", loss.price_ramp, "from 0 to 1")?;
        let learns = |group| training.learn.contains(&group);
        let (learns_segments, learns_butterflies) =
            (learns(Parameters::Segments), learns(Parameters::Gates) || learns(Parameters::Twiddles));
        let (learned, groups) = (model.learned_transform, format_args!("{:?}", training.learn));
        let expected =
            "without gates and twiddles unless model.learned_transform is true: the exact transform has none";
        ensure(learned || !learns_butterflies, "training.learn", groups, expected)?;
        let closes = learns_segments || learns(Parameters::Gates);
        let expected = "0 unless training.learn has gates or segments: nothing else can close";
        ensure(closes || loss.price == 0.0, "loss.price", loss.price, expected)?;
        if loss.price_device.is_none() && loss.segment_times.is_empty() {
            return Ok(());
        }
        let key = if loss.segment_times.is_empty() { "loss.price_device" } else { "loss.segment_times" };
        let expected = "left out unless training.learn has segments, and neither gates nor twiddles: only segments \
                        determine the time";
        ensure(learns_segments && !learns_butterflies, key, "given", expected)?;
        let is_time = |time: &f64| (1e-6..=1e12).contains(time);
        let times = &loss.segment_times;
        let holds = times.is_empty() || (times.len() == model.segments && times.iter().all(is_time));
        let expected = format!("a time from 1e-6 to 1e12 ns for each number of open segments, {}", model.segments);
        ensure(holds, "loss.segment_times", format!("{times:?}"), expected)
    }

    fn held_values(config: &PeaksConfig) -> Vec<HeldValues> {
        let (data, frame) = (&config.data, config.model.frame());
        let batch = HeldValues::new("training.batch", config.training.batch, frame);
        // Frames to validate on and to test on.
        let generated = HeldValues::new("data.synthetic_frames", data.synthetic_frames, 2 * frame);
        if data.recordings.is_none() { vec![batch, generated] } else { vec![batch] }
    }

    fn complete(config: &mut PeaksConfig) -> Result<(), ConfigError> {
        loss::complete(&mut config.loss, &config.model)?;
        Self::validate(config)
    }

    fn locate_data(config: &mut PeaksConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
        locate_frames(&mut config.data, root)
    }

    fn are_comparable(a: &PeaksConfig, b: &PeaksConfig) -> bool {
        a.model.exact(REFERENCE_SEGMENTS) == b.model.exact(REFERENCE_SEGMENTS)
            && (a.model.frame(), &a.data, a.seed) == (b.model.frame(), &b.data, b.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_named_with_their_section() {
        let key = |change: fn(&mut PeaksConfig)| {
            let mut config = PeaksConfig::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert!(PeaksConfig::default().validate().is_ok());
        assert!(key(|c| c.model.n_fft = 101).starts_with("model.n_fft is 101"));
        assert!(key(|c| c.model.k = 0).starts_with("model.k is 0"));
        assert!(key(|c| c.model.segments = 0).starts_with("model.segments is 0"));
        assert!(
            key(|c| (c.model.n_fft, c.model.learned_transform) = (100, true))
                .starts_with("model.n_fft is 100, but must be a power of two from 8 to 65536 with learned_transform")
        );
        assert!(key(|c| c.training.batch = 0).starts_with("training.batch is 0"));
        assert!(key(|c| c.training.learn.clear()).starts_with("training.learn is empty"));
        assert!(key(|c| c.training.batch = usize::MAX).starts_with("training.batch is"));
        assert!(
            key(|c| {
                c.training.learn = vec![Parameters::Gain];
                c.loss.price = 0.1;
            })
            .contains("nothing else can close")
        );
        assert!(
            key(|c| {
                (c.training.learn, c.loss.price) = (vec![Parameters::Gain], 0.0);
                c.loss.price_device = Some("cpu".into());
            })
            .starts_with("loss.price_device is given, but must be")
        );
        assert!(key(|c| c.training.learn.push(Parameters::Twiddles)).starts_with("training.learn is [Taper, "));
        let times = |times: &[f64]| {
            let mut config = PeaksConfig::default();
            config.training.learn = vec![Parameters::Taper, Parameters::Segments, Parameters::Gain];
            config.loss.segment_times = times.to_vec();
            config.model.segments = 8;
            config.validate()
        };
        assert!(times(&[100.0; 8]).is_ok());
        for wrong in [&[100.0; 7][..], &[0.0; 8], &[f64::NAN; 8], &[1e13; 8]] {
            assert!(times(wrong).unwrap_err().to_string().contains("for each number of open segments, 8"), "{wrong:?}");
        }
        assert!(key(|c| c.data.sampling.gain_db = -1.0).starts_with("data.sampling.gain_db is -1, but must be"));
        assert!(key(|c| c.data.synthetic.families.clear()).starts_with("data.synthetic.families is empty"));
        assert!(key(|c| c.loss.price = f64::NAN).starts_with("loss.price is NaN"));
        assert!(key(|c| c.model.hop = 1 << 50).starts_with("model.hop is"));
        assert!(key(|c| c.loss.price = 1e39).starts_with("loss.price is"));
        assert!(key(|c| c.loss.ranking = -1.0).starts_with("loss.ranking is -1, but must be from 0 to 1e6"));
        assert!(
            key(|c| (c.loss.ranking, c.loss.log_power) = (0.0, 0.0))
                .starts_with("loss.ranking is 0, but must be above")
        );
        assert!(key(|c| c.loss.temperature = 1e-300).starts_with("loss.temperature is"));
        assert!(key(|c| c.training.steps = usize::MAX).starts_with("training.steps is"));
        assert!(key(|c| c.schedule.keep_checkpoints = 1).starts_with("schedule.keep_checkpoints is 1"));
        assert!(key(|c| c.name = "a\nb".into()).starts_with("name is"));
        assert!(key(|c| c.name = "../up".into()).starts_with("name is ../up"));
    }
}
