//! Configuration of [`AutoWelchPeaks`](super::AutoWelchPeaks).

use burn::config::Config;
use firefly_framework::picker::Strategy;
use firefly_framework::profile::DeviceProfile;
use firefly_framework::published::PublishedStrategy;
use firefly_ops::ArgumentError;

use crate::welch_peaks::WelchPeaksConfig;

/// Configuration of [`AutoWelchPeaks`](super::AutoWelchPeaks): the estimate, and the candidates among which time decides.
///
/// By default the number of segments is that of the estimate, so that accuracy does not depend on the batch, and every
/// strategy that computes exact peaks is a candidate.
///
/// ```
/// use firefly_models::{AutoWelchPeaksConfig, Strategy, WelchPeaksConfig};
///
/// let config = AutoWelchPeaksConfig::new().with_peaks(WelchPeaksConfig::new().with_segments(8));
/// assert_eq!(config.strategies, [Strategy::Host, Strategy::Fused, Strategy::Spectrum]);
/// // By a published name: one segment, on the host.
/// let config = config.with_published("ultra")?;
/// assert_eq!((config.peaks.segments, config.strategies), (1, vec![Strategy::Host]));
/// # Ok::<_, firefly_models::ArgumentError>(())
/// ```
#[non_exhaustive]
#[derive(Config, Debug, PartialEq)]
pub struct AutoWelchPeaksConfig {
    /// The estimate.
    #[config(default = "WelchPeaksConfig::new()")]
    pub peaks: WelchPeaksConfig,
    /// Candidate numbers of segments; if empty, only that of the estimate. One is considered if the frames are long
    /// enough.
    #[config(default = "Vec::new()")]
    pub segments: Vec<usize>,
    /// Candidate strategies. If `Learned` is the only one, the model is
    /// [`LearnedWelchPeaksConfig::universal_for`](crate::LearnedWelchPeaksConfig::universal_for) the estimate, whatever
    /// its segments and window, and takes frames of eight segments, unless
    /// [`with_learned`](super::AutoWelchPeaks::with_learned) replaces it. Among others, it is a candidate with the model
    /// that `with_learned` adds.
    #[config(default = "Strategy::EXACT.to_vec()")]
    pub strategies: Vec<Strategy>,
    /// Whether published thresholds on the batch decide instead of times.
    #[config(default = false)]
    pub by_thresholds: bool,
    /// Whether peaks stay on the device of the frames; they are delivered in host memory otherwise.
    #[config(default = false)]
    pub keep_on_device: bool,
    /// Profile of the device; by default the user's calibrated profile of it, or else a preset.
    pub profile: Option<DeviceProfile>,
}

impl AutoWelchPeaksConfig {
    /// Whether a learned model is the only candidate.
    pub(super) fn is_learned(&self) -> bool {
        self.strategies == [Strategy::Learned]
    }

    /// The same configuration with the candidates of a [published name](PublishedStrategy), such as `fused`, or of an
    /// alias.
    ///
    /// # Errors
    /// [`ArgumentError`] for a name that is not published.
    pub fn with_published(self, name: &str) -> Result<Self, ArgumentError> {
        let row = PublishedStrategy::named(name)?;
        let mut config = Self { strategies: row.strategies.to_vec(), by_thresholds: row.by_thresholds, ..self };
        match row.segments {
            [segments] => (config.peaks.segments, config.segments) = (*segments, Vec::new()),
            segments => config.segments = segments.to_vec(),
        }
        Ok(config)
    }
}
