//! Report of any command, read from a file.

use std::path::Path;

use serde_json::Value;

use super::json::{ReportError, parse_versioned, read_bytes};
use super::picker_report::{PICKER_FORMAT, PickerReport};
use super::profile::{PROFILE_FORMAT, ProfileReport};
use super::schema::BenchReport;

/// Report of any command that writes one.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyReport {
    /// Report of a command that compares strategies, or of `max-batch`.
    Bench(Box<BenchReport>),
    /// Report of `picker`.
    Picker(Box<PickerReport>),
    /// Report of `profile`.
    Profile(Box<ProfileReport>),
}

impl AnyReport {
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
        // Reports of strategies have a command; the others are known by a field of their own.
        let content: Option<Value> = serde_json::from_slice(bytes).ok();
        let has = |name: &str| content.as_ref().is_some_and(|content| content.get(name).is_some());
        if has("predicted_well") {
            parse_versioned(path, bytes, PICKER_FORMAT).map(Box::new).map(Self::Picker)
        } else if has("target") && has("profile") {
            parse_versioned(path, bytes, PROFILE_FORMAT).map(Box::new).map(Self::Profile)
        } else {
            BenchReport::parse(path, bytes).map(Box::new).map(Self::Bench)
        }
    }

    /// Name of the command that wrote the report.
    pub fn command(&self) -> &str {
        match self {
            Self::Bench(report) => &report.command.name,
            Self::Picker(_) => "picker",
            Self::Profile(_) => "profile",
        }
    }
}
