//! The subcommands, one file each: arguments, what is done with them, and the report.

pub mod welch_peaks;

/// How a command that was carried out ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No case failed.
    Passed,
    /// At least one case failed.
    Failed,
}
