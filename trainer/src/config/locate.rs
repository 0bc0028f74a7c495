//! Paths of a configuration's data.

use std::path::{self, Path, PathBuf};

use super::ConfigError;
use crate::data::{DataConfig, RecordingsConfig};

/// Name that stands for generated data where a folder of data is given.
pub const GENERATED: &str = "synthetic";

/// Place that relative paths of data start in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataRoot<'a> {
    /// The working folder, which must have them.
    WorkingFolder,
    /// A folder of data.
    Folder(&'a Path),
    /// None: generated data replace all files.
    Generated,
}

impl<'a> DataRoot<'a> {
    /// The place that a folder of data names: generated data by `synthetic`, the working folder if none is given.
    pub fn of(folder: Option<&'a Path>) -> Self {
        match folder {
            None => Self::WorkingFolder,
            Some(folder) if folder == Path::new(GENERATED) => Self::Generated,
            Some(folder) => Self::Folder(folder),
        }
    }
}

/// Paths of data made absolute, so that a run can be resumed and evaluated from another working folder. False, and the
/// paths as they are, if generated data replace them. An error if a path in the working folder does not exist, or is
/// not text, or the root can't be made absolute.
pub(crate) fn locate<'a>(
    paths: impl IntoIterator<Item = &'a mut PathBuf>,
    root: DataRoot<'_>,
) -> Result<bool, ConfigError> {
    let folder = match root {
        DataRoot::Generated => return Ok(false),
        DataRoot::Folder(folder) => folder,
        DataRoot::WorkingFolder => Path::new("."),
    };
    let folder = path::absolute(folder).map_err(|source| ConfigError::Recordings(folder.into(), source))?;
    for path in paths {
        if root == DataRoot::WorkingFolder && path.is_relative() && !path.exists() {
            return Err(ConfigError::MissingData(path.clone()));
        }
        *path = folder.join(&*path);
        if path.to_str().is_none() {
            return Err(ConfigError::NotText(path.clone()));
        }
    }
    Ok(true)
}

/// Makes a path absolute that generated data do not replace, as [`locate`]; without a folder of data it is one of the
/// working folder, where it need not exist.
pub(crate) fn locate_own(path: &mut Option<PathBuf>, root: DataRoot<'_>) -> Result<(), ConfigError> {
    let folder = match root {
        DataRoot::Folder(folder) => folder,
        DataRoot::WorkingFolder | DataRoot::Generated => Path::new("."),
    };
    locate(path, DataRoot::Folder(folder)).map(drop)
}

/// Makes the folders of recordings absolute, as [`locate`], or leaves them out where generated data replace them.
pub(crate) fn locate_recordings(
    recordings: &mut Option<RecordingsConfig>,
    root: DataRoot<'_>,
) -> Result<(), ConfigError> {
    let paths = recordings.iter_mut().flat_map(|found| [&mut found.train].into_iter().chain(&mut found.test));
    if !locate(paths, root)? {
        *recordings = None;
    }
    Ok(())
}

/// As [`locate_recordings`] for every folder of frames; generated data replace sources of recordings.
pub(crate) fn locate_frames(data: &mut DataConfig, root: DataRoot<'_>) -> Result<(), ConfigError> {
    if root == DataRoot::Generated {
        data.sources.retain(|source| source.recordings.is_none());
    }
    locate_recordings(&mut data.recordings, root)?;
    data.sources.iter_mut().try_for_each(|source| locate_recordings(&mut source.recordings, root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn data_whose_path_is_no_text_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        let root = DataRoot::Folder(Path::new(std::ffi::OsStr::from_bytes(b"/d\xff")));
        assert!(matches!(locate([&mut PathBuf::from("x")], root), Err(ConfigError::NotText(_))));
    }

    #[test]
    fn paths_are_located_in_their_root_or_refused() {
        let mut path = PathBuf::from("bearing/train");
        let missing = locate([&mut path], DataRoot::of(None)).unwrap_err().to_string();
        assert!(missing.starts_with("bearing/train is not in this folder"), "{missing}");
        assert!(!locate([&mut path], DataRoot::of(Some(Path::new("synthetic")))).unwrap());
        assert_eq!(path, Path::new("bearing/train"));
        assert!(locate([&mut path], DataRoot::of(Some(Path::new("/data")))).unwrap());
        assert_eq!(path, Path::new("/data/bearing/train"));
        assert!(locate([&mut path], DataRoot::of(None)).unwrap());
        let mut own = Some(PathBuf::from("cache"));
        locate_own(&mut own, DataRoot::Generated).unwrap();
        assert!(own.is_some_and(|own| own.is_absolute() && own.ends_with("cache")));
    }

    #[test]
    fn generated_data_replace_the_recordings_of_a_mixture() {
        let mut data: DataConfig = toml::from_str(
            "[[sources]]\nrecordings = { train = \"a\" }\n[[sources]]\nsynthetic = { families = [\"tones\"] }\n",
        )
        .unwrap();
        assert!(matches!(locate_frames(&mut data, DataRoot::WorkingFolder), Err(ConfigError::MissingData(_))));
        locate_frames(&mut data, DataRoot::Generated).unwrap();
        assert!(data.sources.len() == 1 && data.sources[0].recordings.is_none());
    }
}
