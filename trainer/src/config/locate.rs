//! Paths of a configuration's data.

use std::path::{self, Path, PathBuf};

use super::ConfigError;
use crate::data::{DataConfig, RecordingsConfig};

/// Paths of data made absolute, so that a run can be resumed and evaluated from another working folder. Without a
/// `root`, they are looked for in the working folder; if one is missing there, all are left, and it is returned.
///
/// # Errors
/// If a path is not text, or the root can't be made absolute.
pub(crate) fn locate<'a>(
    paths: impl IntoIterator<Item = &'a mut PathBuf>,
    root: Option<&Path>,
) -> Result<Option<PathBuf>, ConfigError> {
    let paths: Vec<&mut PathBuf> = paths.into_iter().collect();
    let is_missing = |path: &&&mut PathBuf| root.is_none() && path.is_relative() && !path.exists();
    if let Some(missing) = paths.iter().find(is_missing) {
        return Ok(Some((**missing).clone()));
    }
    let root = root.unwrap_or(Path::new("."));
    let root = path::absolute(root).map_err(|source| ConfigError::Recordings { path: root.into(), source })?;
    for path in paths {
        *path = root.join(&*path);
        if path.to_str().is_none() {
            return Err(ConfigError::NotText(path.clone()));
        }
    }
    Ok(None)
}

/// Makes the folders of recordings absolute, as [`locate`]; without a root, those of which one is missing are left out.
///
/// # Errors
/// As [`locate`].
pub(crate) fn locate_recordings(
    recordings: &mut Option<RecordingsConfig>,
    root: Option<&Path>,
) -> Result<Option<PathBuf>, ConfigError> {
    let Some(RecordingsConfig { train, test, .. }) = recordings else { return Ok(None) };
    let missing = locate([train].into_iter().chain(test), root)?;
    if missing.is_some() {
        *recordings = None;
    }
    Ok(missing)
}

/// As [`locate_recordings`] for every folder of frames; without a root, sources of which a folder is missing are left
/// out.
///
/// # Errors
/// As [`locate`].
pub(crate) fn locate_frames(data: &mut DataConfig, root: Option<&Path>) -> Result<Option<PathBuf>, ConfigError> {
    let mut missing = locate_recordings(&mut data.recordings, root)?;
    for mut source in std::mem::take(&mut data.sources) {
        let of_source = locate_recordings(&mut source.recordings, root)?;
        if of_source.is_none() {
            data.sources.push(source);
        }
        missing = missing.or(of_source);
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn data_whose_path_is_no_text_are_refused() {
        use std::os::unix::ffi::OsStrExt;
        let root = Path::new(std::ffi::OsStr::from_bytes(b"/d\xff"));
        assert!(matches!(locate([&mut PathBuf::from("x")], Some(root)), Err(ConfigError::NotText(_))));
    }

    #[test]
    fn paths_are_located_in_their_root_or_reported_as_relative() {
        let mut path = PathBuf::from("bearing/train");
        assert_eq!(locate([&mut path], None).unwrap().as_ref(), Some(&path));
        assert_eq!(locate([&mut path], Some(Path::new("/data"))).unwrap(), None);
        assert_eq!(path, Path::new("/data/bearing/train"));
        assert_eq!(locate([&mut path], None).unwrap(), None);
    }
}
