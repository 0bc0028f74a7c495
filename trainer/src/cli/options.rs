//! Options of the commands that train.

use std::env;
use std::path::{Path, PathBuf};

use crate::config::{self, Resolved};
use crate::task::Task;
use crate::tasks::TaskName;
use anyhow::Result;
use burn::tensor::Device;
use clap::Args;
use firefly_app::device::{DeviceChoice, DeviceError};
use firefly_app::device_list::{DeviceList, DeviceListError};
use firefly_app::streams::note;

#[derive(Args)]
pub struct TrainingOptions {
    /// Change a key of the configuration; may be given several times.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub settings: Vec<String>,
    /// Device to train on: auto, cpu, ndarray, wgpu, vulkan, metal, cuda or rocm, with an index as in cuda:1, or
    /// remote:HOST:PORT; several as in cuda:0,cuda:1 or cuda:*. The configuration's devices unless given, or else cpu.
    #[arg(long, value_name = "DEVICE,…")]
    pub device: Option<DeviceList>,
    /// The run's folder; runs/NAME unless given.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder that the configuration's paths of data start in; the environment's FIREFLY_DATA unless given, or else the
    /// working folder. `synthetic` replaces all files by generated data.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub keys: KeyOptions,
}

/// Options for keys of the configuration that change often.
#[derive(Args)]
pub struct KeyOptions {
    /// The same as --set model.n_fft=N; model.hop is N/2 unless it is set, too.
    #[arg(long, value_name = "N", value_parser = count)]
    pub n_fft: Option<u64>,
    /// The same as --set model.k=K.
    #[arg(short, long, visible_alias = "peak-k", value_parser = count)]
    pub k: Option<u64>,
    /// The same as --set training.batch=N.
    #[arg(long, value_name = "N", value_parser = count)]
    pub batch: Option<u64>,
    /// The same as --set training.steps=N.
    #[arg(long, value_name = "N", value_parser = count)]
    pub steps: Option<u64>,
    /// The same as --set loss.ranking=WEIGHT.
    #[arg(long, value_name = "WEIGHT", visible_alias = "peak-weight")]
    pub ranking: Option<f64>,
}

impl KeyOptions {
    /// The keys that are given, with their values.
    fn given(&self) -> Vec<(&'static str, String)> {
        let whole = |value: Option<u64>| value.map(|value| value.to_string());
        [
            ("model.n_fft", whole(self.n_fft)),
            ("model.k", whole(self.k)),
            ("training.batch", whole(self.batch)),
            ("training.steps", whole(self.steps)),
            ("loss.ranking", self.ranking.map(|weight| format!("{weight:?}"))),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
    }
}

/// A whole number; the configuration says which are accepted.
fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number from 0 that fits 64 bits"))
}

impl TrainingOptions {
    /// The task of the configuration in `path`.
    pub fn task(&self, path: &Path) -> Result<TaskName> {
        Ok(config::task_of(path, &self.settings)?)
    }

    /// The configuration in `path` with every option applied, and `extra` settings after them, and its devices.
    pub fn resolve<T: Task>(&self, path: &Path, extra: &[String]) -> Result<(Resolved<T>, DeviceList)> {
        // Half of `n_fft`, before what is set, so that a hop that is set counts.
        let hop = self.keys.n_fft.map(|n_fft| format!("model.hop={}", n_fft / 2));
        let keys = self.keys.given().into_iter().map(|(key, value)| format!("{key}={value}"));
        let set = self.settings.iter().chain(extra).cloned();
        let settings: Vec<String> = hop.into_iter().chain(set).chain(keys).collect();
        let from_environment = || env::var_os("FIREFLY_DATA").filter(|root| !root.is_empty()).map(PathBuf::from);
        let root = self.data.clone().or_else(from_environment);
        let config = config::load::<T>(path, &settings, root.as_deref())?;
        let devices = config.device_list(self.device.as_ref())?;
        let names = devices.names()?;
        Ok((Resolved::new(config, &names), devices))
    }

    /// Whether an option sets this key.
    pub fn sets(&self, key: &str) -> bool {
        let set = |setting: &String| setting.split('=').next().map(str::trim) == Some(key);
        self.settings.iter().any(set) || self.keys.given().iter().any(|(given, _)| *given == key)
    }
}

/// Opens devices, and says which it is if that was left open.
pub fn open_devices(devices: &DeviceList) -> Result<Vec<Device>, DeviceListError> {
    if devices.is_auto() {
        note(format_args!("device: {}", DeviceChoice::Auto.explained()));
    }
    devices.open()
}

/// Opens a device, and says which it is if that was left open.
pub fn open_device(device: DeviceChoice) -> Result<Device, DeviceError> {
    if device == DeviceChoice::Auto {
        note(format_args!("device: {}", device.explained()));
    }
    device.name().open()
}
