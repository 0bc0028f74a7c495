//! Scalar engine: planned transforms of rustfft and plain loops, generic over f32 and f64.
//!
//! It runs everything in f64, f32 on processors without a detected instruction set, and the gradients of exact Welch
//! power in either type.

pub(in crate::cpu) mod butterfly;
pub(in crate::cpu) mod butterfly_backward;
pub(in crate::cpu) mod learned;
pub(in crate::cpu) mod learned_backward;
mod pack;
mod split;
mod stage;
pub(in crate::cpu) mod welch;
pub(in crate::cpu) mod welch_backward;
