//! How peaks are computed, as users type it.

use std::fmt;
use std::str::FromStr;

use firefly_ops::ArgumentError;

use crate::tier::Tier;

/// What computes the peaks: `auto` decides by predicted time, all others are forced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// Whatever is predicted fastest for the device, batch, length, K and tier.
    #[default]
    Auto,
    /// One segment, on the host.
    Ultra,
    /// Two segments, on the host.
    Fast,
    /// Two segments, on the device: one fused operation, or spectra there and peaks on the host where that is predicted
    /// faster.
    Fused,
    /// The learned model.
    Learned,
    /// Eight segments.
    Reference,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 6] = [Self::Auto, Self::Ultra, Self::Fast, Self::Fused, Self::Learned, Self::Reference];

    /// What users may type; the first is the strategy's name.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Auto => &["auto"],
            Self::Ultra => &["ultra", "ultra-fast", "1seg"],
            Self::Fast => &["fast", "streaming", "rustfft", "2seg"],
            Self::Fused => &["fused", "rlx", "compiled", "gpu"],
            Self::Learned => &["learned", "learned_compiled"],
            Self::Reference => &["reference", "full", "8seg"],
        }
    }

    /// The tier that a strategy stands for; none where another choice decides it.
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Self::Auto | Self::Learned => None,
            Self::Ultra => Some(Tier::Ultra),
            Self::Fast | Self::Fused => Some(Tier::Fast),
            Self::Reference => Some(Tier::Reference),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names()[0])
    }
}

impl FromStr for Strategy {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|strategy| strategy.names().contains(&text)).ok_or_else(|| {
            let hint =
                firefly_framework::suggest::hint(text, Self::ALL.into_iter().flat_map(|s| s.names().iter().copied()));
            let expected = "auto, ultra, fast, fused, learned or reference";
            ArgumentError::new("strategy", "name", format!("`{text}`{hint}"), expected)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_is_a_strategy() {
        for (names, strategy) in [
            ("auto", Strategy::Auto),
            ("ultra ultra-fast 1seg", Strategy::Ultra),
            ("fast streaming rustfft 2seg", Strategy::Fast),
            ("fused rlx compiled gpu", Strategy::Fused),
            ("learned learned_compiled", Strategy::Learned),
            ("reference full 8seg", Strategy::Reference),
        ] {
            assert!(names.split(' ').all(|name| name.parse() == Ok(strategy)), "{names}");
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
        let error = "fusd".parse::<Strategy>().unwrap_err().to_string();
        assert!(error.contains("did you mean `fused`?"), "{error}");
    }
}
