//! Device code of a launch: `source` loads the values of a sequence, `passes` transform them, and `sink` or `fold` stores
//! them.

mod arguments;
mod fold;
mod passes;
mod roots;
mod sequence;
mod sink;
mod source;

pub use arguments::{TransformInputLaunch, TransformOutputArgs, TransformShapeLaunch};
pub use fold::fold_spectra;
pub use passes::transform_sequences;
