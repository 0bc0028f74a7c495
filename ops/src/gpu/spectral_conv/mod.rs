//! Spectral convolutions: transforms that keep few modes, products of matrices per mode, and transforms back.
//!
//! - `plan`: parts of a batch, and how a product is spread over cubes; `kernel`: device code of the product and of
//!   columns as rows.
//! - `column_transform`: launches of the transforms of columns; `launch`: those of a product, the convolution and its
//!   backward pass.

mod column_transform;
mod kernel;
mod launch;
mod plan;
#[cfg(test)]
pub(super) mod tests;

pub use launch::{SpectralConv, SpectralConvGradients};
pub use plan::BatchPlan;
