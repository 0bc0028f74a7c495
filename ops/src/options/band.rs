//! A range of bins.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{ArgumentError, ensure};

/// Consecutive bins of a spectrum, from `first` to the one before `end`. Serialised as `[first, end]`.
///
/// ```
/// use firefly_ops::Band;
///
/// let band = Band::new(8..97);
/// assert_eq!((band.first, band.end, band.to_string().as_str()), (8, 97, "8..97"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "[usize; 2]", into = "[usize; 2]")]
pub struct Band {
    /// The first bin.
    pub first: usize,
    /// The bin after the last.
    pub end: usize,
}

impl Band {
    /// The bins of a range.
    pub const fn new(bins: Range<usize>) -> Self {
        Self { first: bins.start, end: bins.end }
    }

    /// Checks that the band is not empty and within `bins` bins; errors name `operation`.
    ///
    /// # Errors
    /// [`ArgumentError`] naming the argument `band`.
    pub fn validate(self, operation: &'static str, bins: usize) -> Result<(), ArgumentError> {
        let is_within = self.first < self.end && self.end <= bins;
        ensure(is_within, operation, "band", self, format_args!("one or more bins of 0..{bins}"))
    }
}

impl From<[usize; 2]> for Band {
    fn from([first, end]: [usize; 2]) -> Self {
        Self { first, end }
    }
}

impl From<Band> for [usize; 2] {
    fn from(band: Band) -> Self {
        [band.first, band.end]
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.end)
    }
}
