//! Arguments of commands on Welch estimates.

use std::str::FromStr;

use firefly_models::Tier;
use firefly_ops::{ArgumentError, WelchOptions};

use crate::cli::lists::{self, Counts, ListError};
use crate::harness::parameters::Parameters;
use crate::suites::peaks::{PeaksProblem, grid};

/// A grid of problems.
#[derive(Debug, Clone, clap::Args)]
pub struct PeaksGrid {
    /// Samples of a segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", default_value = "256")]
    pub n_fft: Counts,
    /// Frames of a call
    #[arg(long, value_name = "LIST", default_value = "32,256,1024,8192")]
    pub batch: Counts,
    /// Peaks of each frame
    #[arg(long, value_name = "LIST", default_value = "16")]
    pub k: Counts,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", default_value = "fast")]
    pub tier: Tiers,
}

impl PeaksGrid {
    /// What a table shows of a problem.
    pub const COLUMNS: &'static [&'static str] = &["n_fft", "tier", "batch", "k"];

    /// The problems, for `command`.
    ///
    /// # Errors
    /// As [`check_lengths`].
    pub fn problems(&self, command: &'static str) -> Result<Vec<PeaksProblem>, ArgumentError> {
        check_lengths(&self.n_fft, command)?;
        Ok(grid(&self.n_fft.0, &self.tier.0, &self.batch.0, &self.k.0))
    }

    /// The arguments as a report has them.
    pub fn parameters(&self) -> Parameters {
        Parameters::default()
            .with("n_fft", self.n_fft.0.clone())
            .with("batch", self.batch.0.clone())
            .with("k", self.k.0.clone())
            .with("tier", self.tier.names())
    }
}

/// Checks lengths of segments.
///
/// # Errors
/// [`ArgumentError`] of `command` for one that is no power of two from 8 to 65,536.
pub fn check_lengths(n_ffts: &Counts, command: &'static str) -> Result<(), ArgumentError> {
    n_ffts.0.iter().try_for_each(|&n_fft| WelchOptions { hop: 1, ..WelchOptions::new(n_fft, 1) }.validate(command))
}

/// Tiers in the order typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers(pub Vec<Tier>);

impl FromStr for Tiers {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        let names = Tier::ALL.map(|tier| tier.to_string());
        let positions = lists::named(text, "tier", &names.each_ref().map(String::as_str))?;
        Ok(Self(positions.into_iter().map(|position| Tier::ALL[position]).collect()))
    }
}

impl Tiers {
    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(Tier::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_parsed_in_order() {
        assert_eq!("reference,ultra".parse(), Ok(Tiers(vec![Tier::Reference, Tier::Ultra])));
        assert!("fasst".parse::<Tiers>().unwrap_err().to_string().contains("did you mean `fast`?"));
    }
}
