//! Host implementations written by hand on other people's transforms: what Firefly's kernels are compared with.
//!
//! They are as good as their transform allows: planned once, rows shared out over threads where that pays, buffers made
//! before the first run and nothing allocated after, and the same top-K behind each transform.

mod realfft;
mod rows;
mod rustfft;
mod strongest;

pub use realfft::RealFft;
pub use rustfft::RustFft;
