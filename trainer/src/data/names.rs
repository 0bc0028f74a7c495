//! Names of files, for tables and outputs.

use std::path::{Path, PathBuf};

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
