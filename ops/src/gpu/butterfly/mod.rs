//! The butterfly transform on a device, forward and backward, for any length.
//!
//! log2 n stages of n/2 butterflies each, every one with a twiddle and a gate of its own. A launch computes consecutive
//! stages: short rows take one launch, long rows two or more, with the row in device memory between them. Within a
//! launch, units compute a few stages on values in registers (a pass), exchange values through shared memory, and
//! compute the next.

mod kernel;
mod launch;
mod plan;
#[cfg(test)]
mod tests;

pub use launch::{BackwardRows, ButterflyGradients, ButterflyTransform};
pub(super) use plan::{Propagation, launches};
