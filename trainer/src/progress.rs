//! Progress of a run, as events to an observer.

use std::path::Path;

use crate::checkpoint::DamagedCheckpoint;
use crate::metrics::TrainingPoint;

/// One event of a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A sweep begins the run of this name.
    RunStarted {
        /// The key and its value, such as `price 0.1`.
        name: &'a str,
    },
    /// Recordings are shorter than a frame and not used.
    RecordingsSkipped {
        /// Their number, per channel.
        count: usize,
    },
    /// The folder was left by a run that ended before its first step, and is used.
    TakenOver {
        /// The folder.
        folder: &'a Path,
    },
    /// A checkpoint can't be used.
    CheckpointDamaged {
        /// The checkpoint, and what is wrong with it.
        checkpoint: &'a DamagedCheckpoint,
    },
    /// The metrics of a resumed run are damaged; lines that can be read are kept.
    MetricsDamaged {
        /// The file.
        path: &'a Path,
    },
    /// The resumed run has no checkpoint yet.
    NoCheckpoint,
    /// The run continues from a checkpoint.
    Resumed {
        /// Steps done.
        step: usize,
    },
    /// Metrics were measured.
    Measured {
        /// The metrics.
        point: &'a TrainingPoint,
        /// Steps of the whole run.
        steps: usize,
        /// The metrics on one line.
        text: &'a str,
    },
    /// Validation has stopped improving; the best model is kept.
    StoppedEarly {
        /// Steps done.
        step: usize,
        /// Validations without improvement.
        patience: usize,
    },
}

/// Observer of a run.
pub trait Progress {
    /// Takes note of an event.
    fn on(&mut self, event: Event<'_>);
}

/// Observer that ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn on(&mut self, _event: Event<'_>) {}
}
