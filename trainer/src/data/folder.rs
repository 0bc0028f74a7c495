//! Search of a folder for recordings.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::DataError;
use super::format::Format;

/// Paths of the recordings in `folder` and its subfolders, relative to it, in their order.
///
/// Hidden files and folders (a leading dot) are ignored. Links are followed; what several paths lead to is listed once,
/// under the first of them, so that no split has it on both sides. Files of [`Format::SIGNALS`] are recordings; where
/// there is none, those of [`Format::TABLES`] are, which beside recordings are taken for tables about them.
///
/// # Errors
/// If the folder is missing, is not a folder, or it or one below it can't be listed.
pub fn find_recordings(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(DataError::FolderMissing(folder.to_owned()));
        }
        Err(error) => return Err(unlisted(folder, error)),
        Ok(found) if !found.is_dir() => return Err(DataError::NotAFolder(folder.to_owned())),
        Ok(_) => {}
    }
    let mut search = Search { root: folder, visited: HashSet::new(), found: Vec::new() };
    search.descend(Path::new(""))?;
    let Search { mut found, .. } = search;
    if found.iter().any(|(format, _)| Format::SIGNALS.contains(format)) {
        found.retain(|(format, _)| Format::SIGNALS.contains(format));
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
    fn descend(&mut self, relative: &Path) -> Result<(), DataError> {
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
            // A dangling link is neither a file nor a folder.
            let full = self.root.join(&path);
            if full.is_dir() {
                self.descend(&path)?;
            } else if let Some(format) = Format::of(&path).filter(|_| full.is_file()) {
                self.found.push((format, path));
            }
        }
        Ok(())
    }
}

fn unlisted(folder: &Path, source: io::Error) -> DataError {
    DataError::Folder { path: folder.to_owned(), source }
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
}
