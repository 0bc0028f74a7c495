//! Runtime of the kernels: tasks, per-thread buffers, a keyed cache, and sums over rows.

pub(in crate::cpu) mod keyed_cache;
pub(in crate::cpu) mod reduction;
pub(in crate::cpu) mod scratch;
pub(in crate::cpu) mod tasks;
