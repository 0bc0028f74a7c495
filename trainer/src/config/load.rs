//! Loading of a checked configuration from TOML text and `--set section.key=value`, and the paths of its data.

use std::fs::File;
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};

use firefly_app::device_list::DeviceListError;
use firefly_app::suggest;
use thiserror::Error;
use toml::{Table, Value};

use super::{RunConfig, Sections, TaskName};
use crate::data::{DataConfig, RecordingsConfig};

/// Largest number of bytes of a configuration's file.
const MAX_LENGTH: u64 = 1 << 20;
/// Messages of the parser that name its own types, and what they mean.
const EXPLANATIONS: [(&str, &str); 7] = [
    ("invalid type: unit variant, expected string only", "one name is expected, in quotes and not in a list"),
    ("invalid type: unit variant, expected struct variant", PARAMETERS),
    ("expected struct variant Scaling::Density", PARAMETERS),
    ("u64 value was too large", TOO_LARGE),
    ("integer number overflowed", TOO_LARGE),
    ("recursion limit", "its keys are nested too deeply"),
    ("cannot recurse further; max recursion depth met", "values are nested too deeply"),
];
const PARAMETERS: &str =
    "it needs parameters, as in { kaiser = { beta = 8.0 } } or { density = { sample_rate = 12000.0 } }";
const TOO_LARGE: &str = "whole numbers are at most 9,223,372,036,854,775,807";

/// Error in a configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum ConfigError {
    #[error("reading {}", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error("{}: longer than {MAX_LENGTH} bytes: not a configuration", .0.display())]
    TooLong(PathBuf),
    #[error("{}: line {} is not UTF-8: save the file as UTF-8 text", .0.display(), .1)]
    Encoding(PathBuf, usize),
    #[error("the folder of recordings {}: its path is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("the folder of recordings {}", .0.display())]
    Recordings(PathBuf, #[source] io::Error),
    #[error(
        "{} is not in this folder: --data DIR or FIREFLY_DATA names the folder of data, --data synthetic trains on \
         generated data",
        .0.display()
    )]
    MissingData(PathBuf),
    /// Bad TOML, an unknown key, or a value of the wrong type, in the file or the option `origin`.
    #[error("{origin}: {message}")]
    Text { origin: String, message: String },
    #[error("--set {0}: expected section.key=value, such as --set training.steps=100")]
    Set(String),
    #[error("--set {setting}: `{key}` is no section")]
    NoSection { setting: String, key: String },
    #[error("--set {0}: {TOO_LARGE}")]
    TooLarge(String),
    #[error("devices: {0}")]
    Devices(#[from] DeviceListError),
    #[error("{key} is {got}, but must be {expected}")]
    Value { key: String, got: String, expected: String },
}

/// The task of a configuration with `section.key=value` settings. One in the text that is not a task's is reported by
/// [`load`], which knows its line. An error for a file that can't be read, or a setting of the task that is not a
/// task's.
pub fn task_of(path: &Path, settings: &[String]) -> Result<TaskName, ConfigError> {
    task_of_text(&read(path)?, settings)
}

/// As [`task_of`], of a configuration's text.
pub fn task_of_text(text: &str, settings: &[String]) -> Result<TaskName, ConfigError> {
    let mut table: Table = toml::from_str(text).unwrap_or_default();
    for setting in settings {
        let _ = apply(&mut table, setting);
    }
    let Some(name) = table.remove("task") else { return Ok(TaskName::default()) };
    let of_task = |setting: &&String| setting.split_once('=').is_some_and(|(key, _)| key.trim() == "task");
    match (name.try_into(), settings.iter().rfind(of_task)) {
        (Err(error), Some(setting)) => Err(described(&format!("--set {setting}"), &error)),
        (name, _) => Ok(name.unwrap_or_default()),
    }
}

/// Reads a configuration, applies `section.key=value` settings to it in order, checks it, and locates its data in the
/// folder `root`, or in the working folder; by the root `synthetic`, generated data replace all files. An error for a
/// file that can't be read, a key that does not exist (with the nearest one that does), a value of the wrong type or
/// out of range, and data that are not in the working folder.
pub fn load<T: Sections>(path: &Path, settings: &[String], root: Option<&Path>) -> Result<RunConfig<T>, ConfigError> {
    load_text(&read(path)?, path, settings, root)
}

