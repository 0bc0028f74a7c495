//! Harness: problems, strategies, and their verification, timing and records.

mod inputs;
mod machine;
mod outcome;
mod parameters;
mod problem;
mod routine;
mod runner;
mod timing;
mod verification;

pub use outcome::{BatchLimit, CaseOutcome, CaseRecord, LimitedBy, Measured, Percentiles, PhaseTraffic, SpeedRatio};
pub use parameters::ParameterMap;
pub use problem::{BenchStrategy, CaseError, CaseResult, ExecutionConfig};
pub use routine::{HostRoutine, Output, Routine, TensorRoutine};
pub use timing::TurnOrder;
pub use verification::{Accuracy, Selected, Verification};

pub(crate) use self::{
    inputs::*, machine::*, outcome::*, parameters::*, problem::*, routine::*, runner::*, timing::*, verification::*,
};
