//! Device code of the butterfly transform.

pub mod backward;
pub mod forward;
mod index;

#[cfg(test)]
pub use index::{shared_offset, unit_index};

/// The gradients that a backward launch computes, for which different code is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GradientKind {
    pub gated: bool,
    /// Whether the gradient of the launch's input is written.
    pub of_input: bool,
    /// Whether the sums for the gradients of twiddles are written.
    pub of_twiddles: bool,
    /// Whether the sums for the gradients of gates are written.
    pub of_gates: bool,
}

impl GradientKind {
    /// Whether the gradients of butterflies are summed, which depend on the inputs of every stage.
    pub const fn of_butterflies(self) -> bool {
        self.of_twiddles || self.of_gates
    }
}
