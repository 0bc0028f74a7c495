//! Transposition between rows of any length and registers of columns: a column's value of row r is in lane r.
//!
//! Four columns are moved at a time. Where the lines of all rows fall into one set of the cache, as many are moved as a
//! register has lanes, so that each line is loaded once. The columns left over are copied to a block of four first.
//! Lines of later tiles are prefetched, of rows that are not too long.

use crate::cpu::butterfly::tile::{LaneRows, LaneRowsMut, prefetch_column, with_rows};
use crate::cpu::fft::radix::transpose;
use crate::cpu::isa::lines::Line;
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};

const QUAD: usize = 4 * MAX_LANES;
/// Values from one line to the next in the same set of a first-level cache: 4 KB.
const SET_STRIDE: usize = 1024;

/// Whether rows of `length` values one after the other have their lines in one set of the cache, or in a few.
#[inline(always)]
fn alias(length: usize) -> bool {
    let beyond = length % SET_STRIDE;
    length >= SET_STRIDE / 2 && beyond.min(SET_STRIDE - beyond) < 4
}

/// Values from those that are moved to those that are prefetched, at least: 6 KB.
const PREFETCHED: usize = 1536;
/// The longest rows of which later ones are prefetched: of longer ones they would push out what is used first.
const MAX_PREFETCHED: usize = 1024;

/// Prefetches the lines that begin at value `at` of the rows of a later tile.
#[inline(always)]
fn prefetch_rows<V: Register>(rows: *const f32, length: usize, at: usize) {
    if length > MAX_PREFETCHED {
        return;
    }
    let tile = V::LANES * length;
    let ahead = PREFETCHED.next_multiple_of(tile);
    if length >= Line::LEN {
        prefetch_column::<V>(rows.wrapping_add(ahead + at), length);
    } else if at == 0 {
        for line in (0..tile).step_by(Line::LEN) {
            V::prefetch(rows.wrapping_add(ahead + line));
        }
    }
}

/// Whether whole rows of `length` values are moved a block at a time, as wide as a register.
#[inline(always)]
fn by_blocks(length: usize, lanes: usize) -> bool {
    alias(length) || length == lanes
}

/// Calls `put` with each of the first `used` columns of rows of `width` values, as many rows as a register has lanes;
/// missing rows are zeros. `spare` has room for `used` values of each.
#[inline(always)]
pub(super) fn load_columns<V: Register>(
    token: V::Token,
    rows: &[f32],
    width: usize,
    used: usize,
    spare: &mut [f32],
    mut put: impl FnMut(usize, V),
) {
    // Blocks as wide as a register, of full tiles: a line is loaded once, before the lines of other rows evict it.
    let lanes = V::LANES;
    let mut start = 0;
    if by_blocks(width, lanes) && rows.len() >= lanes * width {
        start = used / lanes * lanes;
        match lanes {
            16 => load_blocks::<V, 16>(token, rows, width, start, &mut put),
            8 => load_blocks::<V, 8>(token, rows, width, start, &mut put),
            _ => load_blocks::<V, 4>(token, rows, width, start, &mut put),
        }
    }
    // Then four columns at a time, of any number of rows.
    let quads = start / 4..used / 4;
    start = used / 4 * 4;
    if !quads.is_empty() {
        let address = rows.as_ptr();
        let rows = LaneRows::<V>::new(rows, width, used, None, spare);
        for quad in quads {
            if quad.is_multiple_of(Line::LEN / 4) {
                prefetch_rows::<V>(address, width, 4 * quad);
            }
            let columns = rows.quads(token, quad);
            for (i, column) in columns.iter().enumerate() {
                put(4 * quad + i, *column);
            }
        }
    }
    // Then the last one to three columns, by a copy, as four of them may go beyond the last row.
    if start < used {
        let mut quad = [0.0; QUAD];
        for (row, into) in quad.as_chunks_mut::<4>().0[..lanes].iter_mut().enumerate() {
            if let Some(values) = rows.get(row * width + start..row * width + used) {
                for (into, value) in into.iter_mut().zip(values) {
                    *into = *value;
                }
            }
        }
        let columns = LaneRows::<V>::new(&quad[..4 * lanes], 4, 4, None, &mut []).quads(token, 0);
        for (i, column) in columns.iter().enumerate().take(used - start) {
            put(start + i, *column);
        }
    }
}

/// The columns below `end` of full rows; `L` are the lanes of a register.
#[inline(always)]
fn load_blocks<V: Register, const L: usize>(
    token: V::Token,
    rows: &[f32],
    width: usize,
    end: usize,
    put: &mut impl FnMut(usize, V),
) {
    for block in 0..end / L {
        // Part of a row per register; transposed, a column per register.
        prefetch_rows::<V>(rows.as_ptr(), width, block * L);
        let mut registers = [V::splat(token, 0.0); L];
        for (row, register) in registers.iter_mut().enumerate() {
            *register = V::load(token, &V::arrays(&rows[row * width + block * L..])[0]);
        }
        let columns = transpose::<V, L>(registers);
        for (i, column) in columns.iter().enumerate() {
            put(block * L + i, *column);
        }
    }
}

