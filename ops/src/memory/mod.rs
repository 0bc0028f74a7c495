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
///
/// ```
/// use firefly_ops::memory::{pool_limit, set_pool_limit};
///
/// set_pool_limit(1 << 30);
/// assert_eq!(pool_limit(), 1 << 30);
/// ```
pub fn set_pool_limit(bytes: usize) {
    POOL.set_limit(bytes);
}

/// Bytes that the pool holds at most.
///
/// ```
/// assert_eq!(firefly_ops::memory::pool_limit(), 256 << 20);
/// ```
pub fn pool_limit() -> usize {
    POOL.limit()
}

/// Bytes that the pool holds now.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use firefly_ops::memory::pooled_bytes;
/// use firefly_ops::{WelchOptions, welch_psd};
///
/// // 4,096 spectra of 129 bins, 2 MB.
/// let device = Device::flex();
/// let signal = Tensor::<2>::ones([4_096, 256], &device);
/// let power = welch_psd(signal, Tensor::<1>::ones([256], &device), &WelchOptions::new(256, 1))?;
/// assert_eq!(pooled_bytes(), 0);
/// drop(power);
/// assert!(pooled_bytes() >= 4_096 * 129 * 4);
/// # Ok::<(), firefly_ops::ArgumentError>(())
/// ```
pub fn pooled_bytes() -> usize {
    POOL.bytes()
}

/// Frees everything that the pool holds.
///
/// ```
/// use firefly_ops::memory::{pooled_bytes, release_pool};
///
/// release_pool();
/// assert_eq!(pooled_bytes(), 0);
/// ```
pub fn release_pool() {
    POOL.release();
}
