//! Tiers: number of segments of an exact estimate.

use std::fmt;
use std::str::FromStr;

use firefly_ops::ArgumentError;
use serde::{Deserialize, Serialize};

/// Number of segments of a frame that are averaged: more are more accurate and cost more.
///
/// ```
/// use firefly_models::Tier;
///
/// assert_eq!(Tier::ALL.map(Tier::segments), [1, 2, 8]);
/// assert_eq!("fast".parse(), Ok(Tier::Fast));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// One segment.
    Ultra,
    /// Two segments.
    Fast,
    /// Eight segments: what the others are compared with.
    Reference,
}

impl Tier {
    /// Every tier, fewest segments first.
    pub const ALL: [Self; 3] = [Self::Ultra, Self::Fast, Self::Reference];

    /// The place in [`ALL`](Self::ALL).
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// Segments averaged.
    pub const fn segments(self) -> usize {
        match self {
            Self::Ultra => 1,
            Self::Fast => 2,
            Self::Reference => 8,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ultra => "ultra",
            Self::Fast => "fast",
            Self::Reference => "reference",
        })
    }
}

impl FromStr for Tier {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.to_string() == text)
            .ok_or_else(|| ArgumentError::new("tier", "name", format_args!("`{text}`"), "ultra, fast or reference"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for tier in Tier::ALL {
            assert_eq!((tier.to_string().parse(), Tier::ALL[tier.index()]), (Ok(tier), tier));
        }
        assert!("turbo".parse::<Tier>().is_err());
    }
}
