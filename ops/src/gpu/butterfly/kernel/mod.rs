//! Device code of the butterfly transform.

mod backward;
mod forward;
mod index;
mod packed;
mod twiddle_period;

pub use backward::{ButterflyBuffersLaunch, RowRunsLaunch, backward};
pub use forward::{ForwardTablesLaunch, forward};
#[cfg(test)]
pub use index::{shared_offset, unit_index};
pub use packed::{PACK_UNITS, pack};
pub use twiddle_period::{PERIOD_UNITS, find_periods};

/// The kinds of butterflies, for which different code is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Whether there are gates.
    pub gated: bool,
    /// Whether the twiddles are the n/2 roots exp(-2πi·j/n) that all stages share, not one per butterfly.
    pub roots: bool,
    /// Whether the input has no imaginary part.
    pub real: bool,
}
