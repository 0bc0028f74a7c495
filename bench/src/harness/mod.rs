//! Harness: problems, strategies, and their verification, timing and records.

mod calls;
mod inputs;
mod load;
mod machine;
mod number_list;
mod outcome;
mod parameters;
mod problem;
mod routine;
mod runner;
mod strategy;
mod timing;
mod verification;

pub use outcome::{
    BatchLimit, CaseOutcome, CaseRecord, LimitedBy, Measured, Percentiles, PhaseTraffic, SpeedRatio, WorkSize,
};
pub use parameters::ParameterMap;
pub use problem::CaseError;
pub use routine::{HostRoutine, Output, Routine, TensorRoutine};
pub use strategy::{BenchStrategy, ExecutionConfig};
pub use timing::{Iterations, TurnOrder, VerifiedCase, interleave};
pub use verification::{Accuracy, Selected, Verification};

pub(crate) use calls::{BY_DEVICE_CLOCK, CallRunner, Calls, QUEUED};
pub(crate) use inputs::{Fill, Inputs, TensorSpec, widened};
pub(crate) use load::{LoadProbe, LoadRecord, in_quiet_rounds};
pub(crate) use machine::{MachineInfo, available_cores, available_memory, date, day};
pub(crate) use number_list::{NumberRange, distinct, grouped, numbers, whole};
pub(crate) use outcome::DERIVED;
pub(crate) use parameters::{name_of, shown};
pub(crate) use problem::{MAX_BYTES, MEMORY_SHARE, Problem, ProblemSpec, check_memory, too_large};
pub(crate) use routine::{Computed, failed, floats, gradients, read, read_wide, with_values};
pub(crate) use runner::{CONTROL, COPY_BASELINE, MeasurementSetup, Runner};
pub(crate) use timing::{INTERRUPTED, is_interrupted, listen};
pub(crate) use verification::{Expectation, ExpectedRow, Verified, check, check_each, tolerance, whole_tensors};
