//! Tiles of rows: a row's value k, in bit-reversed order, is in the row's lane of register k.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::cache::Cache;
use crate::cpu::isa::Width;
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::runtime::tasks::Tasks;

const LINE_QUADS: usize = 4;
/// Distance from the quads written to rows to those prefetched: two lines.
const QUADS_AHEAD: usize = 2 * LINE_QUADS;

/// Prefetches the line that `first` is in, and those of as many rows as a register has lanes, `stride` values apart.
#[inline(always)]
pub(in crate::cpu) fn prefetch_column<V: Register>(first: *const f32, stride: usize) {
    for row in 0..V::LANES {
        V::prefetch(first.wrapping_add(row * stride));
    }
}

/// Rows of a tile in memory, as many as a register of `V` has lanes.
#[derive(Debug, Clone, Copy)]
pub(in crate::cpu) struct LaneRows<'a, V> {
    /// At least `(lanes - 1) * stride + len` values.
    values: &'a [f32],
    stride: usize,
    len: usize,
    lanes: PhantomData<V>,
}

impl<'a, V: Register> LaneRows<'a, V> {
    /// The rows of `len` values that are `stride` apart in `values`. If there are fewer rows than lanes, or `only`
    /// excludes some, the rows are copied to `spare` `[lanes, len]`, where missing and excluded ones are zeros.
    #[inline(always)]
    pub fn new(
        values: &'a [f32],
        stride: usize,
        len: usize,
        only: Option<&[bool; MAX_LANES]>,
        spare: &'a mut [f32],
    ) -> Self {
        let included = |row: usize| only.is_none_or(|only| only[row]);
        if values.len() >= (V::LANES - 1) * stride + len && (0..V::LANES).all(included) {
            return Self { values, stride, len, lanes: PhantomData };
        }
        let spare = &mut spare[..V::LANES * len];
        spare.fill(0.0);
        for (row, (into, from)) in spare.chunks_exact_mut(len).zip(values.chunks(stride)).enumerate() {
            if included(row) {
                into.copy_from_slice(&from[..len]);
            }
        }
        Self { values: spare, stride: len, len, lanes: PhantomData }
    }

    /// Prefetches the lines that quad `at` of each of the next tile's rows is in.
    #[inline(always)]
    fn prefetch(&self, at: usize) {
        if at.is_multiple_of(LINE_QUADS) {
            prefetch_column::<V>(self.values.as_ptr().wrapping_add(V::LANES * self.stride + 4 * at), self.stride);
        }
    }

    /// Quad `at` of every row: register `i` has its value `i`, row r in lane r.
    #[inline(always)]
    pub fn quads(&self, token: V::Token, at: usize) -> [V; 4] {
        assert!(4 * at + 4 <= self.len);
        let quad = self.values.as_ptr().wrapping_add(4 * at);
        let (stride, fours) = (self.stride, 4 * self.stride);
        // SAFETY: the quad is within a row, and a row of each lane within the values.
        V::transpose_quads(unsafe {
            [
                register::<V>(token, quad, fours),
                register::<V>(token, quad.wrapping_add(stride), fours),
                register::<V>(token, quad.wrapping_add(2 * stride), fours),
                register::<V>(token, quad.wrapping_add(3 * stride), fours),
            ]
        })
    }
}

/// The quads at `quad` and 1, 2 and 3 times `step` further on, as many as the register has.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn register<V: Register>(token: V::Token, quad: *const f32, step: usize) -> V {
    let last = V::LANES / 4 - 1;
    let at = |index: usize| quad.wrapping_add(index.min(last) * step).cast::<[f32; 4]>();
    // SAFETY: by the contract of this function.
    unsafe { V::from_quads(token, [&*at(0), &*at(1), &*at(2), &*at(3)]) }
}

/// Rows that a tile is written to, as many as a register of `V` has lanes.
pub(in crate::cpu) struct LaneRowsMut<'a, V> {
    first: *mut f32,
    stride: usize,
    len: usize,
    rows: PhantomData<(&'a mut [f32], V)>,
}

impl<'a, V: Register> LaneRowsMut<'a, V> {
    /// Rows of `len` values, `stride` apart, in `values`, which has room for as many as a register has lanes.
    #[inline(always)]
    pub fn new(values: &'a mut [f32], stride: usize, len: usize) -> Self {
        assert!(values.len() >= (V::LANES - 1) * stride + len);
        Self { first: values.as_mut_ptr(), stride, len, rows: PhantomData }
    }

    /// Stores quad `at` of every row, the inverse of [`LaneRows::quads`], and prefetches the lines that quads further
    /// on are in.
    #[inline(always)]
    pub fn scatter(&mut self, at: usize, values: [V; 4]) {
        assert!(4 * at + 4 <= self.len);
        if at.is_multiple_of(LINE_QUADS) {
            prefetch_column::<V>(self.first.wrapping_add(4 * (at + QUADS_AHEAD)), self.stride);
        }
        for (i, register) in V::transpose_quads(values).iter().enumerate() {
            for (quad, values) in register.into_quads().iter().enumerate().take(V::LANES / 4) {
                let into = self.first.wrapping_add((4 * quad + i) * self.stride + 4 * at);
                // SAFETY: the quad is within a row, and a row of each lane within the values that are borrowed.
                unsafe { into.cast::<[f32; 4]>().write_unaligned(*values) };
            }
        }
    }
}

