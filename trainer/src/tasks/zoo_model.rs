//! Models of the zoo as the models of a task: their section of a configuration, their files.

use std::fs;
use std::marker::PhantomData;
use std::path::Path;

use burn::tensor::Device;
use firefly_models::zoo::{self, Settings, ZooError, ZooModel};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ConfigError;
use crate::task::{LoadedModel, ModelError, Task};

/// File of the weights in a model's folder.
const WEIGHTS: &str = "model.safetensors";

/// Task whose models are the zoo's.
pub trait ZooTask {
    /// Name of the model where the configuration names none.
    const DEFAULT_MODEL: &'static str;
    /// Families of the zoo that the task can train.
    const FAMILIES: &'static [&'static str];
    /// Families whose loss is not a mean over the examples of a batch, and why.
    const JOINS_EXAMPLES: &'static [(&'static str, &'static str)] = &[];
    /// Settings that the task derives from its other sections, and from which keys.
    const DERIVED: &'static [(&'static str, &'static str)];
}

/// Section `[model]` of a task whose models are the zoo's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "")]
pub struct ZooSection<T: ZooTask> {
    /// Name of the model in the zoo.
    pub name: String,
    /// Settings of its configuration that differ from those of the name.
    #[serde(skip_serializing_if = "is_empty")]
    pub settings: Settings,
    #[serde(skip)]
    task: PhantomData<T>,
}

fn is_empty(settings: &Settings) -> bool {
    settings.iter().next().is_none()
}

impl<T: ZooTask> Default for ZooSection<T> {
    fn default() -> Self {
        Self { name: T::DEFAULT_MODEL.into(), settings: Settings::new(), task: PhantomData }
    }
}

impl<T: ZooTask> ZooSection<T> {
    /// Checks that the zoo has the model, that the task can train it, and that no derived setting is given.
    ///
    /// # Errors
    /// [`ConfigError::Value`] naming the key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let refused = |key: &str, got: String, expected: String| ConfigError::Value { key: key.into(), got, expected };
        let accepted = Self::accepted();
        if !accepted.contains(&self.name.as_str()) {
            let expected = format!("one of {}", accepted.join(", "));
            return Err(refused("model.name", self.name.clone(), expected));
        }
        for (key, origin) in T::DERIVED {
            if let Some(value) = self.settings.get(key) {
                return Err(refused(
                    &format!("model.settings.{key}"),
                    value.to_string(),
                    format!("left out: {origin}"),
                ));
            }
        }
        Ok(())
    }

    /// Name of the model's family.
    pub fn family(&self) -> Option<&'static str> {
        zoo::family(&self.name).ok()
    }

    /// Reason for which the model's loss is not a mean over the examples of a batch; none where it is.
    pub fn joins_examples(&self) -> Option<&'static str> {
        let family = self.family()?;
        T::JOINS_EXAMPLES.iter().find(|(name, _)| *name == family).map(|(_, reason)| *reason)
    }

    /// Names of the models that the task can train.
    pub fn accepted() -> Vec<&'static str> {
        let of_family = |name: &&str| zoo::family(name).is_ok_and(|family| T::FAMILIES.contains(&family));
        zoo::list("").into_iter().filter(of_family).collect()
    }

    /// A setting of the model's configuration: the section's, or else that of the name.
    pub fn setting(&self, key: &str) -> Option<Value> {
        let of_name = || zoo::card(&self.name).ok()?.settings.get(key).cloned();
        self.settings.get(key).cloned().or_else(of_name)
    }

    /// A setting of the model's configuration that is a count; none where it has no such setting.
    pub fn count(&self, key: &str) -> Option<u128> {
        self.setting(key)?.as_u64().map(u128::from)
    }

    /// The untrained model with the settings that the task derives, drawn from `seed`.
    ///
    /// # Errors
    /// If the zoo has no such model, or a setting is out of range.
    pub fn create(&self, derived: Settings, seed: u64, device: &Device) -> Result<ZooModel, ZooError> {
        let settings = derived.iter().fold(self.settings.clone(), |all, (key, value)| all.with(key, value.clone()));
        device.clone().inner().seed(seed);
        zoo::create(&self.name, &settings, device)
    }
}

/// Writes a model into a folder.
///
/// # Errors
/// If the file can't be written.
pub fn save(model: &ZooModel, folder: &Path) -> Result<(), ModelError> {
    let path = folder.join(WEIGHTS);
    fs::create_dir_all(folder).map_err(|error| ZooError::File { path: path.clone(), error })?;
    Ok(model.save(&path)?)
}

/// The model in a folder.
///
/// # Errors
/// If the file is damaged.
pub fn read(folder: &Path, device: &Device) -> Result<ZooModel, ModelError> {
    Ok(zoo::load(&folder.join(WEIGHTS), device)?)
}

/// A model, with what it differs in from `expected`, an untrained one of the run's configuration.
pub fn compared<T: Task<Model = ZooModel>>(model: ZooModel, expected: &ZooModel) -> LoadedModel<T> {
    let differences = differences(&model, expected);
    LoadedModel { model, differences }
}

/// Differences of a model from `expected`, as parts of a sentence.
pub fn differences(model: &ZooModel, expected: &ZooModel) -> Vec<String> {
    let (family, run_family) = (model.family().name, expected.family().name);
    if family != run_family {
        return vec![format!("it is a {family}, the run's a {run_family}")];
    }
    let run = expected.settings();
    let differs = |(key, value): (&str, &_)| {
        let of_run = run.get(key).filter(|of_run| *of_run != value)?;
        Some(format!("its {key} is {value}, the run's {of_run}"))
    };
    model.settings().iter().filter_map(differs).collect()
}
