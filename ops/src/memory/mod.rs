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

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use burn::tensor::{Element, Shape, TensorData};
use burn_std::Bytes;

use self::buffer_pool::PooledBuffer;
use buffer_pool::BufferPool;

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

/// Bytes from which on memory is pooled: an allocator reuses less by itself.
const MIN_POOLED_BYTES: usize = 1 << 20;

/// Values of a result, with unspecified contents until they are written.
pub(crate) enum OutputBuffer<T> {
    Allocated(Vec<T>),
    Pooled { buffer: PooledBuffer, len: usize },
}

impl<T: Element + bytemuck::Pod> OutputBuffer<T> {
    /// `len` values.
    pub fn new(len: usize) -> Self {
        let bytes = len * size_of::<T>();
        if bytes >= MIN_POOLED_BYTES && bytes <= POOL.limit() {
            Self::Pooled { buffer: POOL.take(bytes), len }
        } else {
            Self::Allocated(vec![T::zeroed(); len])
        }
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self::Allocated(vec![T::zeroed(); len])
    }

    /// The values as a tensor's data of that shape.
    pub fn into_data(self, shape: impl Into<Shape>) -> TensorData {
        match self {
            Self::Allocated(values) => TensorData::new(values, shape.into()),
            Self::Pooled { buffer, len } => {
                // SAFETY: the buffer has at least that many bytes, all of them initialised.
                let bytes = unsafe { Bytes::from_controller(Box::new(buffer), len * size_of::<T>()) };
                TensorData::from_bytes(bytes, shape.into(), T::dtype())
            }
        }
    }
}

impl<T: bytemuck::Pod> Deref for OutputBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Allocated(values) => values,
            Self::Pooled { buffer, len } => &bytemuck::cast_slice(&buffer.memory)[..*len],
        }
    }
}

impl<T: bytemuck::Pod> DerefMut for OutputBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Allocated(values) => values,
            Self::Pooled { buffer, len } => &mut bytemuck::cast_slice_mut(&mut buffer.memory)[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::DEFAULT_LIMIT;
    use super::buffer_pool::BufferPool;
    use super::*;

    #[test]
    fn values_become_data_whose_copies_are_apart() {
        for len in [7, MIN_POOLED_BYTES, DEFAULT_LIMIT / size_of::<f32>() + 1] {
            let mut values = OutputBuffer::<f32>::new(len);
            assert_eq!(values.len(), len);
            values.fill(1.0);
            values[len - 1] = 5.0;
            let mut data = values.into_data([len]);
            let copy = data.clone();
            data.as_mut_slice::<f32>().unwrap()[0] = 2.0;
            let (data, copy) = (data.as_slice::<f32>().unwrap(), copy.as_slice::<f32>().unwrap());
            assert_eq!((data[0], copy[0], data[len - 1], data.len()), (2.0, 1.0, 5.0, len));
        }
    }

    #[test]
    fn a_dropped_tensor_returns_its_memory() {
        static OWN: BufferPool = BufferPool::new(1 << 20, Duration::from_secs(3600));
        let values = OutputBuffer::<i64>::Pooled { buffer: OWN.take(80), len: 10 };
        let data = values.into_data([2, 5]);
        assert_eq!(OWN.bytes(), 0);
        drop(data);
        assert_eq!(OWN.bytes(), 80);
    }
}
