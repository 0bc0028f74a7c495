//! Differences between a run's configuration and another one, or its model, in words.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::FolderError;
use crate::config::Resolved;
use crate::task::Task;

/// The version of Firefly that wrote a configuration, if it is another one, as a part of a sentence.
pub(super) fn other_version(text: &str) -> String {
    let table: Option<Table> = toml::from_str(text).ok();
    let version = table.as_ref().and_then(|table| table.get("firefly")?.as_str());
    match version {
        Some(version) if version != env!("CARGO_PKG_VERSION") => {
            format!(", which Firefly {} can't read because Firefly {version} wrote it", env!("CARGO_PKG_VERSION"))
        }
        _ => String::new(),
    }
}

/// The first key in which two configurations differ, with its values.
pub(super) fn difference<T: Task>(started: &Resolved<T>, now: &Resolved<T>) -> Result<String, FolderError> {
    let keys = |resolved: &Resolved<T>| -> Result<_, FolderError> {
        let mut keys = BTreeMap::new();
        flatten("", &Value::Table(Table::try_from(resolved)?), &mut keys);
        Ok(keys)
    };
    let (started, now) = (keys(started)?, keys(now)?);
    let differing = started.keys().chain(now.keys()).find(|key| started.get(*key) != now.get(*key));
    let value = |keys: &BTreeMap<String, String>, key: &String| keys.get(key).cloned().unwrap_or("not set".into());
    Ok(differing.map_or_else(String::new, |key| {
        format!("{} was {}, now it is {}", key.trim_start_matches("config."), value(&started, key), value(&now, key))
    }))
}

/// Every key of a configuration with its sections, and its value.
fn flatten(prefix: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, keys);
            }
        }
        value => {
            keys.insert(prefix.to_string(), value.to_string());
        }
    }
}
