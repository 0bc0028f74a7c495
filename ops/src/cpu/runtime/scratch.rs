//! Per-thread buffers, kept from one call to the next.

use std::cell::Cell;

use num_traits::Num;
use rustfft::num_complex::Complex;

/// Buffers of one thread, of values and of keys. They only grow; their contents are unspecified.
#[derive(Default)]
pub struct Scratch<T, K> {
    complex: Vec<Complex<T>>,
    real: Vec<T>,
    keys: Vec<K>,
}

impl<T: Num + Copy + Default, K: Copy + Default> Scratch<T, K> {
    /// Buffers of the given lengths, with unspecified contents.
    pub(in crate::cpu) fn buffers(
        &mut self,
        complex: usize,
        real: usize,
        keys: usize,
    ) -> (&mut [Complex<T>], &mut [T], &mut [K]) {
        (at_least(&mut self.complex, complex), at_least(&mut self.real, real), at_least(&mut self.keys, keys))
    }

    /// `len` reals with unspecified contents.
    pub(in crate::cpu) fn real(&mut self, len: usize) -> &mut [T] {
        at_least(&mut self.real, len)
    }
}

fn at_least<V: Copy + Default>(buffer: &mut Vec<V>, len: usize) -> &mut [V] {
    if buffer.len() < len {
        buffer.resize(len, V::default());
    }
    &mut buffer[..len]
}

/// Cuts the first `len` values off `rest`.
pub(in crate::cpu) fn take<'a, V>(rest: &mut &'a mut [V], len: usize) -> &'a mut [V] {
    let (taken, left) = std::mem::take(rest).split_at_mut(len);
    *rest = left;
    taken
}

thread_local! {
    static VECTORS: Cell<Vec<Vec<f32>>> = Cell::default();
}

/// Runs `body` with an empty vector of this thread, whose memory is kept for the next call. Calls may be nested.
pub(in crate::cpu) fn with_vector<R>(body: impl FnOnce(&mut Vec<f32>) -> R) -> R {
    let mut vectors = VECTORS.take();
    let mut vector = vectors.pop().unwrap_or_default();
    VECTORS.set(vectors);
    vector.clear();
    let result = body(&mut vector);
    let mut vectors = VECTORS.take();
    vectors.push(vector);
    VECTORS.set(vectors);
    result
}

/// Runs `body` with `len` zeros, in memory of this thread.
pub(in crate::cpu) fn with_zeros<R>(len: usize, body: impl FnOnce(&mut [f32]) -> R) -> R {
    with_vector(|vector| {
        vector.resize(len, 0.0);
        body(vector)
    })
}
