//! What is made once per process for each of a few keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Values by key, made when they are first asked for.
pub(super) struct Once<K, V: ?Sized>(LazyLock<Mutex<HashMap<K, Arc<V>>>>);

impl<K: Eq + Hash, V: ?Sized> Once<K, V> {
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The value of `key`, which `make` gives the first time.
    pub fn get(&self, key: K, make: impl FnOnce() -> Arc<V>) -> Arc<V> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(made.entry(key).or_insert_with(make))
    }
}
