//! Tests of the kernels that need no device.

mod compile_only;
mod msl;
