//! Device code of a launch: `source` loads the values of a sequence, `passes` transform them, with an `exchange` after
//! each, and `sink` or `fold` stores them.

mod arguments;
mod exchange;
mod fold;
mod passes;
mod sequence;
mod sink;
mod source;

pub use arguments::{TransformInputArgs, TransformOutputArgs, TransformShapeLaunch};
pub use exchange::write_exchange;
pub use fold::fold_spectra;
pub use passes::{KeptTwiddles, run_passes, transform_passes, transform_sequences, wait};
pub use sequence::{Sequence, has_short_transform, mirrored, own_sequence, padded, root, short_transform};
