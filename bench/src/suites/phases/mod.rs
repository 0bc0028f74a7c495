//! Fusion phases: Welch peaks from a transform whose spectrum is read back to one fused kernel.

mod host_tail;
mod plan;
mod replay;
mod strategies;

pub use host_tail::host_tail;
pub use plan::Phase;
pub use replay::{GraphRunner, replay};
pub use strategies::catalogue;
