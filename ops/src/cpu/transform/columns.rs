//! Transposition between rows of any length and registers of columns: a column's value of row r is in lane r.
//!
//! As many columns as a register has lanes are moved at once: so a cache line of a row is touched once, also where rows are
//! a power of two apart and all of their lines fall into one set of the cache.

use crate::cpu::fft::radix::transpose;
use crate::cpu::isa::register::Register;

/// Calls `put` with each of the first `used` columns of rows of `width` values, as many rows as a register has lanes; missing
/// rows are zeros.
#[inline(always)]
pub(super) fn load_columns<V: Register>(
    token: V::Token,
    rows: &[f32],
    width: usize,
    used: usize,
    put: impl FnMut(usize, V),
) {
    match V::LANES {
        16 => load_blocks::<V, 16>(token, rows, width, used, put),
        8 => load_blocks::<V, 8>(token, rows, width, used, put),
        _ => load_blocks::<V, 4>(token, rows, width, used, put),
    }
}

/// `L` are the lanes of a register.
#[inline(always)]
fn load_blocks<V: Register, const L: usize>(
    token: V::Token,
    rows: &[f32],
    width: usize,
    used: usize,
    mut put: impl FnMut(usize, V),
) {
    let mut start = 0;
    while start < used {
        let count = L.min(used - start);
        let mut registers = [V::splat(token, 0.0); L];
        for (row, register) in registers.iter_mut().enumerate() {
            if let Some(values) = rows.get(row * width + start..row * width + start + count) {
                *register = load_first(token, values);
            }
        }
        let columns = transpose::<V, L>(registers);
        for (i, column) in columns.iter().enumerate().take(count) {
            put(start + i, *column);
        }
        start += L;
    }
}

/// Stores the columns that `get` gives to rows of `length` values, at most as many rows as a register has lanes.
#[inline(always)]
pub(super) fn store_columns<V: Register>(token: V::Token, rows: &mut [f32], length: usize, get: impl Fn(usize) -> V) {
    match V::LANES {
        16 => store_blocks::<V, 16>(token, rows, length, get),
        8 => store_blocks::<V, 8>(token, rows, length, get),
        _ => store_blocks::<V, 4>(token, rows, length, get),
    }
}

/// `L` are the lanes of a register.
#[inline(always)]
fn store_blocks<V: Register, const L: usize>(
    token: V::Token,
    rows: &mut [f32],
    length: usize,
    get: impl Fn(usize) -> V,
) {
    let mut start = 0;
    while start < length {
        let count = L.min(length - start);
        let mut columns = [V::splat(token, 0.0); L];
        for (i, column) in columns.iter_mut().enumerate().take(count) {
            *column = get(start + i);
        }
        let registers = transpose::<V, L>(columns);
        for (row, register) in registers.iter().enumerate() {
            if let Some(values) = rows.get_mut(row * length + start..row * length + start + count) {
                store_first(*register, values);
            }
        }
        start += L;
    }
}

/// Values in the first lanes, at most as many as there are, and zeros in the others.
#[inline(always)]
fn load_first<V: Register>(token: V::Token, values: &[f32]) -> V {
    if let Some(whole) = V::arrays(values).first() {
        return V::load(token, whole);
    }
    let mut lanes = V::Array::default();
    for (lane, value) in lanes.as_mut().iter_mut().zip(values) {
        *lane = *value;
    }
    V::load(token, &lanes)
}

/// The first lanes, as many as there are `values`.
#[inline(always)]
fn store_first<V: Register>(register: V, values: &mut [f32]) {
    if let Some(whole) = V::arrays_mut(values).first_mut() {
        return register.store(whole);
    }
    let mut lanes = V::Array::default();
    register.store(&mut lanes);
    for (value, lane) in values.iter_mut().zip(lanes.as_ref()) {
        *value = *lane;
    }
}
