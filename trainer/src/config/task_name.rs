//! Names of the tasks.

use std::fmt;
use std::str::FromStr;

use firefly_app::suggest;

use super::choice;

choice! {
    /// Name of a task.
    #[derive(Default)]
    pub enum TaskName {
        #[default]
        Peaks = "peaks",
        Transform = "transform",
        Forecasting = "forecasting",
        Classification = "classification",
        Denoising = "denoising",
        Operator = "operator",
    }
}

impl TaskName {
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
