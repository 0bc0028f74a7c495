//! Host memory of large results, reused from one call to the next.
//!
//! An operating system hands out fresh memory page by page, each with a fault and cleared, which takes as long as a
//! transform. The memory of a result on a CPU backend (Flex, NdArray) that takes 1 MiB or more therefore goes to a pool
//! when its tensor is dropped, and the next result of about that size is written there.
//!
//! The pool is one per process. It holds at most [`pool_limit`] bytes, 256 MiB unless [`set_pool_limit`] says
//! otherwise, and frees memory that no result has taken for 10 seconds: after that long, the page faults that it could
//! save are less than a hundredth of the time. [`release_pool`] frees everything at once. Tensors that are alive are
//! not the pool's and do not count. In WebAssembly the pool stays empty.
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

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::{Element, Shape, TensorData};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};

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

/// Memory in units that are aligned for every element type.
type Memory = Vec<u128>;

/// Memory that returns to its pool when it is dropped.
pub(crate) struct PooledBuffer {
    memory: Memory,
    pool: &'static BufferPool,
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.memory));
    }
}

impl AllocationController for PooledBuffer {
    fn alloc_align(&self) -> usize {
        align_of::<u128>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.memory);
        // SAFETY: the layout is the same, and the caller writes initialised bytes only.
        Ok(unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [MaybeUninit<u8>]) })
    }

    fn memory(&self, _policy: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.memory);
        // SAFETY: the layout is the same, and initialised bytes may be read as uninitialised ones.
        Ok(unsafe { &*(std::ptr::from_ref(bytes) as *const [MaybeUninit<u8>]) })
    }
}

/// Memory that no tensor uses, at most `limit` bytes of it, and none for longer than `idle_time`.
struct BufferPool {
    state: Mutex<PoolState>,
    idle_time: Duration,
}

struct PoolState {
    /// Memory and when it was put back, the longest unused first.
    idle: Vec<(Memory, Instant)>,
    limit: usize,
    /// Whether a thread runs that frees memory once its time is over.
    cleanup_runs: bool,
}

impl PoolState {
    fn bytes(&self) -> usize {
        self.idle.iter().map(|(memory, _)| size_of_val(&memory[..])).sum()
    }

    /// Takes out the memory that is beyond the limit, the longest unused first.
    fn beyond_limit(&mut self) -> Vec<(Memory, Instant)> {
        let (mut bytes, mut count) = (self.bytes(), 0);
        while bytes > self.limit {
            bytes -= size_of_val(&self.idle[count].0[..]);
            count += 1;
        }
        self.idle.drain(..count).collect()
    }
}

impl BufferPool {
    pub const fn new(limit: usize, idle_time: Duration) -> Self {
        Self { state: Mutex::new(PoolState { idle: Vec::new(), limit, cleanup_runs: false }), idle_time }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Memory of at least `bytes` bytes with unspecified contents: of what the pool holds the smallest that is at most
    /// twice as large, of equal ones the one last used, or else new memory.
    pub fn take(&'static self, bytes: usize) -> PooledBuffer {
        let units = bytes.div_ceil(size_of::<u128>());
        let mut state = self.state();
        let fitting = state.idle.iter().enumerate().rev();
        let fitting = fitting.filter(|(_, (memory, _))| (units..=2 * units).contains(&memory.len()));
        let best = fitting.min_by_key(|(_, (memory, _))| memory.len()).map(|(place, _)| place);
        let taken = best.map(|place| state.idle.remove(place).0);
        drop(state);
        PooledBuffer { memory: taken.unwrap_or_else(|| vec![0; units]), pool: self }
    }

    /// Puts memory into the pool, and frees what is then beyond the limit.
    fn put(&'static self, memory: Memory) {
        // WebAssembly has neither a thread that frees it later nor pages that the system clears.
        if cfg!(target_family = "wasm") {
            return drop(memory);
        }
        let mut state = self.state();
        state.idle.push((memory, Instant::now()));
        let freed = state.beyond_limit();
        let starts_cleanup = !state.cleanup_runs && !state.idle.is_empty();
        state.cleanup_runs |= starts_cleanup;
        drop(state);
        // Freeing takes as long as a transform: not while other threads wait.
        drop(freed);
        if starts_cleanup && thread::Builder::new().name("firefly-memory".into()).spawn(|| self.free_idle()).is_err() {
            self.state().cleanup_runs = false;
        }
    }

    /// Frees memory as soon as its time is over, until the pool is empty.
    fn free_idle(&self) {
        loop {
            let mut state = self.state();
            let expired = state.idle.iter().take_while(|(_, since)| since.elapsed() >= self.idle_time).count();
            let freed: Vec<_> = state.idle.drain(..expired).collect();
            let Some((_, oldest)) = state.idle.first() else {
                state.cleanup_runs = false;
                return;
            };
            let rest = self.idle_time.saturating_sub(oldest.elapsed());
            drop(state);
            drop(freed);
            thread::sleep(rest);
        }
    }

    pub fn limit(&self) -> usize {
        self.state().limit
    }

    pub fn set_limit(&self, bytes: usize) {
        let mut state = self.state();
        state.limit = bytes;
        let freed = state.beyond_limit();
        drop(state);
        drop(freed);
    }

    pub fn bytes(&self) -> usize {
        self.state().bytes()
    }

    pub fn release(&self) {
        let freed = std::mem::take(&mut self.state().idle);
        drop(freed);
    }
}

#[cfg(test)]
mod tests {
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

