//! Options of commands on Welch estimates.

use firefly_models::Tier;
use firefly_ops::ArgumentError;
use firefly_ops::options::validate_n_fft;

use super::values::{TIERS, named};
use crate::harness::number_list::{NumberRange, distinct, numbers};
use crate::harness::parameters::ParameterMap;
use crate::suites::peaks::{PeaksProblem, grid};

/// Sizes of the peaks problems: every combination is a problem.
#[derive(Debug, Clone, clap::Args)]
pub struct PeaksGrid {
    /// Samples per segment: powers of two from 8 to 65536
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "256", allow_negative_numbers = true)]
    pub n_fft: Vec<NumberRange>,
    /// Frames per call, from 1; their samples take at most 8 GiB
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "32,256,1024,8192",
        allow_negative_numbers = true
    )]
    pub batch: Vec<NumberRange>,
    /// Peaks per frame: from 1 to n_fft / 2 + 1
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16", allow_negative_numbers = true)]
    pub k: Vec<NumberRange>,
    /// Segments used of each frame: ultra (1), fast (2), reference (8)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "fast", value_parser = named(TIERS))]
    pub tier: Vec<Tier>,
}

impl PeaksGrid {
    /// Parameters of a problem that tables show.
    pub const COLUMNS: &'static [&'static str] = &["n_fft", "tier", "batch", "k"];

    /// The problems.
    ///
    /// # Errors
    /// [`ArgumentError`] of `command` for lengths out of range.
    pub fn problems(&self, command: &'static str) -> Result<Vec<PeaksProblem>, ArgumentError> {
        let lengths = lengths(&self.n_fft, command)?;
        Ok(grid(&lengths, &distinct(self.tier.clone()), &numbers(&self.batch), &numbers(&self.k)))
    }

    /// The options as a report has them.
    pub fn parameters(&self) -> ParameterMap {
        ParameterMap::default()
            .with("n_fft", numbers(&self.n_fft))
            .with("batch", numbers(&self.batch))
            .with("k", numbers(&self.k))
            .with("tier", tier_names(&self.tier))
    }
}

/// Lengths of segments.
///
/// # Errors
/// [`ArgumentError`] of `command` for one that is not a power of two from 8 to 65,536.
pub fn lengths(n_fft: &[NumberRange], command: &'static str) -> Result<Vec<usize>, ArgumentError> {
    let lengths = numbers(n_fft);
    for &n_fft in &lengths {
        validate_n_fft(command, "n_fft", n_fft)?;
    }
    Ok(lengths)
}

/// Names of tiers, each once.
pub fn tier_names(tiers: &[Tier]) -> Vec<String> {
    distinct(tiers.iter().map(Tier::to_string))
}
