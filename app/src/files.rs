//! Atomic output files, and the durability of folders.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use firefly_framework::files::{AtomicFile, PARTIAL, ensure_writable, output_path, sync_folder, write_atomically};

/// Checks that writing `output` would replace none of `inputs`.
///
/// # Errors
/// If it would.
pub fn ensure_no_input<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> io::Result<()> {
    // What is not there yet replaces nothing.
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    let is_output = |input: &Path| input.canonicalize().is_ok_and(|input: PathBuf| input == output);
    match inputs.into_iter().any(is_output) {
        true => Err(io::Error::other("it is an input, and would be replaced")),
        false => Ok(()),
    }
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
