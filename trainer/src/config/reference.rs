//! Every key of a configuration with its default and meaning, from the guide, and configurations written from it.

use std::fmt::Write;

use toml::{Table, Value};

use super::RunConfig;
use crate::task::Task;
use crate::tasks::TaskName;

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
    /// What it is.
    pub meaning: String,
}

/// The keys of a task's configuration, in the order of the guide.
///
/// In the guide, `` ## `[section]` `` or a line that begins with `` `[section]` `` begins a section of every task, and
/// `` ## `[section]` of `task` `` one of a single task, whose further sections follow until the next heading. Keys are rows
/// of a table.
pub fn keys(task: TaskName) -> Vec<KeyReference> {
    let mut keys = Vec::new();
    let (mut section, mut is_of_task) = (None, true);
    for line in GUIDE.lines() {
        let heading = line.strip_prefix("## ");
        if heading == Some("Top level") {
            (section, is_of_task) = (Some(String::new()), true);
        } else if let Some((name, rest)) =
            heading.unwrap_or(line).strip_prefix("`[").and_then(|rest| rest.split_once("]`"))
        {
            section = Some(name.to_string());
            if heading.is_some() {
                let of = rest.strip_prefix(" of `").and_then(|rest| rest.strip_suffix('`'));
                is_of_task = of.is_none_or(|of| of == task.as_str());
            }
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let Some(section) = section.as_ref().filter(|_| is_of_task)
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

/// A configuration of a task with every key, its meaning and its default. Keys and sections without a default are there as
/// comments.
///
/// # Errors
/// If a default can't be written as TOML.
pub fn template<T: Task>(config: &RunConfig<T>) -> Result<String, toml::ser::Error> {
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
        push_comment(&mut text, &format!("{} ({})", key.meaning, key.accepted.replace('`', "")));
        let _ = match values.and_then(|values| values.get(&key.key)) {
            Some(value) => writeln!(text, "{} = {value}", key.key),
            None => writeln!(text, "# {} =", key.key),
        };
    }
    Ok(text)
}

/// The table of a section.
fn subtable<'a>(table: &'a Table, section: &str) -> Option<&'a Table> {
    let names = section.split('.').filter(|name| !name.is_empty());
    names.into_iter().try_fold(table, |table, name| table.get(name).and_then(Value::as_table))
}

/// Adds a comment, in lines of limited length.
fn push_comment(text: &mut String, comment: &str) {
    for line in firefly_app::table::wrapped(comment, WIDTH) {
        let _ = writeln!(text, "# {line}");
    }
}
