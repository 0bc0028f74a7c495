//! The tasks: one folder each, and what several of them share.
//!
//! A task is added with a folder that implements [`Task`](crate::task::Task), a variant of [`TaskName`] and a line of
//! [`with_task`](crate::with_task).

pub mod classification;
pub mod denoising;
pub mod forecasting;
pub mod operator;
pub mod peaks;
mod ridge;
pub mod scores;
pub mod transform;
pub mod zoo_model;

use firefly_recordings::Recording;

pub use crate::config::TaskName;
use crate::data::is_same_rate;
use crate::task::{Result, TaskError};

/// Checks that recordings that say their sample rate have that of the configuration.
fn check_rate(recordings: &[Recording], expected: f64) -> Result<()> {
    let mut rates = recordings.iter().filter_map(|recording| Some((&recording.path, recording.sample_rate?)));
    rates.find(|(_, rate)| !is_same_rate(*rate, expected)).map_or(Ok(()), |(path, rate)| {
        let reason = format!("it has {rate} samples per second, but data.sample_rate is {expected}");
        Err(TaskError::Input(path.to_path_buf(), reason))
    })
}

/// An expression in which `$task` is the type of the task that a [`TaskName`] names.
#[macro_export]
macro_rules! with_task {
    ($name:expr, $task:ident => $body:expr) => {
        $crate::with_task!(
            $name, $task => $body;
            Peaks: peaks::PeaksTask,
            Transform: transform::TransformTask,
            Forecasting: forecasting::Forecasting,
            Classification: classification::Classification,
            Denoising: denoising::Denoising,
            Operator: operator::OperatorTask,
        )
    };
    ($name:expr, $task:ident => $body:expr; $($variant:ident: $module:ident::$of_task:ident,)*) => {
        match $name {
            $($crate::tasks::TaskName::$variant => {
                type $task = $crate::tasks::$module::$of_task;
                $body
            })*
        }
    };
}

/// Names that most files of a task need.
mod prelude {
    pub(super) use std::path::{Path, PathBuf};

    pub(super) use burn::module::Module;
    pub(super) use burn::tensor::{Device, Tensor, TensorData};
    pub(super) use firefly_models::ArgumentError;
    pub(super) use firefly_models::zoo::{Settings, ZooModel};

    pub(super) use super::scores::{self, ScoreRow};
    pub(super) use super::zoo_model::{self, ZooSection, ZooTask};
    pub(super) use super::{TaskName, check_rate};
    pub(super) use crate::config::{
        ConfigError, DataRoot, HeldValues, MAX_FRAMES, RATIOS_DB, RunConfig, Sections, TrainingSection, choice, ensure,
        ensure_within, in_section, locate, locate_own, locate_recordings, section,
    };
    pub(super) use crate::metrics::{Metric, StepLoss, Validation};
    pub(super) use crate::progress::{Event, Monitor};
    pub(super) use crate::task::{
        BatchShare, ExampleData, HostSets, LoadedModel, MetricCurve, ModelError, OpenRun, Placed, PredictionFile,
        PredictionForm, PredictionTable, Predictions, ReportParts, Result, Task, TaskData, TaskError, over_devices,
    };
}
