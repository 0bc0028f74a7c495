//! The pool: buffers that no tensor uses, and what becomes of them.

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty};

/// Memory in units that are aligned for every element type.
pub(super) type Memory = Vec<u128>;

/// Memory that returns to its pool when it is dropped.
pub(crate) struct PooledBuffer {
    pub(super) memory: Memory,
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
pub(super) struct BufferPool {
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
        // Buffers that are taken again and again stay.
        let start = Instant::now();
        POOL.put(zeroed(64 << 10));
        while start.elapsed() < Duration::from_millis(900) {
            drop(POOL.take(64 << 10));
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(idle(&POOL), [64 << 10]);
        let deadline = Instant::now() + Duration::from_secs(60);
        while POOL.bytes() > 0 || POOL.state().cleanup_runs {
            assert!(Instant::now() < deadline, "idle memory is freed without any further call");
            thread::sleep(Duration::from_millis(20));
        }
        // Once more, with a new thread.
        POOL.put(zeroed(1 << 10));
        assert!(POOL.state().cleanup_runs);
    }
}
