//! The subcommands, one file each: arguments, what is done with them, and the report.

pub mod calibrate;
pub mod compare;
pub mod e2e;
pub mod fft;
pub mod fusion_phases;
pub mod max_batch;
pub mod picker;
pub mod profile;
pub mod report;
pub mod welch_peaks;

use crate::json::{CaseRecord, Outcome};
use crate::strategy::{Problem, Strategy};

/// How a command that was carried out ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No case failed.
    Passed,
    /// At least one case failed.
    Failed,
}

impl Verdict {
    /// [`Failed`](Self::Failed) if a case is.
    pub fn of(cases: &[CaseRecord]) -> Self {
        let failed = cases.iter().any(|case| matches!(case.outcome, Outcome::Failed { .. }));
        if failed { Self::Failed } else { Self::Passed }
    }
}

/// What a command's help says of its strategies.
pub fn strategies_help<P: Problem>(catalogue: &[Box<dyn Strategy<P>>]) -> String {
    let lines = catalogue.iter().map(|strategy| format!("\n  {}: {}", strategy.name(), strategy.summary()));
    format!("Strategies:{}", lines.collect::<String>())
}
