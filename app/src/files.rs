//! Atomic output files, and the durability of folders.

use std::fs::{self, File};
use std::io;
use std::path::Path;

pub use firefly_framework::files::{sync_folder, write_atomically};

/// Checks that [`write_atomically`] can write to `path`, before a long computation.
///
/// # Errors
/// As writing would.
pub fn ensure_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    tempfile::Builder::new().prefix(".partial-").tempfile_in(folder).map(drop)
}

/// Syncs every file in `folder`, then the folder.
///
/// # Errors
/// If one of them can't be opened or synced.
pub fn sync_folder_and_files(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        File::open(entry?.path())?.sync_all()?;
    }
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritable_paths_are_errors_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        ensure_writable(&folder.path().join("new/out.json")).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
        assert!(ensure_writable(folder.path()).is_err());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(ensure_writable(&folder.path().join("file/out.json")).is_err());
    }
}
