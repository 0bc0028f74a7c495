//! Manifest of a folder: the size and the SHA-256 of each of its files, so that damage is noticed before a file is
//! used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Name of the manifest in its folder.
pub const MANIFEST: &str = "manifest.json";

/// Version of the manifest's layout.
const FORMAT: u32 = 1;

/// Difference between a folder and its manifest.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ManifestError {
    #[error("{0} is missing")]
    Missing(String),
    #[error("reading {0}")]
    Read(String, #[source] io::Error),
    #[error("{MANIFEST} is damaged")]
    Malformed(#[from] serde_json::Error),
    #[error("{MANIFEST} has format {0}, but this version reads format {FORMAT}")]
    Format(u32),
    #[error("it is of {found}, not of {expected}")]
    Subject { found: String, expected: String },
    #[error("{file} has {found} bytes, but {expected} were written")]
    Length { file: String, found: u64, expected: u64 },
    #[error("{0} is damaged: its SHA-256 is not that of what was written")]
    Content(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileRecord {
    bytes: u64,
    sha256: String,
}

/// The files of a folder, and what they are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    subject: String,
    files: BTreeMap<String, FileRecord>,
}

impl Manifest {
    /// The manifest of every file that is in `folder`; `subject` says what they are of. An error if one of them can't
    /// be read.
    pub fn of(folder: &Path, subject: &str) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            files.insert(entry.file_name().to_string_lossy().into_owned(), record(&entry.path())?);
        }
        Ok(Self { format: FORMAT, subject: subject.into(), files })
    }

    /// Writes the manifest into `folder`. An error if it can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(MANIFEST), serde_json::to_vec_pretty(self)?)
    }

    /// Compares the files in `folder` with its manifest, which must be of `subject`. The error is the first difference.
    pub fn verify(folder: &Path, subject: &str) -> Result<(), ManifestError> {
        let unreadable = |file: &str| {
            let file = file.to_string();
            move |source: io::Error| match source.kind() {
                io::ErrorKind::NotFound => ManifestError::Missing(file),
                _ => ManifestError::Read(file, source),
            }
        };
        let text = fs::read(folder.join(MANIFEST)).map_err(unreadable(MANIFEST))?;
        let manifest: Self = serde_json::from_slice(&text)?;
        if manifest.format != FORMAT {
            return Err(ManifestError::Format(manifest.format));
        }
        if manifest.subject != subject {
            return Err(ManifestError::Subject { found: manifest.subject, expected: subject.into() });
        }
        for (file, expected) in manifest.files {
            let found = record(&folder.join(&file)).map_err(unreadable(&file))?;
            if found.bytes != expected.bytes {
                return Err(ManifestError::Length { file, found: found.bytes, expected: expected.bytes });
            }
            if found.sha256 != expected.sha256 {
                return Err(ManifestError::Content(file));
            }
        }
        Ok(())
    }
}

/// SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new().chain_update(bytes))
}

fn record(path: &Path) -> io::Result<FileRecord> {
    let mut hasher = Sha256::new();
    let bytes = io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(FileRecord { bytes, sha256: hexadecimal(hasher) })
}

fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn every_change_of_a_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        fs::write(&path, "0123").unwrap();
        let subject = "run a, step 3";
        Manifest::of(folder.path(), subject).unwrap().write(folder.path()).unwrap();
        let message = || Manifest::verify(folder.path(), subject).unwrap_err().to_string();
        Manifest::verify(folder.path(), subject).unwrap();
        let other = Manifest::verify(folder.path(), "run b, step 3").unwrap_err().to_string();
        assert_eq!(other, "it is of run a, step 3, not of run b, step 3");
        fs::write(&path, "0124").unwrap();
        assert!(message().starts_with("weights is damaged"));
        fs::write(&path, "012").unwrap();
        assert_eq!(message(), "weights has 3 bytes, but 4 were written");
        fs::remove_file(&path).unwrap();
        assert_eq!(message(), "weights is missing");
        fs::write(folder.path().join(MANIFEST), "{").unwrap();
        assert_eq!(message(), "manifest.json is damaged");
        fs::remove_file(folder.path().join(MANIFEST)).unwrap();
        assert_eq!(message(), "manifest.json is missing");
    }
}
