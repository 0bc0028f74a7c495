//! Reports in files.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
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
        Self { format: FORMAT, tool: Tool::this(), date: now(), host, command, facts, complete: true, cases }
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
        Self::parse(path, &read_bytes(path)?)
    }

    /// The report in the bytes of a file; `path` is named in errors.
    ///
    /// # Errors
    /// [`ReportError`] if the bytes are not a report, or one of another format.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, ReportError> {
        let report: Self = parse_versioned(path, bytes, FORMAT)?;
        match report.contradiction() {
            Some(reason) => Err(ReportError::Contradiction { path: path.into(), reason }),
            None => Ok(report),
        }
    }

    /// Contradiction that no measured report has: times out of order, or cases of the same key.
    fn contradiction(&self) -> Option<String> {
        let mut labels = HashSet::new();
        self.cases.iter().find_map(|case| {
            let label = case.label();
            if let Some(measured) = case.measured()
                && !measured.time_ns.is_time()
            {
                return Some(format!("`{label}` has times that can't have been measured"));
            }
            (!labels.insert(label.clone())).then(|| format!("`{label}` is there twice"))
        })
    }
}

/// Largest report that is read.
const MOST_BYTES: u64 = 1 << 30;

/// The content of a report's file.
///
/// # Errors
/// [`ReportError`] if the file can't be read or is too large.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ReportError> {
    let read = || {
        let mut bytes = Vec::new();
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if file.take(MOST_BYTES + 1).read_to_end(&mut bytes)? as u64 > MOST_BYTES {
            return Err(io::Error::other("it has more than 1 GiB"));
        }
        Ok(bytes)
    };
    read().map_err(|error| ReportError::Read { path: path.into(), error })
}

/// JSON of a format's version; `path` is named in errors.
///
/// # Errors
/// [`ReportError`] if the JSON is of another format or doesn't have its fields.
pub fn parse_versioned<T: DeserializeOwned>(path: &Path, bytes: &[u8], expected: u32) -> Result<T, ReportError> {
    #[derive(Deserialize)]
    struct ReportHeader {
        format: u32,
    }
    let content = |error| ReportError::Content { path: path.into(), error };
    let ReportHeader { format } = serde_json::from_slice(bytes).map_err(content)?;
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
    /// The content can't have been measured.
    #[error("{}: {reason}", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
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
        assert!(read(r#"{"format": 1, "cases": []}"#).contains("has format 1, and this version reads 3"));
        assert!(read("[]").contains("is not a report of firefly-bench"));
        assert!(read(r#"{"format": 3}"#).contains("missing field"));
        assert!(format!("{:#}", BenchReport::read(folder.path()).unwrap_err()).contains("reading"));
    }
}
