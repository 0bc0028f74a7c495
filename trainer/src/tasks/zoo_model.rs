//! Models of the zoo as the models of a task: their section of a configuration, their files.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::marker::PhantomData;

use burn::module::{ModuleVisitor, Param};
use firefly_app::files::write_atomically;
use firefly_app::number::{bytes, whole};
use firefly_framework::device::DeviceId;
use firefly_framework::graph::AnyTensor;
use firefly_models::zoo::{self, ZooError, largest_whole};
use firefly_recordings::available_memory;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ModelChoice;
use crate::tasks::prelude::*;

/// File of the weights in a model's folder.
const WEIGHTS: &str = "model.safetensors";

/// Task whose models are the zoo's.
pub trait ZooTask: Debug + Clone + PartialEq + Send + Sync {
    /// Name of the model where the configuration names none.
    const DEFAULT_MODEL: &'static str;
    /// Families of the zoo that the task can train.
    const FAMILIES: &'static [&'static str];
    /// Families whose loss depends on statistics of the whole batch, and on which.
    const BATCH_STATISTICS: &'static [(&'static str, &'static str)] = &[];
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

impl<T: ZooTask> ModelChoice for ZooSection<T> {
    fn models() -> Vec<&'static str> {
        let of_family = |name: &&str| zoo::family(name).is_ok_and(|family| T::FAMILIES.contains(&family));
        zoo::list("").into_iter().filter(of_family).collect()
    }

    /// Checks that the zoo has the model, that the task can train it, and that no derived setting is given.
    fn validate(&self) -> Result<(), ConfigError> {
        let accepted = Self::models();
        let is_accepted = accepted.contains(&self.name.as_str());
        ensure(is_accepted, "model.name", &self.name, format_args!("one of {}", accepted.join(", ")))?;
        T::DERIVED.iter().try_for_each(|(key, origin)| match self.settings.get(key) {
            Some(value) => {
                let key = format!("model.settings.{key}");
                ensure(false, &key, value, format_args!("left out: {origin}"))
            }
            None => Ok(()),
        })
    }

    fn choose(&mut self, name: &str) -> Result<(), ConfigError> {
        self.name = name.into();
        self.validate()
    }

    fn batch_statistics(&self) -> Option<&'static str> {
        let family = self.family()?;
        T::BATCH_STATISTICS.iter().find(|(name, _)| *name == family).map(|(_, reason)| *reason)
    }
}

impl<T: ZooTask> ZooSection<T> {
    /// Name of the model's family.
    pub fn family(&self) -> Option<&'static str> {
        zoo::family(&self.name).ok()
    }

    /// A setting of the model's configuration that is a count, the section's or else that of the name; none where it
    /// has no such setting.
    pub fn count(&self, key: &str) -> Option<usize> {
        let of_name = || zoo::card(&self.name).ok()?.settings.get(key).cloned();
        self.settings.get(key).cloned().or_else(of_name)?.as_u64()?.try_into().ok()
    }

    /// The untrained model with the settings that the task derives, drawn from `seed`. An error if the zoo has no such
    /// model, a setting is out of range, or training the model on this machine's processor would take more memory than
    /// is available.
    pub fn create(&self, derived: Settings, seed: u64, device: &Device) -> Result<ZooModel, ZooError> {
        let settings = derived.iter().fold(self.settings.clone(), |all, (key, value)| all.with(key, value.clone()));
        device.clone().inner().seed(seed);
        let model = zoo::create(&self.name, &settings, device)?;
        let is_on_host = DeviceId::of(device).kind().is_host();
        match available_memory().filter(|_| is_on_host) {
            Some(available) => self.check_memory(&model, available).map(|()| model),
            None => Ok(model),
        }
    }

    /// Checks that a model's parameters, which are drawn when they are first used, fit into so many bytes of memory
    /// with their gradients and an optimizer's moments. The error names the setting that is larger than the name's own
    /// by the greatest factor.
    fn check_memory(&self, model: &ZooModel, available: u64) -> Result<(), ZooError> {
        let parameters = parameters(model);
        let taken = parameters.saturating_mul(BYTES_PER_PARAMETER);
        if taken <= available {
            return Ok(());
        }
        let own = zoo::card(&self.name)?.settings;
        let growth = |(key, value): &(&str, &Value)| {
            let [given, own] = [Some(*value), own.get(key)].map(|value| value.and_then(largest_whole).unwrap_or(1));
            given as f64 / own.max(1) as f64
        };
        let largest = self.settings.iter().max_by(|a, b| growth(a).total_cmp(&growth(b)));
        let (key, value) = largest.map_or(("name", self.name.clone()), |(key, value)| (key, value.to_string()));
        let error = serde_json::Error::custom(format_args!(
            "{} parameters, with gradients and moments, take {} of memory, and {} are available",
            whole(parameters),
            bytes(taken),
            bytes(available)
        ));
        Err(ZooError::Setting { model: self.name.clone(), key: key.into(), value, error })
    }
}

/// Memory of a parameter, its gradient and two moments of an optimizer, in f32.
const BYTES_PER_PARAMETER: u64 = 4 * size_of::<f32>() as u64;

/// Number of values of a model's parameters, which need not be drawn yet.
fn parameters(model: &ZooModel) -> u64 {
    struct Counter(u64);
    impl ModuleVisitor for Counter {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
            let dims: [usize; D] = parameter.lazy_shape().dims();
            self.0 = self.0.saturating_add(dims.iter().fold(1, |product, dim| product.saturating_mul(*dim as u64)));
        }
    }
    let mut counter = Counter(0);
    model.visit(&mut counter);
    counter.0
}

