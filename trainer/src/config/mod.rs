//! The configuration of a run: its TOML file, checked key by key.

mod devices;
mod load;
mod locate;
mod optimizer_section;
mod parser_message;
pub mod reference;
mod resolved;
mod sections;
mod task_name;
mod training_section;
mod validate;

use serde::{Deserialize, Serialize};

pub use devices::DeviceNames;
pub use load::{ConfigError, load, load_text, task_of, task_of_text};
pub use locate::{DataRoot, GENERATED};
pub(crate) use locate::{locate, locate_frames, locate_own, locate_recordings};
pub use optimizer_section::{Optimizer, OptimizerSection, RateSchedule};
pub use resolved::Resolved;
pub use sections::{HeldValues, ModelChoice, NoKeys, Section, Sections};
pub use task_name::TaskName;
pub use training_section::{Length, Training, TrainingSection};
pub(crate) use validate::{MAX_FRAMES, ensure, in_section};

/// A training run of a task, as its TOML file states it. Every key has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "")]
pub struct RunConfig<T: Sections> {
    /// The run's name, and its folder's unless another is given; the file's name if empty.
    pub name: String,
    /// The task.
    pub task: TaskName,
    /// Seed of every random number.
    pub seed: u64,
    /// The devices to train on, unless the command line names others.
    #[serde(skip_serializing_if = "DeviceNames::is_empty")]
    pub devices: DeviceNames,
    /// The model.
    pub model: T::ModelSection,
    /// The data.
    pub data: T::DataSection,
    /// The length of the training and its learning rate.
    pub training: T::TrainingSection,
    /// The optimizer.
    pub optimizer: OptimizerSection,
    /// The loss.
    pub loss: T::LossSection,
    /// Metrics, validation and checkpoints.
    pub schedule: ScheduleSection,
}

impl<T: Sections> Default for RunConfig<T> {
    fn default() -> Self {
        Self {
            name: String::new(),
            task: T::NAME,
            seed: 0,
            devices: DeviceNames::default(),
            model: T::ModelSection::default(),
            data: T::DataSection::default(),
            training: T::TrainingSection::default(),
            optimizer: OptimizerSection::default(),
            loss: T::LossSection::default(),
            schedule: ScheduleSection::default(),
        }
    }
}

/// Metrics, validation and checkpoints, in steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSection {
    /// Steps from one line of metrics to the next.
    pub log_every: usize,
    /// Steps from one validation to the next.
    pub validate_every: usize,
    /// Upper limit of validation frames.
    pub validation_frames: usize,
    /// Validations without a lower loss after which training stops; 0 for all steps.
    pub patience: usize,
    /// Steps from one checkpoint to the next.
    pub checkpoint_every: usize,
    /// Checkpoints kept.
    pub keep_checkpoints: usize,
}

impl Default for ScheduleSection {
    fn default() -> Self {
        Self {
            log_every: 20,
            validate_every: 250,
            validation_frames: 512,
            patience: 0,
            checkpoint_every: 500,
            keep_checkpoints: 2,
        }
    }
}
