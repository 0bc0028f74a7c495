//! Store of calibrated profiles: one TOML file per device.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{DeviceProfile, Preset};
use crate::device::{DeviceId, fingerprint};
use crate::files::write_atomically;

/// Version of the file format, incremented with every incompatible change.
pub const PROFILE_FORMAT: u32 = 4;

/// Error of reading or writing a profile.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants and name the fields")]
pub enum ProfileError {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: not a device profile: {reason}")]
    Corrupt { path: PathBuf, reason: String },
    /// The profile is of another format version, machine or device; the device has to be calibrated again.
    #[error("{path}: stale: {what} is `{got}`, but `{expected}` here; run `firefly-bench calibrate` again")]
    Stale { path: PathBuf, what: &'static str, got: String, expected: String },
    #[error("no folder for configuration: set XDG_CONFIG_HOME or HOME to an absolute path, or give a path")]
    NoFolder,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    format: u32,
    profile: DeviceProfile,
}

/// Path of the profile of a device: `firefly/devices/NAME.toml` in the user's configuration folder.
///
/// # Errors
/// [`ProfileError::NoFolder`] where that folder is not known.
pub fn default_path(device: DeviceId) -> Result<PathBuf, ProfileError> {
    // The specification of XDG_CONFIG_HOME has relative paths ignored.
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = variable("XDG_CONFIG_HOME")
        .or_else(|| variable("APPDATA"))
        .or_else(|| variable("HOME").map(|home| home.join(".config")))
        .ok_or(ProfileError::NoFolder)?;
    Ok(path_in(&folder, &device.to_string()))
}

fn path_in(folder: &Path, device: &str) -> PathBuf {
    folder.join("firefly/devices").join(format!("{}.toml", device.replace([':', '/', '[', ']'], "-")))
}

/// Writes a profile atomically.
///
/// # Errors
/// [`ProfileError::Io`] if it can't be written.
pub fn save(profile: &DeviceProfile, path: &Path) -> Result<(), ProfileError> {
    let failed = |source| ProfileError::Io { path: path.into(), source };
    let text = toml::to_string(&ProfileFile { format: PROFILE_FORMAT, profile: profile.clone() })
        .map_err(|error| failed(io::Error::other(error)))?;
    write_atomically(path, text.as_bytes()).map_err(failed)
}

/// Reads the profile of the device with this fingerprint; `None` if there is no file.
///
/// # Errors
/// [`ProfileError`] for a file that can't be read, is not a valid profile, or is of another machine or device.
pub fn load(path: &Path, fingerprint: &str) -> Result<Option<DeviceProfile>, ProfileError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ProfileError::Io { path: path.into(), source }),
    };
    parse(&text, path, fingerprint).map(Some)
}

/// The profile in `text`, the content of the file at `path`.
fn parse(text: &str, path: &Path, fingerprint: &str) -> Result<DeviceProfile, ProfileError> {
    let corrupt = |reason: String| ProfileError::Corrupt { path: path.into(), reason };
    let stale = |what, got: String, expected: String| ProfileError::Stale { path: path.into(), what, got, expected };
    // The version first: a file of another version need not parse as this one's.
    let table: toml::Table = toml::from_str(text).map_err(|error| corrupt(error.message().to_string()))?;
    let format = table.get("format").and_then(toml::Value::as_integer);
    let format = format.ok_or_else(|| corrupt("it has no format".into()))?;
    if format != i64::from(PROFILE_FORMAT) {
        return Err(stale("the format", format.to_string(), PROFILE_FORMAT.to_string()));
    }
    let ProfileFile { profile, .. } = toml::from_str(text).map_err(|error| corrupt(error.message().to_string()))?;
    if profile.fingerprint != fingerprint {
        return Err(stale("the device", profile.fingerprint, fingerprint.into()));
    }
    if let Some(name) = profile.invalid_constant() {
        return Err(corrupt(format!("`{name}` is out of range")));
    }
    profile.crossovers.validate().map_err(|error| corrupt(format!("the crossovers: {error}")))?;
    for (name, table) in &profile.operations {
        table.validate().map_err(|error| corrupt(format!("the latencies of `{name}`: {error}")))?;
    }
    Ok(profile)
}

