//! Kernels over plain slices: the arithmetic under the CPU adapters.
//!
//! Every entry function takes row-major slices whose lengths its caller has checked, runs its rows on rayon's
//! current pool when there is enough to do, and gives the same bits whatever the number of threads: rows do not
//! depend on each other, and a sum over rows is made of partial sums over blocks whose size follows from the shapes
//! alone. Nothing is allocated per row; buffers are kept per thread.

mod butterfly;
mod butterfly_backward;
mod gain;
mod lanes;
mod learned;
mod learned_backward;
mod learned_sums;
mod network;
mod once;
mod parallel;
mod peaks;
mod psd;
mod psd_backward;
mod real;
mod reduction;
mod scaling;
mod scratch;
mod segment;
mod simd;
mod split;
mod stage;
#[cfg(test)]
mod tests;
mod top_k;

pub use butterfly::butterfly;
pub use butterfly_backward::{ButterflyGradients, butterfly_backward};
pub use gain::GAIN_TAPS;
pub use learned::{LearnedWelch, learned_welch_peaks, learned_welch_psd};
pub use learned_backward::{LearnedGradients, learned_welch_psd_backward};
pub use network::Network;
pub use peaks::welch_peaks;
pub use psd::welch_psd;
pub use psd_backward::welch_psd_backward;
pub use real::Real;
pub use simd::{InstructionSet, welch_instruction_set};
