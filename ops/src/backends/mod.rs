//! One adapter a backend: how each of them runs the operations of [`SpectralOps`](crate::SpectralOps).
//!
//! [`host`] serves the backends whose tensors are in host memory; [`description`] is what the recording
//! backends (fusion, capture) share.

mod autodiff;
mod capture;
#[cfg(feature = "cube")]
mod cube;
mod description;
mod flex;
mod fusion;
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;

pub use description::register;
