//! Sequence models whose layers are long convolutions: learned kernels, state spaces, and Hyena.

mod block;
mod causal;
mod config;
mod diagonal;
mod direct;
mod family;
mod hyena;
mod hyena_filter;
mod module;

pub use block::{Channels, FeedForward, Mixer, SequenceBlock};
pub use config::{HyenaConfig, LongConvConfig, S4dConfig};
pub use diagonal::DiagonalStateSpace;
pub use direct::DirectKernel;
pub use hyena::HyenaOperator;
pub use hyena_filter::HyenaFilter;
pub use module::{Hyena, LongConv, S4d, SequenceStack};
