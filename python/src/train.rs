//! Training runs.

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use firefly_app::device_list::{DeviceList, DeviceListError};
use firefly_trainer::config::{ConfigError, Resolved, load_text, task_of_text};
use firefly_trainer::progress::{Event, Interrupter, Progress};
use firefly_trainer::run::{RunError, train_in};
use firefly_trainer::task::Task;
use firefly_trainer::with_task;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::run_error;
use crate::threads::run_until;

/// A run, as the entries of a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RunArguments {
    /// The configuration: TOML, or JSON if it comes from a dictionary.
    text: String,
    is_json: bool,
    /// Path that errors name, and the run is named after.
    path: PathBuf,
    settings: Vec<String>,
    data: Option<PathBuf>,
    out: Option<PathBuf>,
    resume: bool,
    device: Option<String>,
}

/// Trains a run, and returns its folder.
/// `observer` is called with `"measured"`, the steps of the run and a line of metrics as JSON, or with `"message"`, 0
/// and a text. Ctrl-C ends the run at its next step, and its exception is raised then.
#[pyfunction]
pub fn train(py: Python<'_>, arguments: RunArguments, observer: Py<PyAny>) -> PyResult<PathBuf> {
    let refused = |error: DeviceListError| PyValueError::new_err(error.to_string());
    let devices = arguments.device.as_deref().map(str::parse::<DeviceList>).transpose().map_err(refused)?;
    let text = if arguments.is_json { toml_of(&arguments.text)? } else { arguments.text.clone() };
    let interrupter = Interrupter::new();
    let failure = Arc::new(Mutex::new(None));
    let observer = Observer { callable: observer, interrupter: interrupter.clone(), failure: failure.clone() };
    let stop = || {
        let first = !interrupter.should_stop();
        interrupter.stop();
        first
    };
    let interrupter = interrupter.clone();
    let work = move || {
        let task = task_of_text(&text, &arguments.settings)?;
        with_task!(task, T => train_task::<T>(&text, &arguments, devices.as_ref(), &interrupter, observer))
    };
    let outcome = run_until(py, work, stop)?;
    if let Some(exception) = failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(exception);
    }
    outcome.map_err(run_error)
}

/// A configuration's JSON as TOML.
fn toml_of(json: &str) -> PyResult<String> {
    let refused = |error: &dyn Error| PyValueError::new_err(format!("config: {error}"));
    let table: toml::Table = serde_json::from_str(json).map_err(|error| refused(&error))?;
    toml::to_string(&table).map_err(|error| refused(&error))
}

fn train_task<T: Task>(
    text: &str,
    arguments: &RunArguments,
    devices: Option<&DeviceList>,
    interrupter: &Interrupter,
    mut observer: Observer,
) -> Result<PathBuf, RunError> {
    let RunArguments { path, settings, data, out, resume, .. } = arguments;
    let config = load_text::<T>(text, path, settings, data.as_deref())?;
    let devices = config.device_list(devices)?;
    let (names, devices) = (devices.names().map_err(ConfigError::from)?, devices.open().map_err(ConfigError::from)?);
    let resolved = Resolved::new(config, &names);
    let out = out.as_deref();
    let (folder, _) = train_in(out, &resolved, &devices, *resume, interrupter, &mut observer)?;
    Ok(folder.path().to_path_buf())
}

/// Observer of a run that calls Python; an exception there ends the run.
struct Observer {
    callable: Py<PyAny>,
    interrupter: Interrupter,
    failure: Arc<Mutex<Option<PyErr>>>,
}

impl Progress for Observer {
    fn on(&mut self, event: Event<'_>) {
        let (kind, steps, text) = match event {
            Event::Measured { point, steps, .. } => {
                ("measured", steps, serde_json::to_string(point).unwrap_or_default())
            }
            event => match event.message() {
                Some(text) => ("message", 0, text),
                None => return,
            },
        };
        let called = Python::attach(|py| self.callable.call1(py, (kind, steps, text)).map(drop));
        if let Err(exception) = called {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
            self.interrupter.stop();
        }
    }
}
