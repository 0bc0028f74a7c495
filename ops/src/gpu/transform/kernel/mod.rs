//! Device code of a launch: `source` loads the values of a sequence, `passes` transform them, and `sink` or `fold` stores
//! them.

mod arguments;
mod fold;
mod passes;
mod roots;
mod sequence;
mod sink;
mod source;

pub use arguments::{TransformInputArgs, TransformOutputArgs, TransformShapeLaunch};
pub use fold::fold_spectra;
pub use passes::{read_exchange, run_passes, short_transforms, transform_sequences, write_exchange};
pub use roots::root;
pub use sequence::{Sequence, has_short_transform, mirrored, own_sequence, padded, short_transform};
