//! Kernels for CubeCL's devices: CUDA, Vulkan, WebGPU and Metal, from one source.
//!
//! Nothing here knows Burn: functions take handles of contiguous buffers and a client.

mod active;
mod buffers;
mod error;
mod factor;
mod gain;
mod grid;
pub mod learned;
pub mod learned_backward;
mod limits;
pub mod network;
mod power;
mod roots;
mod segments;
mod sums;
mod taper;
mod top_k;
mod untaper;
pub mod welch_backward;

pub use error::KernelError;
pub use limits::Limits;
pub use top_k::strongest;
