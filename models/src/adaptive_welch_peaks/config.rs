//! Configuration of an adaptive model.

use burn::config::Config;
use firefly_ops::{ArgumentError, WelchOptions, Window};

use crate::welch_peaks::validate;

/// Configuration of [`AdaptiveWelchPeaks`](crate::AdaptiveWelchPeaks).
///
/// ```
/// use firefly_models::AdaptiveWelchPeaksConfig;
///
/// let config = AdaptiveWelchPeaksConfig::new().with_rounds(vec![2, 4]);
/// assert_eq!(config.options().frame(), 256 + 3 * 128);
/// assert!(config.with_rounds(vec![4, 2]).validate().unwrap_err().to_string().contains("`rounds` is [4, 2]"));
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct AdaptiveWelchPeaksConfig {
    /// Samples in a segment: a power of two from 8 to 65,536.
    #[config(default = 256)]
    pub n_fft: usize,
    /// Samples between the starts of consecutive segments; `n_fft / 2` if `None`.
    pub hop: Option<usize>,
    /// Segments averaged after each round, ascending; the last number is the most that a frame gets.
    #[config(default = "vec![3, 4, 5, 6, 7, 8]")]
    pub rounds: Vec<usize>,
    /// Peaks per frame.
    #[config(default = 16)]
    pub k: usize,
    /// Ranks on either side of the boundary between ranks K and K + 1 that doubt is averaged over.
    #[config(default = 4)]
    pub margin: usize,
    /// Shape of the window, periodic.
    #[config(default = "Window::Hann")]
    pub window: Window,
}

impl AdaptiveWelchPeaksConfig {
    /// Options of the Welch estimate over all segments.
    pub fn options(&self) -> WelchOptions {
        let most = self.rounds.last().copied().unwrap_or(0);
        WelchOptions::new(self.n_fft, most).with_hop(self.hop.unwrap_or(self.n_fft / 2))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the first field that is out of range.
    pub fn validate(&self) -> Result<(), ArgumentError> {
        const NAME: &str = "AdaptiveWelchPeaksConfig";
        let ascends = self.rounds.windows(2).all(|pair| pair[0] < pair[1]);
        if !(ascends && self.rounds.len() >= 2 && self.rounds[0] >= 1) {
            let got = format!("{:?}", self.rounds);
            return Err(ArgumentError::new(NAME, "rounds", got, "two or more ascending numbers from 1 on"));
        }
        validate(NAME, &self.options(), self.window, self.k)?;
        let most = self.k.min(self.options().bins() - self.k);
        if !(1..=most).contains(&self.margin) {
            let expected = format!("from 1 to {most}: that many ranks are on either side of K");
            return Err(ArgumentError::new(NAME, "margin", self.margin, expected));
        }
        Ok(())
    }
}
