//! Adapters, one per backend: how each of them runs the operations of [`SpectralOps`](crate::SpectralOps).
//!
//! [`host`] serves the backends whose tensors are in host memory, with results in memory that is
//! [reused](crate::memory). [`recorded`] serves those that treat operations as data: differentiation, fusion and
//! capture share the table in [`descriptor`](crate::descriptor).

#[cfg(feature = "autodiff")]
mod autodiff;
#[cfg(any(feature = "flex", feature = "ndarray", feature = "cube"))]
mod columns_as_rows;
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "fusion")]
mod fusion;
#[cfg(any(feature = "flex", feature = "ndarray"))]
mod host;
#[cfg(feature = "autodiff")]
mod linear;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "autodiff")]
mod parts;
#[cfg(any(feature = "autodiff", feature = "fusion", feature = "router"))]
mod recorded;
#[cfg(feature = "router")]
mod router;
