//! Kernels for CubeCL's devices: CUDA, Vulkan, WebGPU and Metal, from one source.
//!
//! Nothing here knows Burn: functions take handles of contiguous buffers and a client.
#![allow(
    clippy::assign_op_pattern,
    clippy::collapsible_if,
    clippy::manual_is_multiple_of,
    clippy::needless_range_loop,
    reason = "kernels are written in what CubeCL takes of Rust"
)]

mod active;
mod buffers;
mod error;
mod factor;
mod gain;
mod grid;
mod layout;
pub mod learned;
pub mod learned_backward;
mod limits;
pub mod network;
mod plan;
mod power;
mod roots;
mod segments;
mod sums;
mod tables;
mod taper;
#[cfg(all(test, feature = "metal"))]
mod tests;
mod top_k;
mod untaper;
pub mod welch;
pub mod welch_backward;

pub use error::KernelError;
#[cfg(test)]
pub(crate) use limits::MOST_BUFFER;
pub use top_k::strongest;
