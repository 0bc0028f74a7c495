//! One run a value of a key, compared on one page: how recall falls as compute gets dearer.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use burn::tensor::Device;
use burn_train::Interrupter;
use firefly_app::files::write_atomically;
use firefly_models::Tier;

use crate::config::Resolved;
use crate::evaluate::{self, EvaluationRow};
use crate::metrics;
use crate::progress::Progress;
use crate::report::Report;
use crate::run::{self, RunFolder};

/// The file of a sweep's folder that holds its key.
const KEY: &str = "sweep.key";

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
        // As a TOML array, so that a value may itself be one; words without quotes are strings.
        let parsed: Result<toml::Table, _> = toml::from_str(&format!("values = [{values}]"));
        let values: Vec<String> = match parsed.as_ref().ok().and_then(|table| table.get("values")?.as_array()) {
            Some(values) => values.iter().map(ToString::to_string).collect(),
            None => values.split(',').map(|value| value.trim().to_string()).collect(),
        };
        if values.is_empty() || values.iter().any(String::is_empty) {
            return Err("a value is empty".into());
        }
        if let Some((_, twice)) = values.iter().enumerate().find(|(place, value)| values[..*place].contains(value)) {
            return Err(format!("{twice} is there twice"));
        }
        Ok(Self { key: key.trim().to_string(), values })
    }
}

impl Over {
    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

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
    let Some(first) = runs.first() else { bail!("a sweep needs at least one value") };
    let compared = |run: &Resolved| {
        let config = &run.config;
        (config.model.exact(Tier::Reference), config.model.frame(), config.data.clone(), config.seed)
    };
    if runs.iter().any(|run| compared(run) != compared(first)) {
        bail!(
            "{} changes the reference or the data, so that the runs can't be compared: train them one by one",
            over.key
        );
    }
    claim(folder, over)?;
    let plain = device.clone().inner();
    let mut learned = Vec::new();
    for (index, resolved) in runs.iter().enumerate() {
        let name = over.name(index);
        let place = place(folder, &name);
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
    let config = &first.config;
    let data = config.data.open(config.model.frame(), config.seed).context("data")?;
    let (name, frames) = run::evaluation_set(config, &data);
    let rows = evaluate::compare(&name, frames, &config.model, &learned, &plain)?;
    run::write_evaluation(&folder.evaluation(), &rows)?;

    let (name, model) = &learned[learned.len() - 1];
    let last = &runs[runs.len() - 1];
    let history = metrics::read(&place(folder, name).metrics())?;
    let mut page = Report::of_run(last, &history, model, rows.clone())?;
    page.title = format!("{}: {} over {}; curves and gates of {name}", config.name, over.key, over.values.join(", "));
    write_atomically(&folder.report(), page.render().as_bytes())
        .with_context(|| format!("writing {}", folder.report().display()))?;
    Ok(Some(rows))
}

/// The folder of one of the runs.
fn place(folder: &RunFolder, name: &str) -> RunFolder {
    let name: String = name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    RunFolder::new(folder.path().join(name))
}

/// Makes the folder this sweep's, or checks that it already is.
fn claim(folder: &RunFolder, over: &Over) -> Result<()> {
    let path = folder.path().join(KEY);
    match fs::read_to_string(&path) {
        Ok(key) if key == over.key => Ok(()),
        Ok(key) => bail!("{} holds a sweep over {key}: choose another --out", folder.path().display()),
        Err(_) => {
            run::refuse_taken(folder.path())?;
            write_atomically(&path, over.key.as_bytes()).with_context(|| format!("writing {}", path.display()))
        }
    }
}
