//! Reports as versioned JSON in files. `bench/SCHEMA.md` documents them for readers.

#![allow(missing_docs, reason = "bench/SCHEMA.md describes the fields of reports")]

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::write_atomically;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::profile::{PROFILE_FORMAT, ProfileReport};
use crate::harness::{CaseRecord, MachineInfo, ParameterMap};

/// Largest report that is read.
const MAX_BYTES: u64 = 1 << 30;

/// Version of the format; it changes when a reader would have to.
pub const FORMAT: u32 = 4;

/// Results of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    pub format: u32,
    pub tool: Tool,
    pub date: u64,
    pub host: MachineInfo,
    pub command: CommandRecord,
    pub facts: ParameterMap,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub complete: bool,
    pub cases: Vec<CaseRecord>,
}

const fn yes() -> bool {
    true
}

/// Program that wrote a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
    pub build: String,
}

/// A subcommand and its options, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    pub name: String,
    pub options: ParameterMap,
}

impl Tool {
    /// This program.
    pub fn this() -> Self {
        Self {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
            build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        }
    }
}

/// Writes a report to `path`, whole or not at all.
pub fn write(report: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(report)? + "\n";
    write_atomically(path, text.as_bytes()).with_context(|| format!("writing {}", path.display()))
}

impl BenchReport {
    /// A report of this program on this machine, made now.
    pub fn new(command: CommandRecord, facts: ParameterMap, cases: Vec<CaseRecord>) -> Self {
        let host = MachineInfo::detect();
        let date = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        Self { format: FORMAT, tool: Tool::this(), date, host, command, facts, complete: true, cases }
    }

    /// Reads a report with cases. An error if the file can't be read, is not a report, or one of another format or
    /// without cases.
    pub fn read(path: &Path) -> Result<Self> {
        match AnyReport::read(path)? {
            AnyReport::Bench(report) => Ok(*report),
            AnyReport::Profile(_) => bail!(
                "{} is a report of profile, which has no times to compare; `firefly-bench report` makes a page of it",
                path.display()
            ),
        }
    }

    /// Contradiction that no measured report has: times out of order, or cases of the same key.
    fn contradiction(&self) -> Option<String> {
        let mut labels = HashSet::new();
        self.cases.iter().find_map(|case| {
            let label = case.label();
            if case.measured().is_some_and(|measured| !measured.time_ns.is_time()) {
                return Some(format!("`{label}` has times that can't have been measured"));
            }
            (!labels.insert(label.clone())).then(|| format!("`{label}` is there twice"))
        })
    }
}

/// Report of any command that writes one.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyReport {
    /// Report of a command that compares strategies, or of `max-batch`.
    Bench(Box<BenchReport>),
    /// Report of `profile`.
    Profile(Box<ProfileReport>),
}

impl AnyReport {
    /// Reads a report. An error if the file can't be read, is not a report, or one of another format.
    pub fn read(path: &Path) -> Result<Self> {
        let read = || {
            let file = File::open(path)?;
            ensure!(file.metadata()?.is_file(), "it is not a file");
            let mut bytes = Vec::new();
            let length = file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
            ensure!(length as u64 <= MAX_BYTES, "it has more than 1 GiB");
            Ok(bytes)
        };
        Self::parse(path, &read().with_context(|| format!("reading {}", path.display()))?)
    }

    /// The report in the bytes of a file; `path` is named in errors. An error if the bytes are not a report, or one of
    /// another format.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let is_none = || format!("{} is not a report of firefly-bench", path.display());
        let (format, is_profile) = {
            let content: Value = serde_json::from_slice(bytes).with_context(is_none)?;
            // Reports of strategies have a command; those of `profile` are known by fields of their own.
            let is_profile = content.get("target").is_some() && content.get("profile").is_some();
            (content.get("format").and_then(Value::as_u64).with_context(is_none)?, is_profile)
        };
        let expected = if is_profile { PROFILE_FORMAT } else { FORMAT };
        ensure!(
            format == u64::from(expected),
            "{} has format {format}, and this version reads {expected}",
            path.display()
        );
        if is_profile {
            return Ok(Self::Profile(serde_json::from_slice(bytes).with_context(is_none)?));
        }
        let report: Box<BenchReport> = serde_json::from_slice(bytes).with_context(is_none)?;
        if let Some(reason) = report.contradiction() {
            bail!("{}: {reason}", path.display());
        }
        Ok(Self::Bench(report))
    }

    /// Name of the command that wrote the report.
    pub fn command(&self) -> &str {
        match self {
            Self::Bench(report) => &report.command.name,
            Self::Profile(_) => "profile",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_another_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            format!("{:#}", BenchReport::read(&path).unwrap_err())
        };
        assert!(read(r#"{"format": 1, "cases": []}"#).contains("has format 1, and this version reads 4"));
        assert!(read("[]").contains("is not a report of firefly-bench"));
        assert!(read(r#"{"format": 4}"#).contains("missing field"));
        assert!(format!("{:#}", BenchReport::read(folder.path()).unwrap_err()).contains("reading"));
    }
}
