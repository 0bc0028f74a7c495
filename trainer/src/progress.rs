//! Progress of a run, as events to an observer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use firefly_app::number::whole;

use crate::checkpoint::DamagedCheckpoint;
use crate::metrics::TrainingPoint;

/// One event of a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the variants' texts explain their fields")]
pub enum Event<'a> {
    /// A sweep begins the run of this name: the key and its value, such as `price 0.1`.
    RunStarted(&'a str),
    /// Samples of an equation were solved: `done` of all `samples`.
    SamplesSolved { equation: &'static str, done: usize, samples: usize },
    /// The model is large, so that steps may take long: its parameters.
    LargeModel(usize),
    /// There is one class, so that every model is always right: its name.
    OneClass(&'a str),
    /// The folder was left by a run that ended before its first step, and is used.
    TakenOver(&'a Path),
    /// A checkpoint can't be used.
    CheckpointDamaged(&'a DamagedCheckpoint),
    /// The metrics of a resumed run in this file are damaged; lines that can be read are kept.
    MetricsDamaged(&'a Path),
    /// The resumed run has no checkpoint yet.
    NoCheckpoint,
    /// The run continues from a checkpoint: the steps done.
    Resumed(usize),
    /// The resumed run was started on other devices than those that it continues on, by their names.
    OtherDevices { started: &'a str, now: &'a str },
    /// Metrics were measured, which `text` has on one line, in a run of so many `steps`.
    Measured { point: &'a TrainingPoint, steps: usize, text: &'a str },
    /// Validation has not improved `patience` times after `step` steps.
    StoppedEarly { step: usize, patience: usize },
    /// The model of the lowest validation loss is kept, which is not the last one: the steps after which it was, 0 for
    /// the untrained model.
    BestKept(usize),
}

impl Event<'_> {
    /// The event as a sentence, if it is one to be read rather than counted.
    pub fn message(&self) -> Option<String> {
        Some(match self {
            Self::RunStarted(name) => (*name).to_string(),
            Self::LargeModel(parameters) => format!("the model has {} parameters", whole(*parameters as u64)),
            Self::OneClass(class) => {
                format!("{class} is the only class, so that every model is right: see data.separator and data.label")
            }
            Self::TakenOver(folder) => {
                format!("{} was left by a run that ended before its first step: it is used", folder.display())
            }
            Self::CheckpointDamaged(DamagedCheckpoint { folder, problem }) => {
                format!("a checkpoint can't be used and is now {}: {problem}; the one before is used", folder.display())
            }
            Self::MetricsDamaged(path) => {
                format!(
                    "{} is damaged: the lines that can be read are kept, the report lacks the others",
                    path.display()
                )
            }
            Self::NoCheckpoint => "the run has no checkpoint yet: it starts at its first step".to_string(),
            Self::OtherDevices { started, now } => {
                format!("the run was started on {started}, and continues on {now}: its results differ in rounding")
            }
            Self::Resumed(step) => format!("resuming at step {step}"),
            Self::StoppedEarly { step, patience } => {
                format!("stopped at step {step}: {patience} validations without a lower loss")
            }
            Self::BestKept(0) => {
                "training made no model that validates better than the untrained one, which is kept".to_string()
            }
            Self::BestKept(step) => format!("the model of step {step} is kept: it has the lowest validation loss"),
            _ => return None,
        })
    }
}

/// Observer of a run.
pub trait Progress: Send {
    /// Takes note of an event.
    fn on(&mut self, event: Event<'_>);
}

/// Stop flag of a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupter(Arc<AtomicBool>);

impl Interrupter {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag: the run ends at its next step.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn should_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Stop flag and observer of work that threads share.
pub struct Monitor<'a> {
    interrupter: Interrupter,
    progress: Mutex<Option<&'a mut dyn Progress>>,
}

impl<'a> Monitor<'a> {
    /// Work that `interrupter` stops, and whose events go to `progress`.
    pub fn new(interrupter: &Interrupter, progress: &'a mut dyn Progress) -> Self {
        Self { interrupter: interrupter.clone(), progress: Mutex::new(Some(progress)) }
    }

    /// Work that nothing stops or observes.
    pub fn none() -> Self {
        Self { interrupter: Interrupter::new(), progress: Mutex::new(None) }
    }

    /// Whether the work has to end.
    pub fn should_stop(&self) -> bool {
        self.interrupter.should_stop()
    }

    /// Hands an event to the observer.
    pub fn on(&self, event: Event<'_>) {
        if let Some(progress) = self.progress.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            progress.on(event);
        }
    }
}

/// Observer that ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn on(&mut self, _event: Event<'_>) {}
}
