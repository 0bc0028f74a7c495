//! Atomic output files, and the durability of folders.

use std::fs::{self, File};
use std::io;
use std::path::Path;

pub use firefly_framework::files::{AtomicFile, ensure_writable, output_path, sync_folder, write_atomically};

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
