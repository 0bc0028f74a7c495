//! Names of the tasks.

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

    /// Description of what is trained, in a line.
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
