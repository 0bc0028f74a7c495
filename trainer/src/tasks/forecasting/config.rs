//! Sections of a configuration that are the task's own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Forecasting;
use crate::config::{ConfigError, MAX_FRAMES, RunConfig, ensure};

/// Largest number of samples of a look-back or a forecast.
const MAX_SAMPLES: usize = 1 << 16;

/// Section `[data]`. The rows of a table are split in time: training, then validation, then test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSection {
    /// Table of the series, a row per time and a column per channel; a generated series if none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Rows that a forecast is made from.
    pub look_back: usize,
    /// Rows of a forecast.
    pub horizon: usize,
    /// Rows to train on.
    pub train_rows: usize,
    /// Rows behind them to validate on.
    pub validation_rows: usize,
    /// Rows behind those to test on.
    pub test_rows: usize,
    /// Channels of a generated series.
    pub synthetic_channels: usize,
}

impl Default for DataSection {
    fn default() -> Self {
        Self {
            file: None,
            look_back: 360,
            horizon: 96,
            train_rows: 12 * 720,
            validation_rows: 4 * 720,
            test_rows: 4 * 720,
            synthetic_channels: 7,
        }
    }
}

/// Error of a forecast.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForecastError {
    /// Mean squared error.
    #[default]
    Mse,
    /// Mean absolute error.
    Mae,
}

/// Section `[loss]`: error of the forecast + reconstruction · error of the reconstructed look-back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossSection {
    /// The error.
    pub kind: ForecastError,
    /// Weight of the look-back's error, in models that reconstruct it.
    pub reconstruction: f64,
}

/// Checks every value of the task's sections.
pub(super) fn validate(config: &RunConfig<Forecasting>) -> Result<(), ConfigError> {
    config.model.validate()?;
    let data = &config.data;
    for (key, value, most, expected) in [
        ("data.look_back", data.look_back, MAX_SAMPLES, "from 2 to 65,536"),
        ("data.horizon", data.horizon, MAX_SAMPLES, "from 1 to 65,536"),
        ("data.synthetic_channels", data.synthetic_channels, 4096, "from 1 to 4,096"),
    ] {
        let least = if key == "data.look_back" { 2 } else { 1 };
        ensure((least..=most).contains(&value), key, value, expected)?;
    }
    let window = data.look_back + data.horizon;
    for (key, rows, least) in [
        ("data.train_rows", data.train_rows, window),
        ("data.validation_rows", data.validation_rows, data.horizon),
        ("data.test_rows", data.test_rows, data.horizon),
    ] {
        ensure((least..=MAX_FRAMES * 64).contains(&rows), key, rows, expected_rows(key))?;
    }
    let weight = config.loss.reconstruction;
    ensure((0.0..=1e6).contains(&weight), "loss.reconstruction", weight, "from 0 to 1e6")
}

fn expected_rows(key: &str) -> &'static str {
    match key {
        "data.train_rows" => "at least data.look_back + data.horizon, and at most 67,108,864",
        _ => "at least data.horizon, and at most 67,108,864",
    }
}