/// The user's calibrated profile of a device, or the preset of its kind if there is no usable one, and then the error of
/// a calibrated one that was ignored.
pub fn load_or_preset(device: DeviceId) -> (DeviceProfile, Option<ProfileError>) {
    let preset = || Preset::of(device.kind()).profile();
    match default_path(device).and_then(|path| load(&path, &fingerprint(device))) {
        Ok(profile) => (profile.unwrap_or_else(preset), None),
        Err(error) => (preset(), Some(error)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::picker::{Crossover, Crossovers, Strategy};
    use crate::profile::LatencyTable;

    fn profile() -> DeviceProfile {
        let table = LatencyTable::new("traffic", vec![1.0, 64.0], vec![10.5, 200.0]).unwrap();
        let crossover = Crossover {
            n_fft: 256,
            segments: 2,
            k: 16,
            few: Strategy::Host,
            frames: 100.5,
            saved: 2e4,
            fused: 12.0,
            learned: 13.0,
        };
        DeviceProfile {
            fingerprint: "here".into(),
            crossovers: Crossovers::new(vec![crossover]).unwrap(),
            operations: [("add".into(), table)].into(),
            ..Preset::Cuda.profile()
        }
    }

    #[test]
    fn a_written_profile_reads_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices/cuda.toml");
        assert!(load(&path, "here").unwrap().is_none());
        save(&profile(), &path).unwrap();
        assert_eq!(load(&path, "here").unwrap(), Some(profile()));
    }

    #[test]
    fn stale_and_corrupt_profiles_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cuda.toml");
        save(&profile(), &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let message = |text: &str, fingerprint: &str| {
            std::fs::write(&path, text).unwrap();
            load(&path, fingerprint).unwrap_err().to_string()
        };
        assert!(message(&text, "there").contains("stale: the device is `here`, but `there` here"));
        assert!(message(&text.replace("format = 4", "format = 1"), "here").contains("stale: the format is `1`"));
        assert!(message(&text.replace("dispatch = 2000.0", "dispatch = -1.0"), "here").contains("`dispatch` is out"));
        assert!(
            message(&text.replace("10.5, 200.0", "10.5"), "here").contains("latencies of `add`: 1 times for 2 sizes")
        );
        assert!(message(&text.replace("frames = 100.5", "frames = 0.5"), "here").contains("the crossovers: sizes and"));
        assert!(message(&text[..text.len() / 2], "here").contains("not a device profile"));
        assert!(message("", "here").contains("it has no format"));
        assert!(message(&format!("{text}\nspeed = 1\n"), "here").contains("speed"));
    }

    proptest! {
        /// A profile with some characters replaced parses or is an error; one that parses predicts.
        #[test]
        fn edited_profiles_parse_or_are_errors(edits in vec((any::<prop::sample::Index>(), any::<char>()), 0..8)) {
            let file = ProfileFile { format: PROFILE_FORMAT, profile: profile() };
            let mut text: Vec<char> = toml::to_string(&file).unwrap().chars().collect();
            for (index, character) in edits {
                let index = index.index(text.len());
                text[index] = character;
            }
            let text: String = text.into_iter().collect();
            if let Ok(profile) = parse(&text, Path::new("cuda.toml"), "here") {
                prop_assert!(profile.operations.values().all(|table| table.predict(3.0).is_finite()));
                prop_assert!(profile.crossovers.is_empty() || profile.crossovers.at(100, 3, 4).is_some());
            }
        }

        /// Any text is an error, not a panic.
        #[test]
        fn arbitrary_text_is_an_error(text in vec(any::<char>(), 0..200)) {
            let text: String = text.into_iter().collect();
            prop_assert!(parse(&text, Path::new("cuda.toml"), "here").is_err());
        }
    }

    #[test]
    fn each_device_has_its_own_file() {
        let path = path_in(Path::new("/home/me/.config"), "cuda:1");
        assert_eq!(path, Path::new("/home/me/.config/firefly/devices/cuda-1.toml"));
    }
}
