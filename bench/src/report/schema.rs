//! The report as versioned JSON: one row per case. `bench/SCHEMA.md` documents it for readers.

use serde::{Deserialize, Serialize};

use crate::harness::host::Host;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::Parameters;

/// Version of the format; it changes when a reader would have to.
pub const FORMAT: u32 = 2;

/// A command's results and all that is needed to understand them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// What measured.
    pub tool: Tool,
    /// When, in seconds since 1970 (UTC).
    pub date: u64,
    /// Where.
    pub host: Host,
    /// What was asked for.
    pub command: Command,
    /// What all cases have in common, such as scaling, window and detrending.
    pub facts: Parameters,
    /// The results.
    pub cases: Vec<CaseRecord>,
}

/// The program.
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
pub struct Command {
    /// The subcommand.
    pub name: String,
    /// Its options by name.
    pub options: Parameters,
}
