//! Configuration of TimesNet.

use burn::config::Config;
use firefly_ops::ArgumentError;

/// Configuration of [`TimesNet`](crate::TimesNet); the defaults are those of the paper for ETTh1.
///
/// ```
/// use firefly_models::TimesNetConfig;
///
/// assert!(TimesNetConfig::new().validate().is_ok());
/// let error = TimesNetConfig::new().with_look_back(8).with_horizon(4).with_periods(7).validate().unwrap_err();
/// assert!(error.to_string().contains("`periods` is 7"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct TimesNetConfig {
    /// Samples that a forecast is made from, at least 2.
    #[config(default = 96)]
    pub look_back: usize,
    /// Samples of a forecast, at least 1.
    #[config(default = 96)]
    pub horizon: usize,
    /// Channels of a series.
    #[config(default = 7)]
    pub channels: usize,
    /// Features of a sample between the blocks.
    #[config(default = 16)]
    pub features: usize,
    /// Features within a block.
    #[config(default = 32)]
    pub hidden: usize,
    /// Number of blocks.
    #[config(default = 2)]
    pub blocks: usize,
    /// Periods per block: from 1 to half of `look_back + horizon`, rounded down.
    #[config(default = 5)]
    pub periods: usize,
    /// Kernels of a convolution, of 1, 3, 5, … rows and columns.
    #[config(default = 6)]
    pub kernels: usize,
    /// Share of embedded values that training drops, from 0 to below 1.
    #[config(default = 0.1)]
    pub dropout: f64,
}

impl TimesNetConfig {
    /// Samples that a block works on: those of the look-back and of the forecast.
    pub fn samples(&self) -> usize {
        self.look_back + self.horizon
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "TimesNetConfig";
        if self.look_back < 2 {
            return Err(ArgumentError::new(NAME, "look_back", self.look_back, "at least 2 samples"));
        }
        let counts = [
            ("horizon", self.horizon),
            ("channels", self.channels),
            ("features", self.features),
            ("hidden", self.hidden),
            ("blocks", self.blocks),
            ("kernels", self.kernels),
        ];
        if let Some((field, count)) = counts.into_iter().find(|(_, count)| *count < 1) {
            return Err(ArgumentError::new(NAME, field, count, "at least 1"));
        }
        let most = self.samples() / 2;
        if !(1..=most).contains(&self.periods) {
            return Err(ArgumentError::new(NAME, "periods", self.periods, format!("from 1 to {most}")));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(ArgumentError::new(NAME, "dropout", self.dropout, "from 0 to below 1"));
        }
        Ok(())
    }
}
