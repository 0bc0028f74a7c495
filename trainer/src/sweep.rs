//! A sweep: one run per value of a key, compared on one page.

use std::fs;
use std::str::FromStr;

use burn::tensor::Device;
use thiserror::Error;

use crate::config::Resolved;
use crate::metrics;
use crate::progress::{Event, Interrupter, Monitor, Progress};
use crate::report::Report;
use crate::run::{self, RunError};
use crate::run_folder::{self, RunFolder, SWEEP_KEY};
use crate::task::{OpenRun, Task, TaskError};

/// Error in the key and values of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct AxisError(String);

/// A key and its values, as in `loss.price=0,0.1,0.3`.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepAxis {
    key: String,
    values: Vec<String>,
}

impl FromStr for SweepAxis {
    type Err = AxisError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let failed = |message: &str| AxisError(message.into());
        let (key, values) = text.split_once('=').ok_or_else(|| failed("expected section.key=value,value,…"))?;
        // As a TOML array, so that a value may itself be one; words without quotes are strings.
        let parsed: Result<toml::Table, _> = toml::from_str(&format!("values = [{values}]"));
        let key = key.trim().to_string();
        let is_list_of_lists = |value: &toml::Value| {
            value.as_array().is_some_and(|items| !items.is_empty() && items.iter().all(toml::Value::is_array))
        };
        let values: Vec<String> = match parsed.as_ref().ok().and_then(|table| table.get("values")?.as_array()) {
            Some(values) if values.iter().all(is_list_of_lists) && !values.is_empty() => {
                let reason = "one value, which is a list of lists: write lists side by side, as in";
                return Err(failed(&format!("{reason} {key}=[…],[…]")));
            }
            Some(values) => values.iter().map(ToString::to_string).collect(),
            None => values.split(',').map(|value| value.trim().to_string()).collect(),
        };
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err(failed("a value is empty"));
        }
        if let Some((_, twice)) = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value)) {
            return Err(failed(&format!("{twice} is there twice")));
        }
        let axis = Self { key, values };
        let folders: Vec<String> = (0..axis.values.len()).map(|index| folder_name(&axis.name(index))).collect();
        let shared = |index: &usize| folders[..*index].iter().position(|folder| *folder == folders[*index]);
        match (0..folders.len()).find_map(|index| Some((shared(&index)?, index))) {
            Some((first, second)) => {
                let [values, folder] =
                    [[first, second].map(|index| &*axis.values[index]).join(" and "), folders[second].clone()];
                Err(failed(&format!("{values} would share the folder {folder}: sweep over them one by one")))
            }
            None => Ok(axis),
        }
    }
}

impl SweepAxis {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The `--set` of each value.
    pub fn settings(&self) -> Vec<String> {
        self.values.iter().map(|value| format!("{}={value}", self.key)).collect()
    }

    /// Name of the run of the value at `index`, such as `price 0.1`.
    fn name(&self, index: usize) -> String {
        let key = self.key.rsplit('.').next().unwrap_or(&self.key);
        format!("{key} {}", self.values[index])
    }
}

/// Trains a run per value on `devices`, each in a folder of its own in `folder`, and writes the page that compares
/// them. Returns the evaluation, or none if the sweep was interrupted.
///
/// Runs that are complete are not repeated: a sweep that was interrupted continues. An error if a run fails, or the
/// page can't be written.
pub fn sweep<T: Task>(
    folder: &RunFolder,
    axis: &SweepAxis,
    runs: &[Resolved<T>],
    devices: &[Device],
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<T::Row>>, RunError> {
    let (Some(first), Some(last), true) = (runs.first(), runs.last(), runs.len() == axis.values.len()) else {
        return Err(RunError::RunCount(runs.len(), axis.values.len()));
    };
    if runs.iter().any(|run| !T::are_comparable(&run.config, &first.config)) {
        return Err(RunError::Incomparable(axis.key.clone()));
    }
    start_or_continue(folder, axis, runs)?;
    let device = devices.first().cloned().unwrap_or_default().inner();
    let mut learned = Vec::with_capacity(runs.len());
    for (index, resolved) in runs.iter().enumerate() {
        let name = axis.name(index);
        let run_folder = folder_of(folder, &name);
        progress.on(Event::RunStarted(&name));
        if run_folder.is_complete() {
            if !run_folder.resolved::<T>()?.is_same_run(resolved) {
                return Err(RunError::OtherRun(run_folder.path().into()));
            }
        } else {
            let resume = run_folder.config().exists();
            if run::train(&run_folder, resolved, devices, resume, interrupter, progress)?.is_none() {
                return Ok(None);
            }
        }
        learned.push((name, run_folder.load_model::<T>(&device)?));
    }
    let config = &first.config;
    let data = match T::open(config, &device, &Monitor::new(interrupter, progress)) {
        Err(TaskError::Interrupted) => return Ok(None),
        data => data?,
    };
    let rows = T::evaluate(&OpenRun { config, data: &data }, &learned)?;

    let (name, model) = &learned[learned.len() - 1];
    let history = metrics::read(&folder_of(folder, name).metrics())?;
    let mut report =
        Report::of_run(last, history, T::report(&OpenRun { config: &last.config, data: &data }, model, &rows)?)?;
    report.title = format!("{}: {} over {}; curves and gates of {name}", config.name, axis.key, axis.values.join(", "));
    run::publish::<T>(folder, &report, &rows)?;
    Ok(Some(rows))
}

fn folder_of(folder: &RunFolder, name: &str) -> RunFolder {
    RunFolder::new(folder.path().join(folder_name(name)))
}

/// Name of the folder of the run of this name.
fn folder_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect()
}

/// Starts a sweep in the folder, or checks that the folder holds this one. A folder whose key is lost, and which holds
/// runs of this sweep and nothing of another's, is this sweep's.
fn start_or_continue<T: Task>(folder: &RunFolder, axis: &SweepAxis, runs: &[Resolved<T>]) -> Result<(), RunError> {
    let path = folder.path().join(SWEEP_KEY);
    let key = fs::read_to_string(&path).ok();
    if key.as_ref() == Some(&axis.key) {
        return Ok(());
    }
    let started: Vec<_> = (0..runs.len()).map(|index| folder_of(folder, &axis.name(index))).collect();
    let is_this =
        |(folder, run): &(&RunFolder, &Resolved<T>)| folder.resolved().is_ok_and(|started| started.is_same_run(run));
    let holds_this = started.iter().zip(runs).any(|pair| is_this(&pair));
    match key {
        Some(key) if !holds_this => return Err(RunError::OtherSweep(folder.path().into(), key)),
        None if !holds_this => folder.ensure_empty()?,
        _ => (),
    }
    Ok(run_folder::write(&path, axis.key.as_bytes())?)
}
