//! Search of a folder for recordings, and short names of its files.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::RecordingError;
use crate::formats::Format;

/// Paths of the recordings in `folder` and its subfolders, relative to it, in their order.
///
/// Hidden files and folders (a leading dot) are ignored. Links are followed, and those to missing files are omitted with a
/// warning; a file that several paths lead to is listed once, under the first of them, so that no split has it on both
/// sides. Files of [signals](Format::is_signal) are recordings; where there is none, tables and arrays are, which beside
/// recordings are taken for tables about them, with a warning.
///
/// # Errors
/// If the folder is missing, is not a folder, or it or one below it can't be listed.
pub fn find_recordings(folder: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(RecordingError::FolderMissing(folder.to_owned()));
        }
        Err(error) => return Err(unlisted(folder, error)),
        Ok(found) if !found.is_dir() => return Err(RecordingError::NotAFolder(folder.to_owned())),
        Ok(_) => {}
    }
    let mut search = Search { root: folder, visited: HashSet::new(), found: Vec::new() };
    search.descend(Path::new(""))?;
    let Search { mut found, .. } = search;
    let signals = found.iter().filter(|(format, _)| format.is_signal()).count();
    if signals > 0 && signals < found.len() {
        let tables = found.len() - signals;
        tracing::warn!("{}: {tables} tables and arrays are left out beside {signals} recordings", folder.display());
        found.retain(|(format, _)| format.is_signal());
    }
    let mut found: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
    found.sort();
    let mut seen = HashSet::new();
    found.retain(|file| fs::canonicalize(folder.join(file)).map_or(true, |real| seen.insert(real)));
    Ok(found)
}

struct Search<'a> {
    root: &'a Path,
    /// Real paths of the folders listed.
    visited: HashSet<PathBuf>,
    found: Vec<(Format, PathBuf)>,
}

impl Search<'_> {
    /// Lists a folder and those below it in the order of their names, each folder once: the first path to it counts.
    fn descend(&mut self, relative: &Path) -> Result<(), RecordingError> {
        let folder = self.root.join(relative);
        let failed = |error| unlisted(&folder, error);
        if !self.visited.insert(fs::canonicalize(&folder).map_err(failed)?) {
            return Ok(());
        }
        let names = fs::read_dir(&folder).map_err(failed)?.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names = names.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        names.sort();
        for name in names.iter().filter(|name| !name.to_string_lossy().starts_with('.')) {
            let path = relative.join(name);
            let full = self.root.join(&path);
            if full.is_dir() {
                self.descend(&path)?;
            } else if let Some(format) = Format::of(&path) {
                if full.is_file() {
                    self.found.push((format, path));
                } else if full.is_symlink() {
                    // Such as data of git-annex or DVC that were not fetched.
                    tracing::warn!("{}: left out: it is a link to a file that is missing", full.display());
                }
            }
        }
        Ok(())
    }
}

fn unlisted(folder: &Path, source: io::Error) -> RecordingError {
    RecordingError::Folder { path: folder.to_owned(), source }
}

/// Name of a file without folder and extension.
pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Shortest distinct names of files: their stems, or else as many of the last parts of their paths as make them differ.
/// One file that is named twice has one name.
pub fn distinct_names(paths: &[&Path]) -> Vec<String> {
    // Name number 0 of a file is its stem, number n the last n parts of its path.
    let name = |path: &Path, parts: usize| {
        if parts == 0 {
            return stem(path);
        }
        let all: Vec<_> = path.components().collect();
        let last: PathBuf = all[all.len().saturating_sub(parts)..].iter().collect();
        last.to_string_lossy().into_owned()
    };
    let longest = paths.iter().map(|path| path.components().count()).max().unwrap_or(0);
    let shortest = |path: &&Path| {
        let is_unique = |parts: &usize| {
            let own = name(path, *parts);
            paths.iter().all(|other| other == path || name(other, *parts) != own)
        };
        name(path, (0..longest).find(is_unique).unwrap_or(longest))
    };
    paths.iter().map(shortest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(folder: &Path, names: &[&str]) {
        for name in names {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    #[test]
    fn tables_count_only_where_there_are_no_signals() {
        let folder = tempfile::tempdir().unwrap();
        touch(folder.path(), &["b.csv", "a/labels.parquet", "notes.txt", ".hidden.csv"]);
        assert_eq!(find_recordings(folder.path()).unwrap(), ["a/labels.parquet", "b.csv"].map(PathBuf::from));
        touch(folder.path(), &["c/x.FLAC", "c/y.edf"]);
        assert_eq!(find_recordings(folder.path()).unwrap(), ["c/x.FLAC", "c/y.edf"].map(PathBuf::from));
    }

    #[cfg(unix)]
    #[test]
    fn a_farm_of_links_is_walked_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        // 40 folders, each with two links to the next: 2^39 paths to the last.
        for index in 0..40 {
            fs::create_dir(root.join(format!("{index:02}"))).unwrap();
            for link in ["l", "m"].iter().filter(|_| index > 0) {
                let path = root.join(format!("{:02}", index - 1)).join(link);
                std::os::unix::fs::symlink(root.join(format!("{index:02}")), path).unwrap();
            }
        }
        touch(root, &["39/x.wav"]);
        let first = format!("00/{}x.wav", "l/".repeat(39));
        // The root's own entry comes later than the way through the links of the first folder.
        assert_eq!(find_recordings(root).unwrap(), [PathBuf::from(first)]);
    }

    #[cfg(unix)]
    #[test]
    fn links_to_nothing_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        touch(folder.path(), &["x.wav"]);
        std::os::unix::fs::symlink("absent", folder.path().join("y.wav")).unwrap();
        assert_eq!(find_recordings(folder.path()).unwrap(), [PathBuf::from("x.wav")]);
    }

    #[test]
    fn names_are_the_shortest_that_differ() {
        let names = |paths: &[&str]| distinct_names(&paths.iter().map(Path::new).collect::<Vec<_>>());
        assert_eq!(names(&["a/x_16.npy", "a/x_32.npy"]), ["x_16", "x_32"]);
        assert_eq!(names(&["a/x.npy", "b/x.npy", "b/y.npz"]), ["a/x.npy", "b/x.npy", "y"]);
        assert_eq!(names(&["a/x.npy", "a/x.npz"]), ["x.npy", "x.npz"]);
        assert_eq!(names(&["r/a/x.npy", "s/a/x.npy"]), ["r/a/x.npy", "s/a/x.npy"]);
        assert_eq!(names(&["a/x.npy", "a/x.npy"]), ["x", "x"]);
    }
}
