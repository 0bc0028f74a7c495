//! Firefly's differentiable operations on Burn tensors.
//!
//! | function | inputs → outputs | differentiable in |
//! | --- | --- | --- |
//! | [`welch_psd`] | signal `[.., frame]`, window `[n]` → power `[.., bins]` | signal, window |
//! | [`welch_peaks`] | the same → bins (int) and power `[.., k]` | signal, window (through power) |
//! | [`top_k`] | values `[.., length]` → positions (int) and values `[.., k]` | values |
//! | [`butterfly`] | re, im `[.., n]`, twiddles, gates → re, im `[.., n]` | all of them |
//! | [`learned_welch_psd`] | signal, [`LearnedParameters`] → power `[.., bins]` | all of them |
//! | [`learned_welch_peaks`] | the same → bins (int) and power `[.., k]` | all of them (through power) |
//!
//! Tensors are of any rank from 1: operations work along the last dimension, each row on its own.
//!
//! [`welch_peaks_from_host`] does `welch_peaks` on frames in host memory, chunk by chunk.
//!
//! # Contract
//! - **Sizes**: `n_fft` is a power of two from 8 to 65,536, `k` from 1 to `n_fft / 2 + 1`; a frame shorter than its
//!   segments need is an error.
//! - **Power** is one-sided: |X|² of the unnormalised forward transform, interior bins doubled (neither DC nor Nyquist),
//!   averaged over segments, then [scaled](Scaling).
//! - **Order**: peaks come strongest first; among equals the lower bin is first. Power that is not finite never outranks
//!   power that is: a row with fewer than `k` finite bins ends in (bin −1, power NaN). No row disturbs another.
//! - **Types**: f32 and, on a CPU, f64 compute in their own precision; f16 and bf16 compute in, and return, f32. Parameters are
//!   converted to the signal's type.
//! - **Errors**: a bad argument is an [`ArgumentError`] that names the operation, the argument, what it got and what it
//!   accepts.
//! - **Gradients** are exact for every input listed, and finite for zero and denormal input. The backward pass itself
//!   is not differentiable.
//!
//! Each operation is tested against a naive float64 definition.

mod api;
mod backends;
mod cpu;
pub mod descriptor;
mod error;
#[cfg(feature = "cube")]
mod gpu;
pub mod memory;
#[cfg_attr(feature = "ndarray", expect(deprecated, reason = "Burn retires NdArray after 0.22"))]
mod ops;
pub mod options;
mod sorting_network;
mod twiddles;

pub use api::{
    HostError, HostMemory, HostPeaks, LearnedParameters, MAX_TOP_K_LENGTH, Peaks, butterfly, host_chunks,
    learned_welch_peaks, learned_welch_psd, top_k, welch_peaks, welch_peaks_from_host, welch_psd,
};
pub use cpu::{InstructionSet, welch_instruction_set};
pub use descriptor::register_spectral_ops;
pub use error::ArgumentError;
pub use ops::{ButterflyTensors, Gates, LearnedTensors, SpectralOps, WelchTensors};
pub use options::{Detrend, Direction, MAX_N_FFT, MIN_N_FFT, Scaling, WelchOptions, Window, WindowSymmetry};
pub use twiddles::{exact_twiddle_values, exact_twiddles};
