//! Discrete Fourier transforms in f32, a vector across registers.
//!
//! A transform of n values in registers of L lanes is one over n / L columns, then one over the L lanes: see
//! [`passes`]. The tables for it are a [`FftPlan`](plan::FftPlan).

mod forward;
pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
pub(in crate::cpu) mod prefetch;
pub(in crate::cpu) mod radix;
mod radix16;
pub(in crate::cpu) mod sink;
pub(in crate::cpu) mod source;
#[cfg(test)]
mod tests;
pub(in crate::cpu) mod unpack;

pub(in crate::cpu) use forward::{RowTransform, fourier};

/// Calls `$call` with the constant `$N`: the length `$n`, if there is code of its own for it in registers of `$lanes`
/// lanes, in which the compiler knows how long every loop and slice is; otherwise 0.
macro_rules! with_length {
    ($n:expr, $lanes:expr, |$N:ident| $call:expr) => {
        match $lanes {
            16 => with_length!(@one_of 256 512 1024 2048 4096: $n, $N, $call),
            8 => with_length!(@one_of 64 128 256: $n, $N, $call),
            _ => with_length!(@one_of: $n, $N, $call),
        }
    };
    (@one_of $($length:literal)*: $n:expr, $N:ident, $call:expr) => {
        match $n {
            $($length => {
                const $N: usize = $length;
                $call
            })*
            _ => {
                const $N: usize = 0;
                $call
            }
        }
    };
}
pub(in crate::cpu) use with_length;
