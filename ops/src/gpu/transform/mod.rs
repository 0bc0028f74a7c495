//! Discrete Fourier transforms of any length along the last dimension of tensors, complex and real.
//!
//! Inputs may be f32, f16 or bf16; outputs are f32.
//! Rows are read at their stride. Of rows that are longer than a transform the rest is ignored; shorter ones are
//! continued with zeros.
//!
//! - `plan`: the launches of a transform (`step`), and how a cube computes one (`layout`).
//! - `tables`, `prepared`: what kernels read besides values, made once per device.
//! - `kernel`: device code; `launch`: launches; `tensors`: Burn's tensors.

mod kernel;
pub(super) mod launch;
mod layout;
pub(super) mod plan;
pub(super) mod prepared;
mod step;
mod tables;
mod tensors;
#[cfg(test)]
mod tests;

pub use tensors::{complex, real_forward, real_inverse};
