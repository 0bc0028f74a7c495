//! Calibrated profiles on disk, as TOML.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::DeviceProfile;
use crate::files::write_atomically;

/// Version of the file's format; it changes when a reader would have to.
pub const PROFILE_FORMAT: u32 = 2;

/// Why a profile can't be used. Whoever reads one reports it and goes on with a preset.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// It can't be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// It is not a profile.
    #[error("{path}: not a device profile: {reason}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is another version's, machine's or device's: to be measured again.
    #[error("{path}: stale: {what} is `{got}`, but `{expected}` here; run `firefly-bench calibrate` again")]
    Stale {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// What the file says.
        got: String,
        /// What it would have to say.
        expected: String,
    },
    /// There is nowhere to keep profiles: no home folder is known.
    #[error("no folder for configuration: set XDG_CONFIG_HOME or HOME, or give a path")]
    NoFolder,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    profile: DeviceProfile,
}

/// Where the profile of the device named `device` is kept: `firefly/devices/NAME.toml` in the user's configuration folder.
///
/// # Errors
/// [`ProfileError::NoFolder`] where that folder is not known.
pub fn default_path(device: &str) -> Result<PathBuf, ProfileError> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("XDG_CONFIG_HOME")
        .or_else(|| variable("APPDATA"))
        .or_else(|| variable("HOME").map(|home| home.join(".config")))
        .ok_or(ProfileError::NoFolder)?;
    Ok(path_in(&folder, device))
}

fn path_in(folder: &Path, device: &str) -> PathBuf {
    folder.join("firefly/devices").join(format!("{}.toml", device.replace(':', "-")))
}

/// Writes a profile, whole or not at all.
///
/// # Errors
/// [`ProfileError::Io`] if it can't be written.
pub fn save(profile: &DeviceProfile, path: &Path) -> Result<(), ProfileError> {
    let failed = |source| ProfileError::Io { path: path.into(), source };
    let text = toml::to_string(&File { format: PROFILE_FORMAT, profile: profile.clone() })
        .map_err(|error| failed(io::Error::other(error)))?;
    write_atomically(path, text.as_bytes()).map_err(failed)
}

/// Reads the profile of the device with this fingerprint; `None` if there is no file.
///
/// # Errors
/// [`ProfileError`] for a file that can't be read, is no profile, or was measured elsewhere.
pub fn load(path: &Path, fingerprint: &str) -> Result<Option<DeviceProfile>, ProfileError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ProfileError::Io { path: path.into(), source }),
    };
    let corrupt = |reason: String| ProfileError::Corrupt { path: path.into(), reason };
    let stale = |what, got: String, expected: String| ProfileError::Stale { path: path.into(), what, got, expected };
    // The version first: what another version wrote need not parse as this one's.
    let table: toml::Table = toml::from_str(&text).map_err(|error| corrupt(error.message().to_string()))?;
    let format = table.get("format").and_then(toml::Value::as_integer);
    let format = format.ok_or_else(|| corrupt("it has no format".into()))?;
    if format != i64::from(PROFILE_FORMAT) {
        return Err(stale("the format", format.to_string(), PROFILE_FORMAT.to_string()));
    }
    let File { profile, .. } = toml::from_str(&text).map_err(|error| corrupt(error.message().to_string()))?;
    if profile.fingerprint != fingerprint {
        return Err(stale("the device", profile.fingerprint, fingerprint.into()));
    }
    if let Some(name) = profile.wrong_constant() {
        return Err(corrupt(format!("`{name}` is out of range")));
    }
    let wrong = profile.rates.iter().find_map(|(name, rate)| Some((name, rate.check().err()?)));
    match wrong {
        Some((name, error)) => Err(corrupt(format!("the rate of `{name}`: {error}"))),
        None => Ok(Some(profile)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{Axis, Growth, Preset, Rate};

    fn profile() -> DeviceProfile {
        let axes = vec![Axis { name: "batch".into(), growth: Growth::Affine, values: vec![1.0, 64.0] }];
        let rate = Rate { error: 1.25, ..Rate::new(axes, vec![10.5, 200.0]).unwrap() };
        DeviceProfile { fingerprint: "here".into(), rates: [("fused".into(), rate)].into(), ..Preset::Cuda.profile() }
    }

    #[test]
    fn a_profile_is_read_as_it_was_written() {
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
        assert!(message(&text.replace("format = 2", "format = 1"), "here").contains("stale: the format is `1`"));
        assert!(message(&text.replace("dispatch = 2000.0", "dispatch = -1.0"), "here").contains("`dispatch` is out"));
        assert!(
            message(&text.replace("10.5, 200.0", "10.5"), "here").contains("rate of `fused`: 1 times for 2 points")
        );
        assert!(message(&text[..text.len() / 2], "here").contains("not a device profile"));
        assert!(message("", "here").contains("it has no format"));
        assert!(message(&format!("{text}\nspeed = 1\n"), "here").contains("speed"));
    }

    #[test]
    fn each_device_has_a_file() {
        let path = path_in(Path::new("/home/me/.config"), "cuda:1");
        assert_eq!(path, Path::new("/home/me/.config/firefly/devices/cuda-1.toml"));
    }
}
