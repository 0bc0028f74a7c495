//! Adapters, one per backend: how each of them runs the operations of [`SpectralOps`](crate::SpectralOps).
//!
//! [`host`] serves the backends whose tensors are in host memory, and [`buffer_pool`] reuses that memory; fusion and capture share
//! [`descriptor`](crate::descriptor).

mod autodiff;
mod buffer_pool;
mod capture;
#[cfg(feature = "cube")]
mod cube;
mod flex;
mod fusion;
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
mod recorded;
