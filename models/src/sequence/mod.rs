//! Sequence models whose layers are long convolutions: learned kernels, state spaces, and Hyena.

mod block;
mod config;
mod family;
mod hyena;
mod kernels;
mod module;

pub use block::{Channels, FeedForward, Mixer, SequenceBlock};
pub use config::{HyenaConfig, LongConvConfig, S4dConfig};
pub use hyena::{HyenaFilter, HyenaOperator};
pub use kernels::{DiagonalStateSpace, DirectKernel};
pub use module::{Hyena, LongConv, S4d, SequenceStack};