/// Calls `write` with room for a tile's rows of `len` values each: `out` itself or, if it has fewer rows, `spare`, from
/// which its rows are then copied.
#[inline(always)]
pub(in crate::cpu) fn with_rows<V: Register>(
    out: &mut [f32],
    len: usize,
    spare: &mut [f32],
    write: impl FnOnce(LaneRowsMut<'_, V>),
) {
    if out.len() >= V::LANES * len {
        write(LaneRowsMut::<V>::new(out, len, len));
    } else {
        write(LaneRowsMut::<V>::new(spare, len, len));
        out.copy_from_slice(&spare[..out.len()]);
    }
}

/// Calls `put` with every quad of as many values as `order` has, and the bit-reversed indices of its four values.
#[inline(always)]
fn for_reversed(order: &[u32], mut put: impl FnMut(usize, [usize; 4])) {
    let quarter = order.len() / 4;
    for (quad, &at) in order.iter().step_by(4).enumerate() {
        let at = at as usize;
        put(quad, [at, at + 2 * quarter, at + quarter, at + 3 * quarter]);
    }
}

/// Loads rows of complex values into a tile, in the bit-reversed `order`, and prefetches the next tile's rows.
#[inline(always)]
pub(in crate::cpu) fn load_reversed<V: Register>(
    token: V::Token,
    order: &[u32],
    re: &LaneRows<'_, V>,
    im: &LaneRows<'_, V>,
    tile: &mut [Complex<V>],
) {
    for_reversed(
        order,
        #[inline(always)]
        |quad, at| {
            re.prefetch(quad);
            im.prefetch(quad);
            let (re, im) = (re.quads(token, quad), im.quads(token, quad));
            for i in 0..4 {
                tile[at[i]] = Complex { re: re[i], im: im[i] };
            }
        },
    );
}

/// Loads rows of complex values into a tile, in natural order.
#[inline(always)]
pub(in crate::cpu) fn load_natural<V: Register>(
    token: V::Token,
    re: &LaneRows<'_, V>,
    im: &LaneRows<'_, V>,
    tile: &mut [Complex<V>],
) {
    for (quad, tile) in tile.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (re, im) = (re.quads(token, quad), im.quads(token, quad));
        for i in 0..4 {
            tile[i] = Complex { re: re[i], im: im[i] };
        }
    }
}

/// Stores a tile in natural order to rows.
#[inline(always)]
pub(in crate::cpu) fn store_natural<V: Register>(
    tile: &[Complex<V>],
    mut re: LaneRowsMut<'_, V>,
    mut im: LaneRowsMut<'_, V>,
) {
    for (quad, [a, b, c, d]) in tile.as_chunks().0.iter().enumerate() {
        re.scatter(quad, [a.re, b.re, c.re, d.re]);
        im.scatter(quad, [a.im, b.im, c.im, d.im]);
    }
}

/// Stores one part of a tile in bit-reversed order to rows.
#[inline(always)]
pub(in crate::cpu) fn store_reversed<V: Register>(
    order: &[u32],
    tile: &[Complex<V>],
    part: impl Fn(&Complex<V>) -> V,
    mut rows: LaneRowsMut<'_, V>,
) {
    for_reversed(
        order,
        #[inline(always)]
        |quad, [a, b, c, d]| rows.scatter(quad, [part(&tile[a]), part(&tile[b]), part(&tile[c]), part(&tile[d])]),
    );
}

/// Butterflies on registers that take as long as the unit of work of [`Tasks`].
const BUTTERFLIES_PER_UNIT: usize = 8;

/// Tasks of whole tiles, for rows of `work` butterflies.
pub(in crate::cpu) fn tile_tasks(rows: usize, work: usize) -> Tasks {
    Tasks::independent_groups(rows, work.div_ceil(BUTTERFLIES_PER_UNIT), MAX_LANES)
}

/// Blocks of whole tiles, for rows of `work` butterflies that add to `partial` sums.
pub(in crate::cpu) fn tile_blocks(rows: usize, work: usize, partial: usize) -> Tasks {
    let tasks = Tasks::reduction(rows, work.div_ceil(BUTTERFLIES_PER_UNIT), partial);
    let per_task = tasks.rows.next_multiple_of(MAX_LANES);
    Tasks { rows: per_task, count: rows.div_ceil(per_task) }
}

/// The widest registers that `rows` rows fill more than half of.
pub(in crate::cpu) fn width(rows: usize) -> Width {
    if rows > MAX_LANES / 2 { Width::Sixteen } else { Width::Eight }
}

/// [`width`] for rows of `n` complex values. From 1,024 on, rows are a multiple of 4 KiB apart: the cache lines of
/// sixteen rows, and those of their imaginary parts, exceed the ways of one set of the first-level cache, and eight
/// lanes are faster.
pub(in crate::cpu) fn complex_width(rows: usize, n: usize) -> Width {
    if n < 1024 { width(rows) } else { Width::Eight }
}

/// `order[i]`: i with its log2 n bits reversed. Computed once per process for each n.
pub(in crate::cpu) fn bit_reversal(n: usize) -> Arc<[u32]> {
    static ORDERS: Cache<usize, Arc<[u32]>> = Cache::new();
    let shift = u32::BITS - n.ilog2();
    ORDERS.get(n, || (0..n as u32).map(|i| i.reverse_bits() >> shift).collect())
}
