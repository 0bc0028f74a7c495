//! Kernels for CubeCL's devices: CUDA, Vulkan, WebGPU and Metal, from one source.
//!
//! Functions take a [`GpuDevice`] and handles of buffers; Burn's tensors stay in `backends/cube`. Each operation family
//! has a folder, or a file where it is short: `kernel` is the device code, and `launch.rs` binds buffers and launches.
//! Where shapes and limits leave a choice, `plan.rs` decides, as plain data, which `tests` check without a device. Where
//! gradients take launches of their own, those of `long_conv` are in `backward.rs`, all others in `launch.rs`.
//! A function that plans or launches returns the limit of the device that is too low as a [`DeviceLimitError`].
//!
//! - `device`: limits, grids, buffers, cached tables and the check before dispatch.
//! - `butterfly`: the butterfly transform of any length, forward and backward.
//! - `transform`: discrete Fourier transforms of any length, complex and real.
//! - `long_conv`: causal convolutions with a kernel per channel, in one launch where a row fits a cube.
//! - `segments`: windowed segments of rows, their spectra and the gradients of both, in a launch per step; frames that are
//!   transformed within a cube.
//! - `welch`: Welch power and peaks, in one launch where a row fits a cube, else from the spectra of `segments`.
//! - `mel`: mel spectra, in one launch where a frame fits a cube, else from the spectra of `segments`.
//! - `peak_loss`: losses of power against target peaks.
//! - `spectral_conv`: transforms that keep few modes, products per mode, and transforms back.
//! - `cross_spectra`: products of spectra of channels, as matrices per bin.
//! - `adam`: steps of Adam, in place.
//! - `signal`: samples of signals in the type that they have in memory.
//! - `top_k`, `local_maxima`, `reduce`: the strongest bins and the local maxima of rows in device memory; sums over
//!   rows.
#![allow(
    clippy::assign_op_pattern,
    clippy::collapsible_if,
    clippy::manual_div_ceil,
    clippy::manual_is_multiple_of,
    clippy::needless_range_loop,
    reason = "kernels are written in the subset of Rust that CubeCL compiles"
)]

mod adam;
pub mod butterfly;
mod complex;
mod cross_spectra;
mod device;
mod local_maxima;
pub mod long_conv;
pub mod mel;
mod peak_loss;
mod reduce;
mod requirement;
mod segments;
mod short_transform;
mod signal;
pub mod spectral_conv;
#[cfg(test)]
mod tests;
mod top_k;
pub mod transform;
pub mod welch;

pub use adam::adam_step;
pub use complex::ComplexRows;
pub use cross_spectra::{CrossShape, cross_spectra, cross_spectra_backward};
pub use device::{DeviceLimit, DeviceLimitError, GpuDevice, MAX_ELEMENTS, Result};
pub use local_maxima::{MaximaBuffers, local_maxima};
pub use peak_loss::{PeakLossBuffers, peak_loss, peak_loss_backward};
pub use requirement::{Requirement, check, check_fft, check_long_conv, check_mel, check_spectral_conv};
pub use segments::DeviceFrames;
pub use signal::from_word;
pub use top_k::{PeakBuffers, SearchedRows, top_k};
