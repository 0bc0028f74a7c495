//! The report as versioned JSON: one row per case. `bench/SCHEMA.md` documents it for readers.

use serde::{Deserialize, Serialize};

use crate::harness::machine::MachineInfo;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::ParameterMap;

/// Version of the format; it changes when a reader would have to.
pub const FORMAT: u32 = 3;

/// Results of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// [`FORMAT`].
    pub format: u32,
    /// The program.
    pub tool: Tool,
    /// Time of the measurement, in seconds since 1970 (UTC).
    pub date: u64,
    /// The machine.
    pub host: MachineInfo,
    /// The command with its options.
    pub command: CommandRecord,
    /// Properties that all cases have in common, such as scaling, window and detrending.
    pub facts: ParameterMap,
    /// Whether every case is there: a record of a measurement that was still running has those that were done.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub complete: bool,
    /// One record per case.
    pub cases: Vec<CaseRecord>,
}

const fn yes() -> bool {
    true
}

const fn is_yes(complete: &bool) -> bool {
    *complete
}

/// Program that wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it was built with optimisation: `release` or `debug`.
    pub build: String,
}

/// A subcommand and its options, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The subcommand.
    pub name: String,
    /// Its options by name.
    pub options: ParameterMap,
}
