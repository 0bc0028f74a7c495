//! One adapter a backend: how each of them runs the operations of [`SpectralOps`](crate::SpectralOps).
//!
//! [`host`] serves the backends whose tensors are in host memory, and [`results`] keeps that memory; [`description`] is what the
//! recording backends (fusion, capture) share, [`node`] what graph analysis makes of it.

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
mod node;
mod results;

pub use description::register;
pub use node::{ESTIMATES, is_open_butterfly, welch_options, welch_peaks_operation};
