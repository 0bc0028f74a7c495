//! Folders of runs that are given none.

use std::fs;
use std::path::Path;

use super::RunFolder;
use crate::config::Resolved;
use crate::task::Task;

/// Folder of the runs' folders.
pub const RUNS: &str = "runs";

/// The folder of a new run: runs/NAME, or runs/NAME-2 and so on if that exists. A resumed run is the last one of the
/// same configuration that is not complete, or else the last one of the same configuration, or else the last one.
pub(crate) fn default_folder<T: Task>(resolved: &Resolved<T>, resume: bool) -> RunFolder {
    let name = &resolved.config.name;
    let numbered = |number: usize| match number {
        1 => RunFolder::new(Path::new(RUNS).join(name)),
        number => RunFolder::new(Path::new(RUNS).join(format!("{name}-{number}"))),
    };
    if !resume {
        return (1..).map(numbered).find(|folder| !folder.path().exists()).unwrap_or_else(|| numbered(1));
    }
    let number = |folder: &str| match folder.strip_prefix(name.as_str())? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse::<usize>().ok(),
    };
    let entries: Vec<fs::DirEntry> = fs::read_dir(RUNS).map(|entries| entries.flatten().collect()).unwrap_or_default();
    let mut numbers: Vec<usize> = entries.iter().filter_map(|entry| number(entry.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    let folders: Vec<RunFolder> = numbers.into_iter().map(numbered).collect();
    let is_same = |folder: &&RunFolder| folder.resolved::<T>().is_ok_and(|started| started.is_same_run(resolved));
    let same: Vec<&RunFolder> = folders.iter().filter(is_same).collect();
    let chosen = same.iter().rfind(|folder| !folder.is_complete()).or(same.last()).copied().or(folders.last());
    chosen.cloned().unwrap_or_else(|| numbered(1))
}
