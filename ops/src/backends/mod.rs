//! Adapters, one per backend: how each of them runs the operations of the [table](crate::op).
//!
//! [`host`] serves the backends whose tensors are in host memory, with results in memory that is
//! [reused](crate::memory). Differentiation, fusion and capture treat operations as data and read the table alone.

#[cfg(feature = "autodiff")]
mod autodiff;
#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
mod composed;
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "fusion")]
mod fusion;
#[cfg(any(feature = "flex", feature = "ndarray"))]
mod host;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "router")]
mod router;
