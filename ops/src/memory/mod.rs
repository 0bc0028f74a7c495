//! Host memory of large results, reused from one call to the next.
//!
//! An operating system hands out fresh memory page by page, each with a fault and cleared, which takes as long as a
//! transform. The memory of a result on a CPU backend (Flex, NdArray) that takes 1 MiB or more therefore goes to a pool
//! when its tensor is dropped, and the next result of about that size is written there.
//!
//! The pool is one per process. It holds at most [`pool_limit`] bytes, 256 MiB unless [`set_pool_limit`] says
//! otherwise, and frees memory that no result has taken for 10 seconds: after that long, the page faults that it could
//! save are less than a hundredth of the time. [`release_pool`] frees everything at once. Tensors that are alive are
//! not the pool's and do not count.
//!
//! ```
//! use firefly_ops::memory::{pool_limit, pooled_bytes, release_pool, set_pool_limit};
//!
//! set_pool_limit(64 << 20);
//! assert_eq!(pool_limit(), 64 << 20);
//! release_pool();
//! assert_eq!(pooled_bytes(), 0);
//! set_pool_limit(0); // Every result is allocated and freed on its own.
//! ```

mod buffer_pool;
mod output_buffer;

use std::time::Duration;

use buffer_pool::BufferPool;
pub(crate) use output_buffer::OutputBuffer;

/// Bytes that the pool holds at most by default.
const DEFAULT_LIMIT: usize = 256 << 20;
/// Time after which memory that was not taken is freed.
const IDLE_TIME: Duration = Duration::from_secs(10);

static POOL: BufferPool = BufferPool::new(DEFAULT_LIMIT, IDLE_TIME);

/// Limits the pool to `bytes`, and frees what it holds beyond that. With 0 there is no pool.
pub fn set_pool_limit(bytes: usize) {
    POOL.set_limit(bytes);
}

/// Bytes that the pool holds at most.
pub fn pool_limit() -> usize {
    POOL.limit()
}

/// Bytes that the pool holds now.
pub fn pooled_bytes() -> usize {
    POOL.bytes()
}

/// Frees everything that the pool holds.
pub fn release_pool() {
    POOL.release();
}
