//! Options of the commands that train.

use std::env;
use std::path::{Path, PathBuf};

use crate::config::{self, MAX_STEPS, Resolved};
use anyhow::Result;
use clap::{Args, value_parser};
use firefly_app::device::DeviceName;
use firefly_app::streams::note;

/// Folder of the runs' folders.
pub const RUNS: &str = "runs";

#[derive(Args)]
pub struct TrainingOptions {
    /// Change a key of the configuration; may be given several times.
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub settings: Vec<String>,
    /// Device to train on: cpu, ndarray, wgpu, vulkan, metal or cuda, with an index as in cuda:1.
    #[arg(long, default_value = "cpu")]
    pub device: DeviceName,
    /// The run's folder; runs/NAME unless given.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder that contains the configuration's recordings; the environment's FIREFLY_DATA unless given. Without either
    /// the run is on synthetic signals.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The same as --set training.steps=N.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u64).range(1..=MAX_STEPS))]
    pub steps: Option<u64>,
}

impl TrainingOptions {
    /// The configuration in `path` with every option applied, and `extra` settings after them.
    pub fn resolve(&self, path: &Path, extra: &[String]) -> Result<Resolved> {
        let steps = self.steps.map(|steps| format!("training.steps={steps}"));
        let settings: Vec<String> = self.settings.iter().chain(extra).cloned().chain(steps).collect();
        let from_environment = || env::var_os("FIREFLY_DATA").filter(|root| !root.is_empty()).map(PathBuf::from);
        let recordings = self.data.clone().or_else(from_environment);
        let loaded = config::load(path, &settings, recordings.as_deref())?;
        if loaded.recordings_replaced {
            note("no folder of recordings is given (--data DIR or FIREFLY_DATA): training on synthetic signals");
        }
        Ok(Resolved::new(loaded.config, self.device.to_string()))
    }

    /// Whether an option sets this key.
    pub fn sets(&self, key: &str) -> bool {
        let set = |setting: &String| setting.split('=').next().map(str::trim) == Some(key);
        self.settings.iter().any(set) || (self.steps.is_some() && key == "training.steps")
    }
}
