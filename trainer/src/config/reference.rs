//! Every key of a configuration with its default and meaning, from the guide, and configurations written from it.

use std::fmt::Write;

use firefly_app::table::wrapped;
use toml::{Table, Value};

use super::{RunConfig, Sections, TaskName};

/// The guide's page about configurations.
const GUIDE: &str = include_str!("../../../docs/guide/configuration.md");
/// Longest line of a comment.
const WIDTH: usize = 118;

/// A key of a configuration, as the guide describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReference {
    /// Name of its section, such as `data.recordings`; empty for the top level.
    pub section: String,
    /// The key.
    pub key: String,
    /// Its default as TOML; a word such as `none` for a key without one.
    pub default: String,
    /// Accepted values.
    pub accepted: String,
    /// Meaning.
    pub meaning: String,
}

/// The keys of a task's configuration, in the order of the guide.
///
/// In the guide, `` ## `[section]` `` begins a section of every task, and `` ## `[section]` of `task`, `task` `` one of
/// some tasks. Keys are rows of a table.
pub fn keys(task: TaskName) -> Vec<KeyReference> {
    let mut keys = Vec::new();
    let mut section = None;
    for line in GUIDE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let named = heading.strip_prefix("`[").and_then(|rest| rest.split_once("]`"));
            section = match (heading, named) {
                ("Top level", _) => Some(String::new()),
                (_, Some((name, rest))) => {
                    let tasks = rest.strip_prefix(" of ");
                    let is_this = |name: &str| name.trim_matches('`') == task.as_str();
                    tasks.is_none_or(|tasks| tasks.split(", ").any(is_this)).then(|| name.to_string())
                }
                _ => None,
            };
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(section) = &section
            && let ["", key, default, accepted, meaning, ""] = cells[..]
            && let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`'))
        {
            keys.push(KeyReference {
                section: section.clone(),
                key: key.into(),
                default: default.trim_matches('`').into(),
                accepted: accepted.into(),
                meaning: meaning.into(),
            });
        }
    }
    keys
}

/// A configuration of a task with every key, its meaning and its default. Keys and sections without a default are there
/// as comments. An error if a default can't be written as TOML.
pub fn template<T: Sections>(config: &RunConfig<T>) -> Result<String, toml::ser::Error> {
    let table = Table::try_from(config)?;
    let mut text = format!("# Configuration of the task {}: {}.\n\n", T::NAME, T::NAME.summary());
    let mut section = String::new();
    for key in keys(T::NAME) {
        let values = subtable(&table, &key.section);
        if key.section != section {
            let comment = if values.is_some() { "" } else { "# " };
            let _ = write!(text, "\n{comment}[{}]\n", key.section);
            section.clone_from(&key.section);
        }
        for line in wrapped(&format!("{} ({})", key.meaning, key.accepted.replace('`', "")), WIDTH) {
            let _ = writeln!(text, "# {line}");
        }
        let _ = match values.and_then(|values| values.get(&key.key)) {
            Some(value) => writeln!(text, "{} = {value}", key.key),
            None => writeln!(text, "# {} =", key.key),
        };
    }
    Ok(text)
}

fn subtable<'a>(table: &'a Table, section: &str) -> Option<&'a Table> {
    let names = section.split('.').filter(|name| !name.is_empty());
    names.into_iter().try_fold(table, |table, name| table.get(name).and_then(Value::as_table))
}