/// Stores the columns that `get` gives to rows of `length` values, at most as many rows as a register has lanes.
/// `spare` has room for as many.
#[inline(always)]
pub(super) fn store_columns<V: Register>(
    token: V::Token,
    rows: &mut [f32],
    length: usize,
    spare: &mut [f32],
    get: impl Fn(usize) -> V,
) {
    // The steps of `load_columns`: blocks of full tiles, four columns at a time, and a copy of the last ones.
    let lanes = V::LANES;
    let mut start = 0;
    if by_blocks(length, lanes) && rows.len() == lanes * length {
        start = length / lanes * lanes;
        match lanes {
            16 => store_blocks::<V, 16>(token, rows, length, start, &get),
            8 => store_blocks::<V, 8>(token, rows, length, start, &get),
            _ => store_blocks::<V, 4>(token, rows, length, start, &get),
        }
    }
    let quads = start / 4..length / 4;
    start = length / 4 * 4;
    if !quads.is_empty() {
        let address = rows.as_ptr();
        with_rows::<V>(
            rows,
            length,
            spare,
            #[inline(always)]
            |mut rows| {
                for quad in quads {
                    if quad.is_multiple_of(Line::LEN / 4) {
                        prefetch_rows::<V>(address, length, 4 * quad);
                    }
                    rows.scatter(quad, [get(4 * quad), get(4 * quad + 1), get(4 * quad + 2), get(4 * quad + 3)]);
                }
            },
        );
    }
    if start < length {
        let mut columns = [V::splat(token, 0.0); 4];
        for (i, column) in columns.iter_mut().enumerate().take(length - start) {
            *column = get(start + i);
        }
        let mut quad = [0.0; QUAD];
        LaneRowsMut::<V>::new(&mut quad, 4, 4).scatter(0, columns);
        for (row, quad) in rows.chunks_exact_mut(length).zip(quad.as_chunks::<4>().0) {
            for (into, value) in row[start..].iter_mut().zip(quad) {
                *into = *value;
            }
        }
    }
}

/// The columns below `end` of full rows; `L` are the lanes of a register.
#[inline(always)]
fn store_blocks<V: Register, const L: usize>(
    token: V::Token,
    rows: &mut [f32],
    length: usize,
    end: usize,
    get: &impl Fn(usize) -> V,
) {
    for block in 0..end / L {
        // A column per register; transposed, part of a row per register.
        prefetch_rows::<V>(rows.as_ptr(), length, block * L);
        let mut columns = [V::splat(token, 0.0); L];
        for (i, column) in columns.iter_mut().enumerate() {
            *column = get(block * L + i);
        }
        for (row, register) in transpose::<V, L>(columns).iter().enumerate() {
            register.store(&mut V::arrays_mut(&mut rows[row * length + block * L..])[0]);
        }
    }
}

/// Loads the first `used` samples of rows of `width`, `change` applied to each column, to the places of their pairs in
/// `tile`, with zeros in the places after them. `spare` has room for `used` samples of each row.
#[inline(always)]
pub(in crate::cpu) fn load_pairs<V: Register>(
    token: V::Token,
    places: &[u32],
    rows: &[f32],
    [width, used]: [usize; 2],
    spare: &mut [f32],
    tile: &mut [Complex<V>],
    change: impl Fn(usize, V) -> V,
) {
    // The last sample of an odd number is without a second one.
    for place in &places[used / 2..] {
        tile[*place as usize] = Complex::zero(token);
    }
    load_columns(
        token,
        rows,
        width,
        used,
        spare,
        #[inline(always)]
        |j, column| {
            let value = &mut tile[places[j / 2] as usize];
            let column = change(j, column);
            if j % 2 == 0 { value.re = column } else { value.im = column }
        },
    );
}

/// Stores the first `length` samples of `tile`, in natural order, whose values have their parts exchanged, to rows.
#[inline(always)]
pub(in crate::cpu) fn store_pairs<V: Register>(
    token: V::Token,
    tile: &[Complex<V>],
    rows: &mut [f32],
    length: usize,
    spare: &mut [f32],
) {
    store_columns(
        token,
        rows,
        length,
        spare,
        #[inline(always)]
        |j| if j % 2 == 0 { tile[j / 2].im } else { tile[j / 2].re },
    );
}

/// Multiplies samples by the first `used` of rows of `width` factors: in `places`, or else in natural order, in values
/// whose parts are exchanged.
#[inline(always)]
pub(in crate::cpu) fn multiply_pairs<V: Register>(
    token: V::Token,
    places: Option<&[u32]>,
    factors: &[f32],
    [width, used]: [usize; 2],
    spare: &mut [f32],
    tile: &mut [Complex<V>],
) {
    load_columns(
        token,
        factors,
        width,
        used,
        spare,
        #[inline(always)]
        |j, column| {
            let value = &mut tile[places.map_or(j / 2, |places| places[j / 2] as usize)];
            if (j % 2 == 0) == places.is_some() { value.re = value.re * column } else { value.im = value.im * column }
        },
    );
}
