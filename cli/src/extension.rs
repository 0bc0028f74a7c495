//! Formats that the extension of a file names.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result};

/// The format that a path's extension, in upper or lower case, names among `formats`; `kind` and `accepted` describe
/// them in the error.
///
/// # Errors
/// For an extension that names none.
pub fn format_of<F: Copy>(path: &Path, kind: &str, accepted: &str, formats: &[(&str, F)]) -> Result<F> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let found = formats.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension));
    found
        .map(|(_, format)| *format)
        .with_context(|| format!("{}: its extension names no format of {kind} (accepted: {accepted})", path.display()))
}
