//! Checks of a configuration's values, and what it becomes once the recordings' place is known.

use std::io;
use std::path::{self, Path, PathBuf};

use firefly_models::{ArgumentError, Tier};
use serde::{Deserialize, Serialize};

use super::{ConfigFileError, Parameters, RunConfig};

/// A configuration with nothing left open, as a run folder records it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// Firefly's version that made the run.
    pub firefly: String,
    /// Burn's version it was built on.
    pub burn: String,
    /// The device trained on.
    pub device: String,
    /// The configuration.
    pub config: RunConfig,
}

impl Resolved {
    /// The configuration of a run by this version on `device`.
    pub fn new(config: RunConfig, device: String) -> Self {
        Self { firefly: env!("CARGO_PKG_VERSION").into(), burn: BURN_VERSION.into(), device, config }
    }

    /// As TOML.
    ///
    /// # Errors
    /// If a path is not text.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// From the TOML of [`to_toml`](Self::to_toml).
    ///
    /// # Errors
    /// If the text is not one.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

/// Most candidate segments of a model.
const MOST_SEGMENTS: usize = 65_536;
/// Most frames of a batch, or of a synthetic data set.
const MOST_FRAMES: usize = 1 << 20;

/// The one Burn version the workspace pins.
const BURN_VERSION: &str = "0.22.1";

impl RunConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// [`ConfigFileError::Value`] naming the first key that is out of range.
    pub fn validate(&self) -> Result<(), ConfigFileError> {
        let from_model = |error: ArgumentError| ConfigFileError::Value {
            key: format!("model.{}", error.argument),
            got: error.got,
            expected: error.expected,
        };
        self.model.learned().validate().map_err(from_model)?;
        self.model.exact(Tier::Reference).validate().map_err(from_model)?;

        let file_name = Path::new(&self.name).file_name().is_some_and(|name| name == self.name.as_str());
        ensure(file_name || self.name.is_empty(), "name", &self.name, "usable as a folder's name")?;
        let (training, loss, schedule) = (&self.training, &self.loss, &self.schedule);
        ensure(self.model.segments <= MOST_SEGMENTS, "model.segments", self.model.segments, "at most 65,536")?;
        ensure(training.batch <= MOST_FRAMES, "training.batch", training.batch, "at most 1,048,576")?;
        let synthetic_frames = self.data.synthetic_frames;
        ensure(synthetic_frames <= MOST_FRAMES, "data.synthetic_frames", synthetic_frames, "at most 1,048,576")?;
        for (key, value) in [
            ("training.steps", training.steps),
            ("training.batch", training.batch),
            ("schedule.log_every", schedule.log_every),
            ("schedule.validate_every", schedule.validate_every),
            ("schedule.validation_frames", schedule.validation_frames),
            ("schedule.checkpoint_every", schedule.checkpoint_every),
            ("schedule.keep_checkpoints", schedule.keep_checkpoints),
        ] {
            ensure(value >= 1, key, value, "at least 1")?;
        }
        ensure(!training.learn.is_empty(), "training.learn", "empty", "at least one group of parameters")?;
        for (key, value) in [
            ("training.learning_rate", training.learning_rate),
            ("training.taper_rate", training.taper_rate),
            ("training.twiddle_rate", training.twiddle_rate),
        ] {
            ensure(value > 0.0 && value <= 1.0, key, value, "above 0 and at most 1")?;
        }
        ensure(
            loss.temperature.is_finite() && loss.temperature > 0.0,
            "loss.temperature",
            loss.temperature,
            "above 0",
        )?;
        for (key, value) in [("loss.log_power", loss.log_power), ("loss.price", loss.price)] {
            ensure(value.is_finite() && value >= 0.0, key, value, "a number that is not negative")?;
        }
        ensure((0.0..=1.0).contains(&loss.price_ramp), "loss.price_ramp", loss.price_ramp, "from 0 to 1")?;
        let gated = training.learn.iter().any(|group| matches!(group, Parameters::Gates | Parameters::Segments));
        ensure(
            gated || loss.price == 0.0,
            "loss.price",
            loss.price,
            "0 unless training.learn has gates or segments: nothing else can close",
        )
    }

    /// Places the recordings' folders under `root`; without one, relative folders can't be found and the run is on
    /// synthetic signals. Returns whether that happened.
    ///
    /// # Errors
    /// If the working folder, which a relative root is in, can't be found.
    pub fn place_recordings(&mut self, root: Option<&Path>) -> io::Result<bool> {
        let Some(recordings) = &mut self.data.recordings else { return Ok(false) };
        let relative = |path: &PathBuf| path.is_relative();
        match root {
            Some(root) => {
                // Absolute, so that the run can be resumed and evaluated from elsewhere.
                let root = path::absolute(root)?;
                recordings.train = root.join(&recordings.train);
                recordings.test = recordings.test.as_ref().map(|test| root.join(test));
                Ok(false)
            }
            None if relative(&recordings.train) || recordings.test.as_ref().is_some_and(relative) => {
                self.data.recordings = None;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

fn ensure(
    holds: bool,
    key: &'static str,
    got: impl std::fmt::Display,
    expected: &'static str,
) -> Result<(), ConfigFileError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigFileError::Value { key: key.into(), got: got.to_string(), expected: expected.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::RecordingsConfig;

    #[test]
    fn values_out_of_range_are_named_with_their_section() {
        let key = |change: fn(&mut RunConfig)| {
            let mut config = RunConfig::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert!(RunConfig::default().validate().is_ok());
        assert!(key(|c| c.model.n_fft = 100).starts_with("model.n_fft is 100"));
        assert!(key(|c| c.model.k = 0).starts_with("model.k is 0"));
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
        assert!(key(|c| c.loss.price = f64::NAN).starts_with("loss.price is NaN"));
        assert!(key(|c| c.name = "../up".into()).starts_with("name is ../up"));
    }

    #[test]
    fn recordings_are_placed_under_their_root_or_replaced_by_synthetic_signals() {
        let mut config = RunConfig::default();
        config.data.recordings = Some(RecordingsConfig::new("bearing/train"));
        let mut placed = config.clone();
        assert!(!placed.place_recordings(Some(Path::new("/data"))).unwrap());
        assert_eq!(placed.data.recordings.unwrap().train, Path::new("/data/bearing/train"));
        assert!(config.place_recordings(None).unwrap());
        assert_eq!(config.data.recordings, None);
    }

    #[test]
    fn a_resolved_configuration_survives_its_file() {
        let resolved = Resolved::new(RunConfig::default(), "cpu".into());
        assert_eq!(Resolved::from_toml(&resolved.to_toml().unwrap()).unwrap(), resolved);
    }
}
