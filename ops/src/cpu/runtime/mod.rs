//! Runtime of the kernels: tasks, per-thread buffers, a keyed cache, and sums over rows.

pub(in crate::cpu) mod scratch;
pub(in crate::cpu) mod tasks;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::prelude::*;

use crate::cpu::real::Real;

/// Shared values by key, for the few keys that a process uses; nothing is ever dropped.
pub(in crate::cpu) struct KeyedCache<K, V: ?Sized>(LazyLock<Mutex<HashMap<K, Arc<V>>>>);

impl<K: Eq + Hash, V: ?Sized> KeyedCache<K, V> {
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The value of `key`, computed by `make` on the first call.
    pub fn get(&self, key: K, make: impl FnOnce() -> Arc<V>) -> Arc<V> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(values.entry(key).or_insert_with(make))
    }
}

/// Values that one task adds up, and the length beyond which tasks run in parallel.
const CHUNK: usize = 1 << 14;

/// The sum of the blocks of `len` values in `partials`, added in block order into the first.
pub(in crate::cpu) fn sum_blocks<T: Real>(partials: &mut [T], len: usize) -> &mut [T] {
    let (total, rest) = partials.split_at_mut(len);
    if len == 0 || rest.is_empty() {
        return total;
    }
    let add = |start: usize, total: &mut [T]| {
        for block in rest.chunks_exact(len) {
            add_into(total, &block[start..start + total.len()]);
        }
    };
    if len <= CHUNK {
        add(0, total);
    } else {
        total.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, total)| add(chunk * CHUNK, total));
    }
    total
}

/// `sums += values`.
pub(in crate::cpu) fn add_into<T: Real>(sums: &mut [T], values: &[T]) {
    for (sum, &value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Σ f(i, values\[i\]) in double precision, in eight interleaved parts.
pub(in crate::cpu) fn sum_by<T: Real>(values: &[T], f: impl Fn(usize, T) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    for (chunk, values) in values.chunks(8).enumerate() {
        for (lane, (part, &value)) in parts.iter_mut().zip(values).enumerate() {
            *part += f(8 * chunk + lane, value);
        }
    }
    parts.iter().sum()
}