/// The first output of a model, of which there is none otherwise. An error if inputs do not fit the model, or it has no
/// output.
pub fn first_output(model: &ZooModel, inputs: Vec<AnyTensor>) -> Result<AnyTensor> {
    model.try_forward(inputs)?.into_iter().next().ok_or_else(|| without_output(model))
}

/// The error of a model that has no output.
pub fn without_output(model: &ZooModel) -> TaskError {
    TaskError::Unsuitable(model.family().name.into(), "it has no output".into())
}

/// Writes a value into a file of a model's folder, as JSON. An error if the file can't be written.
pub fn write_json(path: PathBuf, value: &impl Serialize) -> Result<(), ModelError> {
    let text =
        serde_json::to_vec_pretty(value).map_err(|error| ModelError::Weights(path.clone(), error.to_string()))?;
    write_atomically(&path, &text).map_err(|source| ModelError::File(path, source))
}

/// The value in a JSON file of a model's folder. An error if the file is missing or damaged.
pub fn read_json<V: DeserializeOwned>(path: PathBuf) -> Result<V, ModelError> {
    let text = fs::read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            ModelError::Weights(path.clone(), "missing: not the model of this run's task".into())
        }
        _ => ModelError::File(path.clone(), source),
    })?;
    serde_json::from_slice(&text).map_err(|error| ModelError::Weights(path, error.to_string()))
}

/// Writes a model into a folder. An error if the file can't be written.
pub fn save(model: &ZooModel, folder: &Path) -> Result<(), ModelError> {
    let path = folder.join(WEIGHTS);
    fs::create_dir_all(folder).map_err(|error| ZooError::File(path.clone(), error))?;
    Ok(model.save(&path)?)
}

/// The model in a folder. An error if the file is damaged.
pub fn read(folder: &Path, device: &Device) -> Result<ZooModel, ModelError> {
    Ok(zoo::load(&folder.join(WEIGHTS), device)?)
}

/// Differences of a model from `expected`, an untrained one of the run's configuration, as parts of a sentence.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::classification::Classification;
    use crate::tasks::forecasting::Forecasting;
    use crate::tasks::operator::OperatorTask;

    fn refused<T: ZooTask>(name: &str, setting: &str) -> String {
        let section = ZooSection::<T> { name: name.into(), settings: setting.parse().unwrap(), task: PhantomData };
        let device = Device::flex();
        // A machine of 1 GB, whatever this one has.
        let model = zoo::create(name, &section.settings, &device);
        model.and_then(|model| section.check_memory(&model, 1 << 30)).unwrap_err().to_string()
    }

    #[test]
    fn settings_beyond_all_bounds_are_named_before_anything_is_allocated() {
        let bounded = [
            refused::<OperatorTask>("fno1d_tiny", "padding = 1000000000"),
            refused::<Classification>("fnet_tiny", "feed_forward = 1000000000"),
            refused::<Classification>("fnet_tiny", "vocabulary = 1000000000"),
            refused::<Classification>("hyena_tiny", "frequencies = 1000000000"),
            refused::<Classification>("s4d_tiny", "states = 1000000000"),
            refused::<Classification>("gfnet_tiny", "expansion = 1000000000"),
        ];
        for message in bounded {
            assert!(message.ends_with("= 1000000000`: a whole number is at most 16,777,216"), "{message}");
        }
        let deep = refused::<Classification>("hyena_tiny", "order = 100000");
        assert_eq!(deep, "HyenaConfig: `order` is 100000, but must be at most 64");
        assert!(refused::<OperatorTask>("fno1d_tiny", "layers = 100000").contains("`layers` is 100000"));
    }

    #[test]
    fn models_whose_parameters_do_not_fit_into_memory_are_refused_by_the_setting_that_grew() {
        let message = refused::<Classification>("hyena_tiny", "width = 9, filter_width = 100000");
        assert!(message.starts_with("zoo: hyena_tiny: `filter_width = 100000`: "), "{message}");
        assert!(message.ends_with("of memory, and 1.00 GiB are available"), "{message}");
        for setting in ["lifting = 16000000, width = 1000", "projection = 16000000, width = 100", "width = 100000"] {
            let message = refused::<OperatorTask>("fno1d_tiny", setting);
            assert!(message.contains("parameters, with gradients and moments, take"), "{setting}: {message}");
        }
        for (name, setting) in [
            ("s4d_tiny", "states = 16777216"),
            ("long_conv_tiny", "length = 16777216, width = 1000000"),
            ("gfnet_tiny", "expansion = 16777216"),
            ("gfnet_tiny", "expansion = 16777216"),
            ("fnet_tiny", "vocabulary = 16777216"),
        ] {
            let message = refused::<Classification>(name, setting);
            assert!(message.contains("parameters, with gradients and moments, take"), "{name}: {message}");
        }
        assert!(
            refused::<Forecasting>("fits", "channels = 1000000, individual = true").contains("`channels = 1000000`")
        );
    }

    #[test]
    fn models_of_every_task_fit() {
        let fits = |name: &str| {
            let section = ZooSection::<Classification> { name: name.into(), ..Default::default() };
            let model = zoo::create(name, &Settings::new(), &Device::flex()).unwrap();
            section.check_memory(&model, 1 << 30)
        };
        for name in zoo::list("_tiny") {
            assert!(fits(name).is_ok(), "{name}");
        }
    }
}
