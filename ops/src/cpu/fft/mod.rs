//! Discrete Fourier transforms in f32, a vector across registers.
//!
//! A transform of n values in registers of L lanes is one over n / L columns, then one over the L lanes: see
//! [`passes`]. The tables for it are a [`FftPlan`](plan::FftPlan).

mod exact_twiddles;
mod forward;
pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
pub(in crate::cpu) mod prefetch;
pub(in crate::cpu) mod radix;
pub(in crate::cpu) mod sink;
pub(in crate::cpu) mod source;
pub(in crate::cpu) mod unpack;

pub(in crate::cpu) use exact_twiddles::{direction, forward_twiddles};
pub(in crate::cpu) use forward::{RowTransform, fourier};

/// The length with code of its own where registers are wide: its loops are so short that their bookkeeping counts.
pub(in crate::cpu) const SPECIALISED_N: usize = 256;
