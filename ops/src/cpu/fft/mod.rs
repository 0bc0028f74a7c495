//! Discrete Fourier transforms in f32, a vector across registers.

pub(in crate::cpu) mod forward;
pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
pub(in crate::cpu) mod prefetch;
pub(in crate::cpu) mod radix;
pub(in crate::cpu) mod source;
pub(in crate::cpu) mod unpack;