    const LONG: Duration = Duration::from_secs(3600);

    fn idle(pool: &BufferPool) -> Vec<usize> {
        pool.state().idle.iter().map(|(memory, _)| size_of_val(&memory[..])).collect()
    }

    fn zeroed(bytes: usize) -> Memory {
        vec![0; bytes / size_of::<u128>()]
    }

    #[test]
    fn memory_is_used_again_where_it_fits() {
        static POOL: BufferPool = BufferPool::new(1 << 20, LONG);
        let (large, small) = (POOL.take(64 << 10), POOL.take(1001));
        let (of_large, of_small) = (large.memory.as_ptr(), small.memory.as_ptr());
        drop(large);
        drop(small);
        let middle = POOL.take(2 << 10);
        assert_eq!(middle.memory.len(), 128);
        let (small, large) = (POOL.take(1000), POOL.take(33 << 10));
        assert_eq!((small.memory.as_ptr(), large.memory.as_ptr()), (of_small, of_large));
        assert!(idle(&POOL).is_empty());
    }

    #[test]
    fn of_equal_buffers_the_last_used_is_taken() {
        static POOL: BufferPool = BufferPool::new(1 << 20, LONG);
        let (first, last) = (POOL.take(1000), POOL.take(1000));
        let of_last = last.memory.as_ptr();
        drop(first);
        drop(last);
        assert_eq!(POOL.take(1000).memory.as_ptr(), of_last);
    }

    #[test]
    fn the_longest_unused_is_freed_beyond_the_limit() {
        static POOL: BufferPool = BufferPool::new(1 << 20, LONG);
        let quarter = 1 << 18;
        for bytes in [quarter, 2 * quarter, quarter / 2] {
            POOL.put(zeroed(bytes));
        }
        assert_eq!(idle(&POOL), [quarter, 2 * quarter, quarter / 2]);
        POOL.put(zeroed(quarter));
        assert_eq!(idle(&POOL), [2 * quarter, quarter / 2, quarter]);
        POOL.put(zeroed(5 * quarter));
        assert!(idle(&POOL).is_empty(), "nothing larger than the limit is held");
    }

    #[test]
    fn a_lower_limit_and_a_release_free_at_once() {
        static POOL: BufferPool = BufferPool::new(1 << 20, LONG);
        for bytes in [1 << 10, 2 << 10, 4 << 10] {
            POOL.put(zeroed(bytes));
        }
        POOL.set_limit(5 << 10);
        assert_eq!((POOL.limit(), idle(&POOL), POOL.bytes()), (5 << 10, vec![4 << 10], 4 << 10));
        POOL.release();
        assert_eq!(POOL.bytes(), 0);
        POOL.set_limit(0);
        drop(POOL.take(1 << 10));
        assert_eq!(POOL.bytes(), 0);
    }

    #[test]
    fn memory_that_is_not_taken_in_time_is_freed() {
        static POOL: BufferPool = BufferPool::new(1 << 20, Duration::from_millis(300));
        POOL.put(zeroed(1 << 10));
        POOL.put(zeroed(64 << 10));
        let deadline = Instant::now() + Duration::from_secs(60);
        // Buffers that are taken again and again stay.
        while idle(&POOL) != [64 << 10] {
            assert!(Instant::now() < deadline, "memory that is not taken is freed while other memory is");
            drop(POOL.take(64 << 10));
            thread::sleep(Duration::from_millis(5));
        }
        while POOL.bytes() > 0 || POOL.state().cleanup_runs {
            assert!(Instant::now() < deadline, "idle memory is freed without any further call");
            thread::sleep(Duration::from_millis(20));
        }
        // Once more, with a new thread.
        POOL.put(zeroed(1 << 10));
        assert!(POOL.state().cleanup_runs);
    }
}
