//! Products of butterfly matrices and permutations, which learn fast transforms.

mod config;
mod family;
mod module;
mod permutation;

pub use config::{ButterflyConfig, PermutationKind};
pub use module::{Butterfly, ButterflyFactor};
pub use permutation::RelaxedPermutation;
