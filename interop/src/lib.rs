//! Firefly's operations on memory and streams of other libraries.
//!
//! A call is an operation of the [table](firefly_ops::op) as [text](operation), and [arrays](Array): addresses, shapes
//! and strides. Arrays in host memory are computed with [where they are](host). For CUDA devices a call is recorded
//! once per shape as a [launch plan](plan::Plan): the launches of our own kernels with all arguments but addresses. A
//! plan is replayed by the driver on the caller's addresses and stream, without a copy and without waiting, and may be
//! captured in a CUDA graph.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`operation`] | operations as text, and their gradients |
//! | [`call`] | arrays, and the key of a call's plan |
//! | [`plan`] | launch plans, and temporary memory by lifetimes |
//! | `cuda` | the recorder, which compiles and records launches; replay (feature `cuda`) |
//! | [`host`] | operations on host memory |
//! | [`c`] | the C functions of `include/firefly.h` |
//! | [`jax`] | handlers of XLA's foreign function interface, for JAX |
//! | [`torch`] | operators of PyTorch, by its stable C ABI |
//!
//! # Memory
//! Compiled kernels and the tables that they read stay on the device as long as the process lives: a plan that the
//! [bounded cache](plans) drops may still be part of a CUDA graph.

pub mod c;
pub mod call;
#[cfg(feature = "cuda")]
pub mod cuda;
mod error;
pub mod host;
pub mod jax;
pub mod operation;
pub mod plan;
pub mod plans;
#[cfg(unix)]
pub mod torch;

pub use call::{Array, Call};
pub use error::InteropError;
