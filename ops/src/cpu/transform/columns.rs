//! Transposition between rows of any length and registers of columns: a column's value of row r is in lane r.

use crate::cpu::butterfly::tile::{Rows, RowsMut, with_rows};
use crate::cpu::isa::register::{MAX_LANES, Register};

/// Values of a quad of every row.
const QUADS: usize = 4 * MAX_LANES;

/// Calls `put` with each of the first `used` columns of the rows of `width` values, as many rows as a register has lanes;
/// missing ones are zeros. `spare` has room for `used` values of each.
#[inline(always)]
pub(super) fn load_columns<V: Register>(
    token: V::Token,
    rows: &[f32],
    width: usize,
    used: usize,
    spare: &mut [f32],
    mut put: impl FnMut(usize, V),
) {
    let whole = used / 4;
    if whole > 0 {
        let quads = Rows::<V>::new(rows, width, used, None, spare);
        for quad in 0..whole {
            let columns = quads.quads(token, quad);
            for (i, column) in columns.iter().enumerate() {
                put(4 * quad + i, *column);
            }
        }
    }
    // What is less than a quad goes through one of its own.
    let rest = used - 4 * whole;
    if rest > 0 {
        let mut quad = [0.0; QUADS];
        for (row, into) in quad.as_chunks_mut::<4>().0[..V::LANES].iter_mut().enumerate() {
            if let Some(values) = rows.get(row * width + 4 * whole..row * width + used) {
                for (into, value) in into.iter_mut().zip(values) {
                    *into = *value;
                }
            }
        }
        let columns = Rows::<V>::new(&quad[..4 * V::LANES], 4, 4, None, &mut []).quads(token, 0);
        for (i, column) in columns.iter().enumerate().take(rest) {
            put(4 * whole + i, *column);
        }
    }
}

/// Stores the columns that `get` gives to rows of `length` values, at most as many rows as a register has lanes. `spare` has
/// room for as many.
#[inline(always)]
pub(super) fn store_columns<V: Register>(
    token: V::Token,
    rows: &mut [f32],
    length: usize,
    spare: &mut [f32],
    get: impl Fn(usize) -> V,
) {
    let whole = length / 4;
    if whole > 0 {
        with_rows::<V>(
            rows,
            length,
            spare,
            #[inline(always)]
            |mut rows| {
                for quad in 0..whole {
                    rows.scatter(quad, [get(4 * quad), get(4 * quad + 1), get(4 * quad + 2), get(4 * quad + 3)]);
                }
            },
        );
    }
    let rest = length - 4 * whole;
    if rest > 0 {
        let mut columns = [V::splat(token, 0.0); 4];
        for (i, column) in columns.iter_mut().enumerate().take(rest) {
            *column = get(4 * whole + i);
        }
        let mut quad = [0.0; QUADS];
        RowsMut::<V>::new(&mut quad, 4, 4).scatter(0, columns);
        for (row, quad) in rows.chunks_exact_mut(length).zip(quad.as_chunks::<4>().0) {
            for (into, value) in row[4 * whole..].iter_mut().zip(quad) {
                *into = *value;
            }
        }
    }
}
