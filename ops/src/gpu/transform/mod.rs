//! Discrete Fourier transforms of rows of any length, complex and real.
//!
//! Rows are read at their stride. Of rows that are longer than a transform the rest is ignored; shorter ones are
//! continued with zeros.
//!
//! - `plan`: the launches of a transform (`launch_plan`), how a cube computes one, and where in shared memory
//!   (`cube_layout`).
//! - `plan_cache`: plans, and what kernels read besides values, made once per device.
//! - `kernel`: device code; `launch`: launches.

pub(super) mod cube_layout;
pub(super) mod kernel;
mod launch;
pub(super) mod launch_plan;
pub(super) mod plan;
pub(super) mod plan_cache;
#[cfg(test)]
pub(super) mod tests;

pub(super) use launch_plan::TransformLaunchPlan;

pub use launch::{ALIGNED_VALUES, StridedRows, TransformCall, is_padded, transform};
pub use plan::{ColumnModes, TransformKind, TransformProblem};
pub use plan_cache::planned;
