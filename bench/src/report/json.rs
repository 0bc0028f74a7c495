//! Reports written to files, and read from them.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use firefly_app::files::write_atomically;
use serde::Deserialize;

use super::schema::{Command, FORMAT, Report, Tool};
use crate::harness::host::Host;
use crate::harness::outcome::CaseRecord;
use crate::harness::parameters::Parameters;

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

impl Report {
    /// A report of this program, made now.
    pub fn new(host: Host, command: Command, facts: Parameters, cases: Vec<CaseRecord>) -> Self {
        Self { format: FORMAT, tool: Tool::this(), date: now(), host, command, facts, cases }
    }

    /// Writes the report to `path`, whole or not at all.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        write_atomically(path, &bytes).with_context(|| format!("writing {}", path.display()))
    }

    /// Reads a report.
    ///
    /// # Errors
    /// If the file can't be read, is not a report, or one of another format.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Header {
            format: u32,
        }
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let wrong = || format!("{} is not a report of firefly-bench", path.display());
        let Header { format } = serde_json::from_slice(&bytes).with_context(wrong)?;
        ensure!(format == FORMAT, "{} has format {format}, and this version reads {FORMAT}", path.display());
        serde_json::from_slice(&bytes).with_context(wrong)
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
            format!("{:#}", Report::read(&path).unwrap_err())
        };
        assert!(read(r#"{"format": 1, "cases": []}"#).contains("has format 1, and this version reads 2"));
        assert!(read("[]").contains("is not a report of firefly-bench"));
        assert!(read(r#"{"format": 2}"#).contains("missing field"));
        assert!(format!("{:#}", Report::read(folder.path()).unwrap_err()).contains("reading"));
    }
}
