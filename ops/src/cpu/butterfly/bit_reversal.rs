//! Bit-reversed order, in which the stages of a butterfly transform are defined.

use std::sync::Arc;

use crate::cpu::runtime::keyed_cache::KeyedCache;

/// `order[i]`: i with its log2 n bits reversed. Computed once per process for each n.
pub(in crate::cpu) fn bit_reversal(n: usize) -> Arc<[u32]> {
    static ORDERS: KeyedCache<usize, [u32]> = KeyedCache::new();
    let shift = u32::BITS - n.ilog2();
    ORDERS.get(n, || (0..n as u32).map(|i| i.reverse_bits() >> shift).collect())
}
