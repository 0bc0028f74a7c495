//! Locks on outputs, and what an interrupted command leaves of them.
//!
//! The lock on the output `NAME` is its journal, `NAME.journal`. A table or an array is written to `.NAME.partial` under it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use anyhow::{Context, Result, bail, ensure};
use firefly_app::files::{clean_at_interruption, open_own, output_path};
use firefly_app::streams::note;

/// Beginning of a journal.
pub const HEADER: &str = "firefly journal ";

/// Lock on an output against a second command with the same one. It has to outlive the unfinished output. Its file is
/// removed with it, unless it has entries that a command continues from.
pub struct OutputLock {
    /// The output, and the journal beside the file that it leads to: two links to one output have one lock.
    output: PathBuf,
    journal: PathBuf,
    file: File,
}

/// Files of an output that is not complete.
struct Unfinished {
    partial: PathBuf,
    /// Whether a command continues from the journal, and from the output.
    keeps_journal: bool,
    keeps_partial: bool,
}

/// Unfinished outputs of the process, by their journals.
fn unfinished() -> MutexGuard<'static, BTreeMap<PathBuf, Unfinished>> {
    static UNFINISHED: Mutex<BTreeMap<PathBuf, Unfinished>> = Mutex::new(BTreeMap::new());
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what no command continues from.
fn clean() {
    let unfinished = unfinished();
    for (journal, left) in unfinished.iter() {
        if !(left.keeps_journal && left.keeps_partial) {
            let _ = fs::remove_file(&left.partial);
        }
        if left.keeps_journal {
            note(format_args!("interrupted: {} is kept, from which the same command continues", journal.display()));
        } else {
            let _ = fs::remove_file(journal);
        }
    }
    // The process ends before another thread changes its outputs.
    std::mem::forget(unfinished);
}

impl OutputLock {
    /// The lock on an output. An error if its file can't be written or is no journal, or another process has it.
    pub fn of(output: &Path) -> Result<Self> {
        static CLEANING: Once = Once::new();
        CLEANING.call_once(|| clean_at_interruption(clean));
        let target = output_path(output)?;
        let named = |before: &str, behind: &str| {
            let mut name = std::ffi::OsString::from(before);
            name.push(target.file_name().unwrap_or_default());
            name.push(behind);
            target.with_file_name(name)
        };
        let journal = named("", ".journal");
        let mut file = lock(&journal).with_context(|| format!("journal {}", journal.display()))?;
        let mut header = Vec::new();
        (&mut file).take(HEADER.len() as u64).read_to_end(&mut header)?;
        // A command may have been killed while it wrote the header.
        ensure!(
            HEADER.as_bytes().starts_with(&header),
            "{} is no journal of firefly: move it, or choose another output",
            journal.display()
        );
        let partial = named(".", ".partial");
        let left = Unfinished { partial, keeps_journal: !header.is_empty(), keeps_partial: false };
        unfinished().insert(journal.clone(), left);
        Ok(Self { output: output.to_owned(), journal, file })
    }

    pub fn output(&self) -> &Path {
        &self.output
    }

    pub fn journal(&self) -> &Path {
        &self.journal
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Has the journal kept if the command does not finish.
    pub fn keep_journal(&self) {
        if let Some(left) = unfinished().get_mut(&self.journal) {
            left.keeps_journal = true;
        }
    }

    /// Has the unfinished output kept with the journal if the command is interrupted.
    pub fn keep_output(&self) {
        if let Some(left) = unfinished().get_mut(&self.journal) {
            left.keeps_partial = true;
        }
    }

    /// Removes the file, since the command is finished.
    pub fn remove(self) -> io::Result<()> {
        unfinished().remove(&self.journal);
        fs::remove_file(&self.journal)
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        if unfinished().remove(&self.journal).is_some_and(|left| !left.keeps_journal) {
            let _ = fs::remove_file(&self.journal);
        }
    }
}

/// Opens and locks a journal. If the command that held the lock before removed the file, it is opened anew: a lock on a
/// removed file does not keep out a command that creates it again.
fn lock(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    loop {
        let file = open_own(path)?;
        match file.try_lock() {
            Ok(()) if has_name(&file, path) => return Ok(file),
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => bail!("another process writes this output"),
            Err(fs::TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// Whether an open file is the one at a path.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        _ => false,
    }
}

/// Whether an open file is the one at a path: elsewhere an open file can't be removed.
#[cfg(not(unix))]
fn has_name(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_others_out_and_leaves_what_is_to_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.csv");
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let lock = OutputLock::of(&output).unwrap();
        assert!(OutputLock::of(&output).err().unwrap().to_string().contains("x.csv.journal"));
        drop(lock);
        assert_eq!(files(), 0);
        let lock = OutputLock::of(&output).unwrap();
        lock.keep_journal();
        drop(lock);
        assert_eq!(files(), 1);
        OutputLock::of(&output).unwrap().remove().unwrap();
        assert_eq!(files(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_on_a_file_that_was_removed_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv.journal");
        let removed = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!has_name(&removed, &path));
        assert!(has_name(&lock(&path).unwrap(), &path));
    }
}
