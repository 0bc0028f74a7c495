//! Runtime of the kernels: tasks, per-thread buffers, and sums over rows.

pub(in crate::cpu) mod tasks;

use std::cell::Cell;

use num_traits::Num;
use rayon::prelude::*;
use rustfft::num_complex::Complex;

use crate::cpu::real::Real;

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
