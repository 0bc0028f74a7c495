//! The text of a configuration's file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::ConfigError;

/// Largest number of bytes of a configuration's file.
pub(super) const MAX_LENGTH: u64 = 1 << 20;

/// The text of a configuration.
pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_LENGTH + 1).read_to_end(&mut bytes));
    read.map_err(|source| ConfigError::File { path: path.into(), source })?;
    if bytes.len() as u64 > MAX_LENGTH {
        return Err(ConfigError::TooLong(path.into()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        ConfigError::Encoding { path: path.into(), line: 1 + valid.iter().filter(|byte| **byte == b'\n').count() }
    })
}
