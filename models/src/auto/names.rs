//! Published names of ways to compute peaks, with their aliases.

use firefly_framework::cost::Strategy;
use firefly_ops::ArgumentError;

use crate::tier::Tier;

/// Strategies that compute exact peaks.
pub(super) const EXACT: [Strategy; 3] = [Strategy::Host, Strategy::Fused, Strategy::Spectrum];

/// A published name, with the tiers and strategies that it makes candidates.
///
/// ```
/// use firefly_models::{PublishedStrategy, Tier};
///
/// let row = PublishedStrategy::named("1seg")?;
/// assert_eq!((row.names[0], row.tiers), ("ultra", &[Tier::Ultra][..]));
/// assert!(PublishedStrategy::named("fusd").is_err());
/// # Ok::<(), firefly_models::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedStrategy {
    /// The name, then its aliases.
    pub names: &'static [&'static str],
    /// Candidate tiers; the configured tier if there are none.
    pub tiers: &'static [Tier],
    /// Candidate strategies.
    pub strategies: &'static [Strategy],
    /// Whether published thresholds on the batch decide instead of predicted times.
    pub by_thresholds: bool,
}

const fn by_prediction(
    names: &'static [&'static str],
    tiers: &'static [Tier],
    strategies: &'static [Strategy],
) -> PublishedStrategy {
    PublishedStrategy { names, tiers, strategies, by_thresholds: false }
}

/// Every published name.
pub const PUBLISHED_STRATEGIES: [PublishedStrategy; 8] = [
    by_prediction(&["auto"], &[], &EXACT),
    by_prediction(&["any"], &Tier::ALL, &Strategy::ALL),
    PublishedStrategy { names: &["legacy"], tiers: &[], strategies: &Strategy::ALL, by_thresholds: true },
    by_prediction(&["ultra", "ultra-fast", "1seg"], &[Tier::Ultra], &[Strategy::Host]),
    by_prediction(&["fast", "streaming", "rustfft", "2seg"], &[Tier::Fast], &[Strategy::Host]),
    by_prediction(&["fused", "rlx", "compiled", "gpu"], &[Tier::Fast], &[Strategy::Fused, Strategy::Spectrum]),
    by_prediction(&["learned", "learned_compiled"], &[], &[Strategy::Learned]),
    by_prediction(&["reference", "full", "8seg"], &[Tier::Reference], &EXACT),
];

impl PublishedStrategy {
    /// The row of a name or alias.
    ///
    /// # Errors
    /// [`ArgumentError`] for a name that is not published.
    pub fn named(name: &str) -> Result<&'static Self, ArgumentError> {
        PUBLISHED_STRATEGIES.iter().find(|row| row.names.contains(&name)).ok_or_else(|| {
            let names = PUBLISHED_STRATEGIES.map(|row| row.names[0]).join(", ");
            ArgumentError::new("strategy", "name", format!("`{name}`"), format!("one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_has_one_row() {
        for (names, tiers, strategies) in [
            ("auto", &[][..], &EXACT[..]),
            ("ultra ultra-fast 1seg", &[Tier::Ultra][..], &[Strategy::Host][..]),
            ("fast streaming rustfft 2seg", &[Tier::Fast], &[Strategy::Host]),
            ("fused rlx compiled gpu", &[Tier::Fast], &[Strategy::Fused, Strategy::Spectrum]),
            ("learned learned_compiled", &[], &[Strategy::Learned]),
            ("reference full 8seg", &[Tier::Reference], &EXACT),
        ] {
            for name in names.split(' ') {
                let row = PublishedStrategy::named(name).unwrap();
                assert_eq!((row.tiers, row.strategies, row.by_thresholds), (tiers, strategies, false), "{name}");
            }
        }
        let error = PublishedStrategy::named("fusd").unwrap_err().to_string();
        assert!(error.contains("`fusd`") && error.contains("fused"), "{error}");
    }
}
