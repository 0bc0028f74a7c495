//! Configuration of FITS.

use burn::config::Config;
use firefly_ops::ArgumentError;

/// Configuration of [`Fits`](crate::Fits).
///
/// ```
/// use firefly_models::FitsConfig;
///
/// // A harmonic of a daily period in hourly data, and five more, of 30 days.
/// let config = FitsConfig::new().with_look_back(720).with_horizon(96).with_cut_off(FitsConfig::harmonics(720, 24, 6));
/// assert_eq!((config.cut_off, config.bins()), (196, 222));
/// assert!(config.with_cut_off(400).validate().unwrap_err().to_string().contains("`cut_off` is 400"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct FitsConfig {
    /// Samples that a forecast is made from, at least 2.
    #[config(default = 360)]
    pub look_back: usize,
    /// Samples of a forecast, at least 1.
    #[config(default = 96)]
    pub horizon: usize,
    /// Channels of a series.
    #[config(default = 7)]
    pub channels: usize,
    /// Bins of the spectrum that are kept, from 0 hertz on: at most `look_back / 2 + 1`.
    #[config(default = 106)]
    pub cut_off: usize,
    /// Whether every channel has a layer of its own, or else all channels share one.
    #[config(default = false)]
    pub individual: bool,
}

impl FitsConfig {
    /// Samples that the model computes: those of the look-back and of the forecast.
    pub fn samples(&self) -> usize {
        self.look_back + self.horizon
    }

    /// Bins of the interpolated spectrum: those kept, times the ratio of the lengths, rounded down, and no more than a
    /// spectrum has.
    pub fn bins(&self) -> usize {
        (self.cut_off * self.samples() / self.look_back).min(self.samples() / 2 + 1)
    }

    /// Bins that hold `order` harmonics of a period in a look-back, with a margin, as the authors choose them:
    /// ⌊look_back / period + 1⌋ · order + 10.
    pub fn harmonics(look_back: usize, period: usize, order: usize) -> usize {
        (look_back / period.max(1) + 1) * order + 10
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "FitsConfig";
        if self.look_back < 2 {
            return Err(ArgumentError::new(NAME, "look_back", self.look_back, "at least 2 samples"));
        }
        if self.horizon < 1 {
            return Err(ArgumentError::new(NAME, "horizon", self.horizon, "at least 1 sample"));
        }
        if self.channels < 1 {
            return Err(ArgumentError::new(NAME, "channels", self.channels, "at least 1"));
        }
        let bins = self.look_back / 2 + 1;
        if !(1..=bins).contains(&self.cut_off) {
            return Err(ArgumentError::new(NAME, "cut_off", self.cut_off, format!("from 1 to {bins} bins")));
        }
        Ok(())
    }
}
