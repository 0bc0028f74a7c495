//! Device code of the butterfly transform.

pub mod backward;
pub mod forward;
mod index;
pub mod packed;
pub mod twiddle_period;

#[cfg(test)]
pub use index::{shared_offset, unit_index};

/// The kinds of butterflies, for which different code is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ButterflyKind {
    /// Whether there are gates.
    pub gated: bool,
    /// Whether the twiddles are the n/2 roots exp(-2πi·j/n) that all stages share, not one per butterfly.
    pub roots: bool,
    /// Whether the input has no imaginary part.
    pub real: bool,
}
