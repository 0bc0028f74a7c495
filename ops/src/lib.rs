//! Differentiable spectral operations for [Burn](https://burn.dev): Fourier transforms of any length, Welch and mel
//! spectra, peaks, spectral and long convolutions, and gated butterfly transforms, with kernels for CPUs and GPUs.
//!
//! | function | inputs → outputs | differentiable in |
//! | --- | --- | --- |
//! | [`welch_psd`] | signal `[.., frame]`, window `[n]` or [`WelchWeights`] → power `[.., bins]` | signal, window, gain |
//! | [`welch_psd_complex`] | complex signal `[.., frame]`, window `[n]` → two-sided power `[.., n]` | signal, window |
//! | [`welch_peaks`] | the inputs of `welch_psd` → bins (int) and power `[.., k]` | signal, window, gain (through power) |
//! | [`welch_peaks_complex`] | those of `welch_psd_complex` → bins (int) and power `[.., k]` | signal, window (through power) |
//! | [`power_spectrum`] | signal `[.., n]` → power `[.., bins]` | signal, window |
//! | [`power_spectrum_complex`] | complex signal `[.., n]` → two-sided power `[.., n]` | signal, window |
//! | [`mel`], [`log_mel`] | signal `[.., samples]`, window → bands `[.., bands, frames]` | signal, window |
//! | [`top_k`] | values `[.., length]` → positions (int) and values `[.., k]` | values |
//! | [`local_maxima`] | power `[.., length]` → bins (int), power, prominence and offset `[.., k]` | power |
//! | [`local_maxima_2d`] | power `[.., frames, bins]` → frames and bins (int), power, prominence and offset `[.., k]` | power |
//! | [`butterfly`] | complex or real `[.., n]`, twiddles, gates → complex `[.., n]` | all of them |
//! | [`long_conv`] | signal `[batch, channels, n]`, kernel `[channels, k]`, gate → the signal's shape | all of them |
//! | [`peak_loss`](training::peak_loss) | power `[.., bins]`, [`PeakTargets`](training::PeakTargets) → losses of ranks and power `[.., 2]` | power |
//! | [`adam_step`](training::adam_step) | [`AdamState`](training::AdamState), gradient → the state after a step of Adam or AdamW | none |
//! | [`spectral_conv`] | input `[batch, in, n…]`, weights `[in, out, modes…]` → `[batch, out, n…]` | both |
//!
//! The module [`fft`] has Fourier transforms of any length, in the conventions of `torch.fft`, and others of SciPy:
//! `fft::rfft(signal)?`. Complex values are a [`ComplexTensor`](fft::ComplexTensor) everywhere. [`cross_spectra`] has cross
//! spectra, coherence, transfer functions, [`multitaper`] estimates, [`significance`] of peaks, [`resampling`] other rates,
//! [`audio`] signals of magnitudes, features of spectra and a loss, [`trend`] trends of rows, [`tracks`] peaks followed
//! from frame to frame, [`options`] the rarer options.
//!
//! [`welch_peaks_from_host`](from_host::welch_peaks_from_host) does `welch_peaks` on frames in host memory, chunk by chunk.
//!
//! ```
//! use burn::tensor::{Device, FloatDType, Tensor};
//! use firefly_ops::{WelchOptions, Window, WindowSymmetry, welch_peaks};
//!
//! // A tone at bin 5 of 64, in two segments.
//! let device = Device::flex();
//! let options = WelchOptions::new(64, 2);
//! let time = Tensor::<1, burn::tensor::Int>::arange(0..options.frame() as i64, &device).float();
//! let signal = (time * (2.0 * std::f32::consts::PI * 5.0 / 64.0)).sin();
//! let window = Window::Hann.tensor(64, WindowSymmetry::Periodic, FloatDType::F32, &device);
//!
//! let peaks = welch_peaks(signal, window, &options, 3)?;
//! assert_eq!(peaks.bins.into_data().iter::<i64>().next(), Some(5));
//! # Ok::<(), firefly_ops::ArgumentError>(())
//! ```
//!
//! # Contract
//! - **Rank**: tensors are of any rank from 1, and operations work along the last dimension, each row on its own; but
//!   [`long_conv`] takes a batch of channels, rank 3, and [`spectral_conv`] a batch of channels of one to three
//!   dimensions, ranks 3 to 5, which it transforms along all of them.
//! - **Sizes**: `n_fft` is any number from 1 (of butterflies a power of two from 8 to 65,536),
//!   `k` from 1 to `n_fft / 2 + 1`, or to `n_fft` of a complex signal; a frame shorter than its segments need is an
//!   error. [`top_k`], [`local_maxima`] and [`welch_peaks_complex`] take any length up to 1,048,576.
//! - **Power** is one-sided: |X|² of the unnormalised forward transform, interior bins doubled (neither DC nor
//!   Nyquist), averaged over segments, then [scaled](Scaling). Of complex signals it is two-sided, in the order of
//!   [`fftfreq`](fft::fftfreq), and no bin is doubled.
//! - **Order**: peaks come strongest first; among equals the lower bin is first. Power that is not finite never
//!   outranks power that is: a row with fewer than `k` finite bins ends in (bin −1, power NaN). No row disturbs
//!   another.
//! - **Types**: f32 and, on a CPU, f64 compute in their own precision; f16 and bf16, and the integers of a
//!   [signal](SampleKind), compute in, and return, f32.
//!   Parameters are converted to the signal's type.
//! - **Errors**: functions return a [`Result`]. A bad argument is an [`ArgumentError`] that names the operation, the
//!   argument, what it got and what it accepts. Modules on these functions, as those of `firefly-models`, follow Burn:
//!   `forward` panics with the message of that error, `try_forward` returns it. The operators of a
//!   [`ComplexTensor`](fft::ComplexTensor) panic as Burn's own do.
//! - **Gradients** are exact for every input listed, and finite for zero and denormal input. The backward pass itself
//!   is not differentiable.
//! - **Reproducibility**: results do not depend on the number of threads or the position in the batch, and are the same
//!   bits from run to run on one device.
//!
//! Each operation is tested against a naive float64 definition.
//!
//! # Features
//! | feature | effect |
//! | --- | --- |
//! | `flex` (default), `ndarray` | CPU backends |
//! | `wgpu`, `vulkan`, `metal`, `cuda`, `rocm` | CubeCL's runtimes |
//! | `autodiff` (default) | gradients |
//! | `fusion` | Burn's lazy fusion; on with any CubeCL runtime |
//! | `capture`, `router` | graph capture; replay and remote execution through `register_spectral_ops` |
//! | `remote` | devices of another process or machine, through Burn's server |
//! | `simd`, `rayon` | the features of those names of Burn's CPU backend |
//!
//! On a CPU, large results are written to memory that is reused: see [`memory`].
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod api;
mod backends;
mod cache;
#[cfg(any(feature = "flex", feature = "ndarray"))]
mod cpu;
mod error;
mod fast_length;
#[cfg(feature = "cube")]
mod gpu;
/// Instruction sets of the CPU kernels.
#[cfg(any(feature = "flex", feature = "ndarray"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "flex", feature = "ndarray"))))]
pub mod instruction_sets {
    pub use crate::cpu::instruction_set;
    #[cfg(feature = "testing")]
    #[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
    pub use crate::cpu::{InstructionSet, welch_instruction_set};
}
mod mel_filters;
#[cfg(any(feature = "flex", feature = "ndarray"))]
#[cfg_attr(docsrs, doc(cfg(any(feature = "flex", feature = "ndarray"))))]
pub mod memory;
#[cfg_attr(feature = "ndarray", expect(deprecated, reason = "Burn retires NdArray after 0.22"))]
pub mod op;
pub mod options;
#[doc(hidden)]
pub mod rustfft_plans;
mod sample_type;
mod sorting_network;
mod spectral_shape;
pub mod twiddles;

pub use api::{
    LocalMaxima, LocalMaxima2d, Peaks, SampleKind, WelchWeights, audio, butterfly, cross_spectra, fft, from_host,
    local_maxima, local_maxima_2d, log_mel, long_conv, mel, multitaper, power_spectrum, power_spectrum_complex,
    resampling, significance, spectral_conv, top_k, tracks, training, trend, welch_peaks, welch_peaks_complex,
    welch_psd, welch_psd_complex,
};
pub use error::ArgumentError;
pub use options::{
    Band, Detrend, Direction, LocalMaximaOptions, MelOptions, Norm, PowerSpectrumOptions, Scaling, StftOptions,
    WelchOptions, Window, WindowSymmetry,
};
