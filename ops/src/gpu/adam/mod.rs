//! Steps of Adam over parameters in device memory: one launch each.

mod kernel;
mod launch;

pub use launch::adam_step;
