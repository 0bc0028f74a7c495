//! Implementations that Firefly's are compared with, written on other transforms.
//!
//! They are as good as their transform allows: planned once, rows shared out over threads where that pays, buffers made
//! before the first run and nothing allocated after, and the same top-K behind each transform.

pub mod copy;
pub mod realfft;
pub mod rows;
pub mod rustfft;
pub mod strongest;
