//! Harness: problems, strategies, and their verification, timing and records.

pub mod any_tensor;
pub mod calls;
pub mod case;
pub mod date;
pub mod device_clock;
pub mod device_routine;
pub mod execution;
pub mod input_sets;
pub mod load;
pub mod machine;
pub mod number_list;
pub mod outcome;
pub mod parameters;
pub mod phase_traffic;
pub mod problem;
pub mod routine;
pub mod runner;
pub mod sampling;
pub mod statistics;
pub mod strategy;
pub mod timing;
pub mod verification;
