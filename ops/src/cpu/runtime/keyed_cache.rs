//! Keyed cache: one value per key, computed once per process.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

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
