//! Reports in files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use firefly_app::files::write_atomically;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::schema::{BenchReport, CommandRecord, FORMAT, Tool};
use crate::harness::machine::MachineInfo;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::ParameterMap;

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

/// Seconds since 1970 (UTC).
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

impl BenchReport {
    /// A report of this program, made now.
    pub fn new(host: MachineInfo, command: CommandRecord, facts: ParameterMap, cases: Vec<CaseRecord>) -> Self {
        Self { format: FORMAT, tool: Tool::this(), date: now(), host, command, facts, cases }
    }

    /// Writes the report to `path`, whole or not at all.
    ///
    /// # Errors
    /// [`ReportError`] if the file can't be written.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let mut bytes =
            serde_json::to_vec_pretty(self).map_err(|error| ReportError::Content { path: path.into(), error })?;
        bytes.push(b'\n');
        write_atomically(path, &bytes).map_err(|error| ReportError::Write { path: path.into(), error })
    }

    /// Reads a report.
    ///
    /// # Errors
    /// [`ReportError`] if the file can't be read, is not a report, or one of another format.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let bytes = std::fs::read(path).map_err(|error| ReportError::Read { path: path.into(), error })?;
        Self::parse(path, &bytes)
    }

    /// The report in the bytes of a file; `path` is named in errors.
    ///
    /// # Errors
    /// [`ReportError`] if the bytes are not a report, or one of another format.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ReportError> {
        parse_versioned(path, bytes, FORMAT)
    }
}

/// JSON of a format's version; `path` is named in errors.
///
/// # Errors
/// [`ReportError`] if the JSON is of another format or doesn't have its fields.
pub fn parse_versioned<T: DeserializeOwned>(path: &Path, bytes: &[u8], expected: u32) -> Result<T, ReportError> {
    #[derive(Deserialize)]
    struct Header {
        format: u32,
    }
    let content = |error| ReportError::Content { path: path.into(), error };
    let Header { format } = serde_json::from_slice(bytes).map_err(content)?;
    if format != expected {
        return Err(ReportError::Format { path: path.into(), format, expected });
    }
    serde_json::from_slice(bytes).map_err(content)
}

/// Reason why a report can't be read or written.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The file can't be read.
    #[error("reading {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file can't be written.
    #[error("writing {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The content is not a report.
    #[error("{} is not a report of firefly-bench: {error}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The error in its JSON.
        error: serde_json::Error,
    },
    /// The report has another format.
    #[error("{} has format {format}, and this version reads {expected}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The format that is read.
        expected: u32,
    },
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
        assert!(read(r#"{"format": 1, "cases": []}"#).contains("has format 1, and this version reads 2"));
        assert!(read("[]").contains("is not a report of firefly-bench"));
        assert!(read(r#"{"format": 2}"#).contains("missing field"));
        assert!(format!("{:#}", BenchReport::read(folder.path()).unwrap_err()).contains("reading"));
    }
}
