//! Discrete Fourier transforms of any length along the last dimension of tensors, complex and real.
//!
//! Transforms are not normalised but for [`TransformOptions::scale`]. Inputs may be f32, f16 or bf16; outputs are f32.
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
mod prepared;
mod step;
mod tables;
mod tensors;
#[cfg(test)]
mod tests;

use crate::options::Direction;

pub use tensors::{complex, real_forward, real_inverse};

/// A transform of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TransformOptions {
    /// Points of the transform: n, at least 1.
    pub length: usize,
    /// Sign of the exponent.
    pub direction: Direction,
    /// Factor of every output.
    pub scale: f32,
    /// Factor of the bins of half spectra that stand for two bins of the whole: all but the first, and the middle one
    /// of an even length.
    pub interior: f32,
}
