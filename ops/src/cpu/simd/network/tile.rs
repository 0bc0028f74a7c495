//! Between rows and tiles: a row's value k goes to its lane of register k.

use crate::cpu::simd::lanes::{Complex, Lanes};

/// Lanes of the widest register.
pub(super) const MAX_LANES: usize = 16;

/// A tile's rows in memory: `len` values each, `stride` apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub values: &'a [f32],
    pub stride: usize,
    pub len: usize,
    /// The rows that count, if not all do.
    pub only: Option<&'a [bool; MAX_LANES]>,
}

/// Rows cut into quads of values.
pub(super) type Quads<'a> = [&'a [[f32; 4]]; MAX_LANES];

impl<'a> Rows<'a> {
    /// The rows in quads; `zeros` stands for those that are not there or don't count.
    #[inline(always)]
    pub fn quads(&self, zeros: &'a [f32]) -> Quads<'a> {
        let mut rows = [zeros[..self.len].as_chunks().0; MAX_LANES];
        for (index, (row, values)) in rows.iter_mut().zip(self.values.chunks(self.stride)).enumerate() {
            if self.only.is_none_or(|only| only[index]) {
                *row = values[..self.len].as_chunks().0;
            }
        }
        rows
    }
}

/// Quad `at` of every row: register `i` has its value `i`, row r in lane r. `change` is applied before to
/// registers of which lanes 4 h to 4 h + 3 are the quad of row 4 h + i.
#[inline(always)]
pub(super) fn gather<V: Lanes>(rows: &Quads<'_>, at: usize, change: impl Fn(usize, V) -> V) -> [V; 4] {
    let registers = [register::<V>(rows, 0, at), register(rows, 1, at), register(rows, 2, at), register(rows, 3, at)];
    let [a, b, c, d] = registers;
    V::transpose_quads([change(0, a), change(1, b), change(2, c), change(3, d)])
}

/// [`gather`] without a change.
#[inline(always)]
pub(super) fn whole<V: Lanes>(rows: &Quads<'_>, at: usize) -> [V; 4] {
    gather(
        rows,
        at,
        #[inline(always)]
        |_, register| register,
    )
}

/// Quad `at` of rows i, 4 + i, 8 + i and 12 + i, as far as the register has quads.
#[inline(always)]
fn register<V: Lanes>(rows: &Quads<'_>, i: usize, at: usize) -> V {
    let [a, b, c, d] = [i, (4 + i) % V::COUNT, (8 + i) % V::COUNT, (12 + i) % V::COUNT];
    V::from_quads([&rows[a][at], &rows[b][at], &rows[c][at], &rows[d][at]])
}

/// Undoes [`gather`]: calls `put` with every row and its quad.
#[inline(always)]
pub(super) fn scatter<V: Lanes>(values: [V; 4], mut put: impl FnMut(usize, [f32; 4])) {
    let registers = V::transpose_quads(values);
    for i in 0..4 {
        let quads = registers[i].into_quads();
        for quad in 0..V::COUNT / 4 {
            put(4 * quad + i, quads[quad]);
        }
    }
}

/// Calls `put` with every four neighbours of `n` values and where in bit-reversed `order` they are.
#[inline(always)]
fn for_reversed(order: &[u32], mut put: impl FnMut(usize, [usize; 4])) {
    let quarter = order.len() / 4;
    for (quad, &at) in order.iter().step_by(4).enumerate() {
        let at = at as usize;
        put(quad, [at, at + 2 * quarter, at + quarter, at + 3 * quarter]);
    }
}

/// Puts rows of complex values into a tile, in bit-reversed order. `order` is that of their length.
#[inline(always)]
pub(super) fn enter<V: Lanes>(order: &[u32], re: Rows<'_>, im: Rows<'_>, zeros: &[f32], tile: &mut [Complex<V>]) {
    let (re, im) = (re.quads(zeros), im.quads(zeros));
    for_reversed(
        order,
        #[inline(always)]
        |quad, at| {
            let (re, im) = (whole::<V>(&re, quad), whole::<V>(&im, quad));
            for i in 0..4 {
                tile[at[i]] = Complex { re: re[i], im: im[i] };
            }
        },
    );
}

/// As [`enter`] with rows of real values, changed as [`gather`] says.
#[inline(always)]
pub(super) fn enter_real<V: Lanes>(
    order: &[u32],
    rows: &Quads<'_>,
    change: impl Fn(usize, usize, V) -> V,
    tile: &mut [Complex<V>],
) {
    let im = V::splat(0.0);
    for_reversed(
        order,
        #[inline(always)]
        |quad, at| {
            let re = gather::<V>(
                rows,
                quad,
                #[inline(always)]
                |i, register| change(quad, i, register),
            );
            for i in 0..4 {
                tile[at[i]] = Complex { re: re[i], im };
            }
        },
    );
}

/// Puts rows of complex values into a tile, in natural order.
#[inline(always)]
pub(super) fn enter_natural<V: Lanes>(re: Rows<'_>, im: Rows<'_>, zeros: &[f32], tile: &mut [Complex<V>]) {
    let (re, im) = (re.quads(zeros), im.quads(zeros));
    for (quad, tile) in tile.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let (re, im) = (whole::<V>(&re, quad), whole::<V>(&im, quad));
        for i in 0..4 {
            tile[i] = Complex { re: re[i], im: im[i] };
        }
    }
}

/// Writes a tile in natural order to rows of `tile.len()` values.
#[inline(always)]
pub(super) fn leave<V: Lanes>(tile: &[Complex<V>], out_re: &mut [f32], out_im: &mut [f32]) {
    let n = tile.len();
    for (quad, [a, b, c, d]) in tile.as_chunks().0.iter().enumerate() {
        put([a.re, b.re, c.re, d.re], n, quad, out_re);
        put([a.im, b.im, c.im, d.im], n, quad, out_im);
    }
}

/// Writes one part of a tile in bit-reversed order to rows of `tile.len()` values.
#[inline(always)]
pub(super) fn leave_reversed<V: Lanes>(
    order: &[u32],
    tile: &[Complex<V>],
    part: impl Fn(&Complex<V>) -> V,
    out: &mut [f32],
) {
    for_reversed(
        order,
        #[inline(always)]
        |quad, [a, b, c, d]| {
            put([part(&tile[a]), part(&tile[b]), part(&tile[c]), part(&tile[d])], tile.len(), quad, out);
        },
    );
}

/// Writes quad `quad` of rows that are `stride` apart, as many as there are in `out`.
#[inline(always)]
pub(super) fn put<V: Lanes>(values: [V; 4], stride: usize, quad: usize, out: &mut [f32]) {
    scatter(
        values,
        #[inline(always)]
        |row, values| {
            if let Some(into) = out.get_mut(row * stride + 4 * quad..).and_then(|row| row.first_chunk_mut()) {
                *into = values;
            }
        },
    );
}
