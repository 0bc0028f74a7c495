//! Harness: problems, strategies, and their verification, timing and records.

mod calls;
mod device_clock;
mod execution;
mod inputs;
mod load;
mod machine;
mod number_list;
mod outcome;
mod parameters;
mod problem;
mod ranking;
mod routine;
mod runner;
mod statistics;
mod strategy;
mod tensor_routine;
mod timing;
mod verification;

pub use execution::ExecutionConfig;
pub use outcome::{BatchLimit, CaseOutcome, CaseRecord, LimitedBy, Measured, PhaseTraffic, SpeedRatio};
pub use parameters::ParameterMap;
pub use problem::{CaseError, WorkSize};
pub use routine::{HostRoutine, Output, Routine};
pub use statistics::Percentiles;
pub use strategy::BenchStrategy;
pub use tensor_routine::TensorRoutine;
pub use timing::{Iterations, TurnOrder, VerifiedCase, interleave};
pub use verification::{Accuracy, Selected, Verification};

pub(crate) use calls::{BY_DEVICE_CLOCK, CallRunner, Calls, QUEUED};
pub(crate) use device_clock::DeviceClock;
pub(crate) use inputs::{Fill, Inputs, TensorSpec, widened};
pub(crate) use load::{LoadProbe, LoadRecord, in_quiet_rounds};
pub(crate) use machine::{MachineInfo, available_cores, available_memory, date, day};
pub(crate) use number_list::{NumberRange, distinct, grouped, numbers, whole};
pub(crate) use outcome::DERIVED;
pub(crate) use parameters::{name_of, shown};
pub(crate) use problem::{MAX_BYTES, MEMORY_SHARE, Problem, check_batch, check_memory};
pub(crate) use ranking::{RankedRow, relative};
pub(crate) use routine::{checksum, failed};
pub(crate) use runner::{CONTROL, COPY_BASELINE, MeasurementSetup, Runner};
pub(crate) use tensor_routine::{Computed, floats, gradients, read, read_wide, with_values};
pub(crate) use timing::{INTERRUPTED, is_interrupted, listen};
pub(crate) use verification::{
    Expectation, ExpectedRow, References, Verified, check, check_each, tolerance, whole_tensors,
};
