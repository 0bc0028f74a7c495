//! Options of what is searched for in the power of frames.

use crate::frequency_band::FrequencyBand;
use crate::local_maxima::LocalMaximaArgs;

/// The peaks of a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SearchOptions {
    /// Peaks per frame, 1 to n_fft / 2 + 1, or to the number of bins of --band [default: 16]
    #[arg(short, long, value_name = "N")]
    pub k: Option<usize>,
    /// Search peaks between two frequencies, in hertz, both included: 500..5000, 50.. or ..5000 [default: all, or the
    /// band of the model of a run]
    #[arg(long, value_name = "LOW..HIGH", allow_hyphen_values = true)]
    pub band: Option<FrequencyBand>,
    /// Local maxima in place of the strongest bins.
    #[command(flatten)]
    pub maxima: LocalMaximaArgs,
}
