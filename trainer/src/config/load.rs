//! From TOML text and `--set section.key=value` to a checked configuration.

use std::fs;
use std::path::{Path, PathBuf};

use firefly_app::suggest;
use thiserror::Error;
use toml::{Table, Value};

use super::RunConfig;

/// Why a configuration can't be used.
#[derive(Debug, Error)]
pub enum ConfigFileError {
    /// The file can't be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// The text is not a configuration: bad TOML, an unknown key, or a value of the wrong type.
    #[error("{origin}: {message}")]
    Text {
        /// The file, or the option that changed it.
        origin: String,
        /// What is wrong, and where.
        message: String,
    },
    /// A `--set` that is not `section.key=value`.
    #[error("--set {0}: expected section.key=value, such as --set training.steps=100")]
    Set(String),
    /// A value that is out of range.
    #[error("{key} is {got}, but must be {expected}")]
    Value {
        /// The key.
        key: String,
        /// What was given.
        got: String,
        /// What is accepted.
        expected: String,
    },
}

/// Reads a configuration and applies `section.key=value` settings to it, in order.
///
/// # Errors
/// [`ConfigFileError`] for a file that can't be read, a key that does not exist (with the nearest one that does), a value
/// of the wrong type or out of range.
pub fn load(path: &Path, settings: &[String]) -> Result<RunConfig, ConfigFileError> {
    let text = fs::read_to_string(path).map_err(|error| ConfigFileError::File { path: path.into(), error })?;
    let mut config = parse(&text, settings, &path.display().to_string())?;
    if config.name.is_empty() {
        config.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    config.validate()?;
    Ok(config)
}

/// Parses a configuration without checking its values.
pub(super) fn parse(text: &str, settings: &[String], origin: &str) -> Result<RunConfig, ConfigFileError> {
    // The text itself first: its errors know their line.
    let config: RunConfig = toml::from_str(text).map_err(|error| described(origin, &error))?;
    if settings.is_empty() {
        return Ok(config);
    }
    let mut table: Table = toml::from_str(text).map_err(|error| described(origin, &error))?;
    for setting in settings {
        apply(&mut table, setting)?;
        let checked: Result<RunConfig, _> = table.clone().try_into();
        checked.map_err(|error| described(&format!("--set {setting}"), &error))?;
    }
    table.try_into().map_err(|error| described(origin, &error))
}

fn apply(table: &mut Table, setting: &str) -> Result<(), ConfigFileError> {
    let malformed = || ConfigFileError::Set(setting.to_string());
    let (keys, value) = setting.split_once('=').ok_or_else(malformed)?;
    let mut keys = keys.trim().split('.').collect::<Vec<_>>();
    let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(malformed)?;
    let mut section = table;
    for key in keys {
        let entry = section.entry(key).or_insert_with(|| Value::Table(Table::new()));
        section = entry.as_table_mut().ok_or_else(malformed)?;
    }
    section.insert(last.to_string(), value_of(value.trim()));
    Ok(())
}

/// A value as TOML reads it; text without quotes is a string.
fn value_of(text: &str) -> Value {
    let parsed: Result<Table, _> = toml::from_str(&format!("value = {text}"));
    parsed.ok().and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_string()))
}

/// The parser's message, with the nearest known key where it complains of an unknown one.
fn described(origin: &str, error: &toml::de::Error) -> ConfigFileError {
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2);
    let hint = if message.starts_with("unknown field") || message.starts_with("unknown variant") {
        quoted.next().map(|name| suggest::hint(name, quoted)).unwrap_or_default()
    } else {
        String::new()
    };
    let text = error.to_string();
    let text = text.trim_end();
    ConfigFileError::Text { origin: origin.to_string(), message: format!("{text}{hint}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, settings: &[&str]) -> String {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        parse(text, &settings, "run.toml").unwrap_err().to_string()
    }

    #[test]
    fn settings_override_the_file_in_order() {
        let settings = ["training.steps=7", "loss.price=0.5", "name=other", "model.open_segments=[1, 6]"];
        let config =
            parse("name = \"mine\"\n[training]\nsteps = 3\n", &settings.map(String::from), "run.toml").unwrap();
        assert_eq!((config.training.steps, config.loss.price, config.name.as_str()), (7, 0.5, "other"));
        assert_eq!(config.model.open_segments, Some(vec![1, 6]));
    }

    #[test]
    fn an_unknown_key_names_the_nearest_and_its_place() {
        let error = message("[training]\nbacth = 3\n", &[]);
        assert!(error.contains("unknown field `bacth`") && error.contains("did you mean `batch`?"), "{error}");
        assert!(error.contains("line 2"), "{error}");
        assert!(message("", &["training.stesp=4"]).contains("did you mean `steps`?"));
        assert!(message("[modell]\n", &[]).contains("did you mean `model`?"));
        assert!(message("[model]\nwindow = \"han\"\n", &[]).contains("did you mean `hann`?"));
    }

    #[test]
    fn malformed_settings_and_values_are_refused() {
        assert!(message("", &["training.steps"]).contains("expected section.key=value"));
        assert!(message("", &["training.steps=many"]).contains("--set training.steps=many"));
        assert!(message("[training]\nsteps = -3\n", &[]).contains("run.toml"));
        assert!(message("[training\n", &[]).contains("run.toml"));
    }
}
