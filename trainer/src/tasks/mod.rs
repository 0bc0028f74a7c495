//! The tasks: one folder each, and their names.
//!
//! A task is added with a folder that implements [`Task`](crate::task::Task), a variant of [`TaskName`] and a line of
//! [`with_task`](crate::with_task).

pub mod classification;
pub mod denoising;
pub mod forecasting;
pub mod operator;
pub mod peaks;
pub mod scores;
pub mod transform;
pub mod zoo_model;

use std::fmt;
use std::str::FromStr;

use firefly_app::suggest;
use serde::{Deserialize, Serialize};

/// Name of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskName {
    /// Strongest lines of Welch power spectra, with fewer butterflies.
    #[default]
    Peaks,
    /// A linear transform from its matrix or from examples.
    Transform,
    /// The next rows of a series.
    Forecasting,
    /// The class of a recording.
    Classification,
    /// A recording without its noise.
    Denoising,
    /// A map between fields.
    Operator,
}

impl TaskName {
    /// Every task.
    pub const ALL: [Self; 6] =
        [Self::Peaks, Self::Transform, Self::Forecasting, Self::Classification, Self::Denoising, Self::Operator];

    /// The name, as in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Peaks => "peaks",
            Self::Transform => "transform",
            Self::Forecasting => "forecasting",
            Self::Classification => "classification",
            Self::Denoising => "denoising",
            Self::Operator => "operator",
        }
    }

    /// What is trained, in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Peaks => "strongest lines of Welch power spectra, learned with fewer segments or butterflies",
            Self::Transform => "a fast transform, learned from its matrix or from examples",
            Self::Forecasting => "the next rows of a series, from those before",
            Self::Classification => "the class of a recording, or of each of its parts",
            Self::Denoising => "a recording without the noise that was added to it",
            Self::Operator => "a map between fields on grids, such as the solution of a differential equation",
        }
    }
}

impl FromStr for TaskName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.iter().map(|task| task.as_str());
        Self::ALL.into_iter().find(|task| task.as_str() == text).ok_or_else(|| {
            let known = names().collect::<Vec<_>>().join(", ");
            format!("there is no task `{text}`{}; tasks are {known}", suggest::hint(text, names()))
        })
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An expression in which `$task` is the type of the task that a [`TaskName`] names.
#[macro_export]
macro_rules! with_task {
    ($name:expr, $task:ident => $body:expr) => {
        match $name {
            $crate::tasks::TaskName::Peaks => {
                type $task = $crate::tasks::peaks::Peaks;
                $body
            }
            $crate::tasks::TaskName::Transform => {
                type $task = $crate::tasks::transform::TransformTask;
                $body
            }
            $crate::tasks::TaskName::Forecasting => {
                type $task = $crate::tasks::forecasting::Forecasting;
                $body
            }
            $crate::tasks::TaskName::Classification => {
                type $task = $crate::tasks::classification::Classification;
                $body
            }
            $crate::tasks::TaskName::Denoising => {
                type $task = $crate::tasks::denoising::Denoising;
                $body
            }
            $crate::tasks::TaskName::Operator => {
                type $task = $crate::tasks::operator::OperatorTask;
                $body
            }
        }
    };
}