/// As [`load`], of a configuration's text; errors name `path`, which need not exist.
pub fn load_text<T: Sections>(
    text: &str,
    path: &Path,
    settings: &[String],
    root: Option<&Path>,
) -> Result<RunConfig<T>, ConfigError> {
    let mut config: RunConfig<T> = parse(text, settings, &path.display().to_string())?;
    if config.name.is_empty() {
        config.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    config.validate()?;
    T::complete(&mut config)?;
    T::locate_data(&mut config, DataRoot::of(root))?;
    Ok(config)
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_LENGTH + 1).read_to_end(&mut bytes));
    read.map_err(|source| ConfigError::File(path.into(), source))?;
    if bytes.len() as u64 > MAX_LENGTH {
        return Err(ConfigError::TooLong(path.into()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        ConfigError::Encoding(path.into(), 1 + valid.iter().filter(|byte| **byte == b'\n').count())
    })
}

/// Parses a configuration without checking its values.
pub(super) fn parse<T: Sections>(text: &str, settings: &[String], origin: &str) -> Result<RunConfig<T>, ConfigError> {
    // The text by itself first: only its errors name their line. A list that is too long is an error of tables alone.
    toml::from_str::<RunConfig<T>>(text).map_err(|error| described(origin, &error))?;
    let mut table: Table = toml::from_str(text).map_err(|error| described(origin, &error))?;
    for setting in settings {
        apply(&mut table, setting)?;
    }
    table.try_into().map_err(|error| described(&cause::<T>(text, settings, &error, origin), &error))
}

/// Cause of an error: the last setting without which there would be none, or the file.
fn cause<T: Sections>(text: &str, settings: &[String], error: &toml::de::Error, origin: &str) -> String {
    let remains_without = |left_out: usize| {
        let mut table: Table = toml::from_str(text).unwrap_or_default();
        let others = settings.iter().enumerate().filter(|(index, _)| *index != left_out);
        let applied = others.map(|(_, setting)| apply(&mut table, setting)).collect::<Result<Vec<_>, _>>().is_ok();
        let without: Result<RunConfig<T>, _> = table.try_into();
        applied && without.is_err_and(|other| other.message() == error.message())
    };
    let setting = (0..settings.len()).rev().find(|index| !remains_without(*index));
    setting.map_or_else(|| origin.to_string(), |index| format!("--set {}", settings[index]))
}

fn apply(table: &mut Table, setting: &str) -> Result<(), ConfigError> {
    let malformed = || ConfigError::Set(setting.to_string());
    let (keys, value) = setting.split_once('=').ok_or_else(malformed)?;
    let mut keys = keys.trim().split('.').collect::<Vec<_>>();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(malformed)?;
    let mut section = table;
    for (depth, key) in keys.iter().enumerate() {
        let entry = section.entry(*key).or_insert_with(|| Value::Table(Table::new()));
        let no_section = || ConfigError::NoSection { setting: setting.to_string(), key: keys[..=depth].join(".") };
        section = entry.as_table_mut().ok_or_else(no_section)?;
    }
    let text = value.trim();
    let value = value_of(text);
    if value.is_str() && text.parse::<i128>().is_ok_and(|number| i64::try_from(number).is_err()) {
        return Err(ConfigError::TooLarge(setting.to_string()));
    }
    // One of both is given: the last.
    match (keys.as_slice(), last) {
        (["training"], "steps") => section.remove("epochs"),
        (["training"], "epochs") => section.remove("steps"),
        _ => None,
    };
    section.insert(last.to_string(), value);
    Ok(())
}

/// A value parsed as TOML; text without quotes is a string.
fn value_of(text: &str) -> Value {
    let parsed: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_string()))
}

/// The parser's message, with the nearest known key if it is about an unknown one.
fn described(origin: &str, error: &toml::de::Error) -> ConfigError {
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        quoted.next().map(|name| suggest::hint(name, quoted)).unwrap_or_default()
    } else {
        String::new()
    };
    let mut text = error.to_string();
    for (message, explanation) in EXPLANATIONS {
        text = text.replace(message, explanation);
    }
    let text = text.trim_end().lines().map(shortened).collect::<Vec<_>>().join("\n");
    ConfigError::Text { origin: origin.to_string(), message: format!("{text}{hint}") }
}

/// The first 200 characters of a line of a message, which more of would fill the terminal.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}

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
mod tests;
