//! Atomic replacement of files: written to a temporary file in the same folder, synced, and renamed.
//!
//! ```
//! use firefly_framework::files::write_atomically;
//!
//! let folder = tempfile::tempdir()?;
//! write_atomically(&folder.path().join("reports/out.json"), b"{}")?;
//! # Ok::<_, std::io::Error>(())
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path` and creates missing folders. A reader sees the old file or the new one, never a part, even
/// after a crash.
///
/// # Errors
/// If the folder can't be created or written, or the disk is full; the old file is then unchanged.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".partial-");
    // Temporary files are private by default; output files follow the user's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Syncs a folder, so that renames in it survive a crash.
///
/// # Errors
/// If the folder can't be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows has no handle for syncing a folder.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_no_temporary_file_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/down/out.json");
        write_atomically(&path, b"first").unwrap();
        write_atomically(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir_all(path.join("inside")).unwrap();
        assert!(write_atomically(&path, b"bytes").is_err());
        assert!(path.join("inside").is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
