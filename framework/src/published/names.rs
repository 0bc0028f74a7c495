//! Published names of ways to compute peaks, with their aliases.

use firefly_ops::ArgumentError;

use crate::picker::Strategy;

/// Environment variable that selects the published thresholds for `auto`, unless it is empty or `0`.
const LEGACY: &str = "FIREFLY_LEGACY_PICKER";

/// A published name, with the numbers of segments and strategies that it makes candidates.
///
/// ```
/// use firefly_framework::published::PublishedStrategy;
///
/// let row = PublishedStrategy::named("1seg")?;
/// assert_eq!((row.names[0], row.segments), ("ultra", &[1][..]));
/// assert!(PublishedStrategy::named("fusd").is_err());
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedStrategy {
    /// The name, then its aliases.
    pub names: &'static [&'static str],
    /// Candidate numbers of segments; the configured one if there are none.
    pub segments: &'static [usize],
    /// Candidate strategies.
    pub strategies: &'static [Strategy],
    /// Whether published thresholds on the batch decide instead of predicted times: for `legacy`, and for `auto` where the
    /// environment variable `FIREFLY_LEGACY_PICKER` says so. Other names are forced, whatever the environment.
    pub by_thresholds: bool,
}

const fn row(
    names: &'static [&'static str],
    segments: &'static [usize],
    strategies: &'static [Strategy],
) -> PublishedStrategy {
    PublishedStrategy { names, segments, strategies, by_thresholds: false }
}

/// Every published name.
pub const PUBLISHED_STRATEGIES: [PublishedStrategy; 8] = [
    row(&["auto"], &[], &Strategy::EXACT),
    row(&["any"], &[1, 2, 8], &Strategy::ALL),
    PublishedStrategy { by_thresholds: true, ..row(&["legacy"], &[1, 2], &Strategy::ALL) },
    row(&["ultra", "ultra-fast", "1seg"], &[1], &[Strategy::Host]),
    row(&["fast", "streaming", "rustfft", "2seg"], &[2], &[Strategy::Host]),
    row(&["fused", "rlx", "compiled", "gpu"], &[2], &[Strategy::Fused, Strategy::Spectrum]),
    row(&["learned", "learned_compiled"], &[], &[Strategy::Learned]),
    row(&["reference", "full", "8seg"], &[8], &Strategy::EXACT),
];

impl PublishedStrategy {
    /// The row of a name or alias.
    ///
    /// # Errors
    /// [`ArgumentError`] for a name that is not published.
    pub fn named(name: &str) -> Result<Self, ArgumentError> {
        let found = PUBLISHED_STRATEGIES.into_iter().find(|row| row.names.contains(&name));
        let mut row = found.ok_or_else(|| {
            let names = PUBLISHED_STRATEGIES.map(|row| row.names[0]).join(", ");
            ArgumentError::new("strategy", "name", format!("`{name}`"), format!("one of {names}"))
        })?;
        row.by_thresholds |=
            name == "auto" && std::env::var_os(LEGACY).is_some_and(|value| !value.is_empty() && value != "0");
        Ok(row)
    }
}

/// Published names of numbers of segments, fewest first: more segments are more accurate and cost more.
pub const SEGMENT_NAMES: [(&str, usize); 3] = [("ultra", 1), ("fast", 2), ("reference", 8)];

/// Published name of a number of segments, or the number in words.
///
/// ```
/// use firefly_framework::published::segments_label;
///
/// assert_eq!([1, 2, 3].map(segments_label), ["ultra", "fast", "3 segments"]);
/// ```
pub fn segments_label(segments: usize) -> String {
    let name = SEGMENT_NAMES.iter().find(|(_, of_name)| *of_name == segments);
    name.map_or_else(|| format!("{segments} segments"), |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_has_one_row() {
        let exact = &Strategy::EXACT[..];
        for (names, segments, strategies) in [
            ("auto", &[][..], exact),
            ("ultra ultra-fast 1seg", &[1][..], &[Strategy::Host][..]),
            ("fast streaming rustfft 2seg", &[2], &[Strategy::Host]),
            ("fused rlx compiled gpu", &[2], &[Strategy::Fused, Strategy::Spectrum]),
            ("learned learned_compiled", &[], &[Strategy::Learned]),
            ("reference full 8seg", &[8], exact),
        ] {
            for name in names.split(' ') {
                let row = PublishedStrategy::named(name).unwrap();
                assert_eq!((row.segments, row.strategies), (segments, strategies), "{name}");
            }
        }
        let error = PublishedStrategy::named("fusd").unwrap_err().to_string();
        assert!(error.contains("`fusd`") && error.contains("fused"), "{error}");
    }
}
