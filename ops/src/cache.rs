//! Values that are made once per process.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Values by key, for the few keys that a process uses; nothing is ever dropped.
pub(crate) struct Cache<K, V>(LazyLock<Mutex<HashMap<K, V>>>);

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The value of `key`, made by `make` on the first call.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let Ok(value) = self.try_get(key, || Ok::<V, Infallible>(make()));
        value
    }

    /// As [`get`](Self::get); nothing is kept of an error.
    pub fn try_get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = values.get(&key) {
            return Ok(known.clone());
        }
        let new = make()?;
        values.insert(key, new.clone());
        Ok(new)
    }
}
