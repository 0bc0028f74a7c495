//! Sections of a configuration that are the task's own.

use super::{Forecasting, ForecastingConfig};
use crate::tasks::prelude::*;

section! {
    /// Section `[data]`. The rows of a table are split in time: training, then validation, then test.
    pub struct DataSection {
        pub file: Option<PathBuf> = None,
        pub look_back: usize = 360,
        pub horizon: usize = 96,
        pub train_rows: usize = 12 * 720,
        pub validation_rows: usize = 4 * 720,
        pub test_rows: usize = 4 * 720,
        pub synthetic_channels: usize = 7,
    }
}

choice! {
    /// Error of a forecast.
    pub enum ForecastError {
        Mse = "mse",
        Mae = "mae",
    }
}

section! {
    /// Section `[loss]`: error of the forecast + reconstruction · error of the reconstructed look-back.
    pub struct LossSection {
        pub kind: ForecastError = ForecastError::Mse,
        pub reconstruction: f64 = 0.0,
    }
}

impl ZooTask for Forecasting {
    const DEFAULT_MODEL: &'static str = "fits";
    const FAMILIES: &'static [&'static str] = &["fits"];
    const DERIVED: &'static [(&'static str, &'static str)] = &[
        ("look_back", "it is data.look_back"),
        ("horizon", "it is data.horizon"),
        ("channels", "they are those of the data"),
    ];
}

impl Sections for Forecasting {
    const NAME: TaskName = TaskName::Forecasting;

    type ModelSection = ZooSection<Self>;
    type DataSection = DataSection;
    type TrainingSection = TrainingSection;
    type LossSection = LossSection;

    fn validate(config: &ForecastingConfig) -> Result<(), ConfigError> {
        let data = &config.data;
        let (look_back, horizon, channels) = (data.look_back, data.horizon, data.synthetic_channels);
        ensure((2..=65_536).contains(&look_back), "data.look_back", look_back, "from 2 to 65,536")?;
        ensure((1..=65_536).contains(&horizon), "data.horizon", horizon, "from 1 to 65,536")?;
        ensure((1..=4096).contains(&channels), "data.synthetic_channels", channels, "from 1 to 4,096")?;
        let fits_window = "at least data.look_back + data.horizon, and at most 67,108,864";
        let fits_forecast = "at least data.horizon, and at most 67,108,864";
        for (key, rows, least, expected) in [
            ("data.train_rows", data.train_rows, look_back + horizon, fits_window),
            ("data.validation_rows", data.validation_rows, horizon, fits_forecast),
            ("data.test_rows", data.test_rows, horizon, fits_forecast),
        ] {
            ensure((least..=MAX_FRAMES * 64).contains(&rows), key, rows, expected)?;
        }
        let weight = config.loss.reconstruction;
        ensure((0.0..=1e6).contains(&weight), "loss.reconstruction", weight, "from 0 to 1e6")
    }

    fn held_values(config: &ForecastingConfig) -> Vec<HeldValues> {
        let data = &config.data;
        // The channels of a table are not known before it is read.
        let channels = if data.file.is_some() { 1 } else { data.synthetic_channels };
        let window = (data.look_back + data.horizon) * channels;
        let mut held = vec![HeldValues::new("training.batch", config.training.batch, window)];
        if data.file.is_none() {
            let rows = [
                ("data.train_rows", data.train_rows),
                ("data.validation_rows", data.validation_rows),
                ("data.test_rows", data.test_rows),
            ];
            held.extend(rows.map(|(key, rows)| HeldValues::new(key, rows, channels)));
        }
        held
    }

    fn locate_data(config: &mut ForecastingConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
        if !locate(&mut config.data.file, root)? {
            config.data.file = None;
        }
        Ok(())
    }
}
