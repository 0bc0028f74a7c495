//! Spectral convolutions: transforms that keep few modes, products of matrices per mode, and transforms back.
//!
//! - `plan`: parts of a batch, and how a product is spread over cubes; `kernel`: device code of the product and of
//!   columns as rows.
//! - `launch`: launches of the transforms of columns, of a product, of the convolution and of its backward pass.

mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub(super) use launch::{ModeMatrix, ModeProduct};
pub use launch::{SpectralConv, SpectralConvGradients};
pub use plan::BatchPlan;
pub(super) use plan::ProductSize;
