//! One run a value of a key, compared on one page: how recall falls as compute gets dearer.

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_framework::files::write_atomically;

use crate::config::Resolved;
use crate::evaluate;
use crate::metrics;
use crate::page;
use crate::progress::Progress;
use crate::report::EvaluationRow;
use crate::run::{self, RunFolder};

/// A key and the values it takes, as in `loss.price=0,0.1,0.3`.
#[derive(Debug, Clone, PartialEq)]
pub struct Over {
    key: String,
    values: Vec<String>,
}

impl std::str::FromStr for Over {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, values) = text.split_once('=').ok_or("expected section.key=value,value,…")?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_string()).collect();
        if values.iter().any(String::is_empty) {
            return Err("a value is empty".into());
        }
        Ok(Self { key: key.trim().to_string(), values })
    }
}

impl Over {
    /// The `--set` of each value.
    pub fn settings(&self) -> Vec<String> {
        self.values.iter().map(|value| format!("{}={value}", self.key)).collect()
    }

    /// What the run of the value at `index` is called.
    fn name(&self, index: usize) -> String {
        let key = self.key.rsplit('.').next().unwrap_or(&self.key);
        format!("{key} {}", self.values[index])
    }
}

/// Trains a run for every value, each in a folder of its own in `folder`, and writes the page that compares them.
///
/// Runs that are complete are not repeated, so that a sweep that was stopped goes on where it was.
///
/// # Errors
/// If a run fails, or the page can't be written.
pub fn sweep(
    folder: &RunFolder,
    over: &Over,
    runs: &[Resolved],
    device: &Device,
    interrupter: &Interrupter,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<EvaluationRow>>> {
    ensure!(runs.len() == over.values.len(), "a run for every value");
    let plain = device.clone().inner();
    let mut learned = Vec::new();
    for (index, resolved) in runs.iter().enumerate() {
        let name = over.name(index);
        let place = RunFolder::new(folder.path().join(name.replace(' ', "-")));
        progress.say(&name);
        if place.is_complete() {
            if place.resolved()? != *resolved {
                bail!("{} holds another run: choose another --out", place.path().display());
            }
        } else {
            let resume = place.config().exists();
            if run::train(&place, resolved, device, resume, interrupter, progress)?.is_none() {
                return Ok(None);
            }
        }
        learned.push((name, place.load_model(&plain)?));
    }
    let Some(last) = runs.last() else { bail!("a sweep needs at least one value") };
    let config = &last.config;
    let data = config.data.open(config.model.frame(), config.seed)?;
    let frames = data.test.as_ref().unwrap_or(&data.validation);
    let rows = evaluate::compare(&run::data_set_name(config), frames, &config.model, &learned, &plain)?;
    run::write_evaluation(&folder.evaluation(), &rows)?;

    let last_folder = RunFolder::new(folder.path().join(over.name(runs.len() - 1).replace(' ', "-")));
    let (name, model) = &learned[learned.len() - 1];
    let mut report = page::report(last, &metrics::read(&last_folder.metrics())?, model, rows.clone())?;
    report.title = format!("{}: {} over {}; curves and gates of {name}", config.name, over.key, over.values.join(", "));
    write_atomically(&folder.report(), report.render().as_bytes())
        .with_context(|| format!("writing {}", folder.report().display()))?;
    Ok(Some(rows))
}
