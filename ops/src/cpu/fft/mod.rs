//! Discrete Fourier transforms in f32, a vector across registers.
//!
//! A transform of n values in registers of L lanes is one over n / L columns, then one over the L lanes: see
//! [`passes`]. The tables for it are a [`FftPlan`](plan::FftPlan).

mod exact_twiddles;
mod forward;
mod halves;
pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
pub(in crate::cpu) mod prefetch;
pub(in crate::cpu) mod radix;
pub(in crate::cpu) mod sink;
pub(in crate::cpu) mod source;
pub(in crate::cpu) mod unpack;

pub(in crate::cpu) use exact_twiddles::{direction, forward_twiddles};
pub(in crate::cpu) use forward::{RowTransform, fourier};

/// Calls `$call` with the constant `$N`: the length `$n` where registers of so many lanes have code of their own for it,
/// whose loops are so short that their bookkeeping counts, or 0.
macro_rules! with_length {
    ($n:expr, $lanes:expr, |$N:ident| $call:expr) => {
        if $lanes == 16 {
            with_length!($n, $N, $call, 256 512 1024 2048 4096)
        } else if $lanes == 8 {
            with_length!($n, $N, $call, 64 128 256)
        } else {
            with_length!($n, $N, $call,)
        }
    };
    ($n:expr, $N:ident, $call:expr, $($length:literal)*) => {
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
