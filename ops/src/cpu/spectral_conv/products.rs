//! Products of complex matrices per mode: in f32 in tiles of registers, in any type row by row.
//!
//! Modes are lanes: a register holds as many adjacent modes, a tile of the product stays in registers while its
//! terms are added, and the factors of a block of terms are copied to where they are consecutive: in memory they are as
//! far apart as batch elements, on few sets of the cache.

use crate::cpu::isa::lines::{Line, take_complexes, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch, dispatch_widest, simd_enabled};
use crate::cpu::real::Real;

/// Terms that are added before a tile goes back to memory.
const TERMS: usize = 64;
/// Rows of the left factor that are copied at a time: with their terms they stay in the second-level cache.
const ROWS: usize = 64;
const TILE_COLUMNS: usize = 2;

/// Computes a product whose factors and result, in parts, have all the values that are read and written.
///
/// # Safety
/// The spans of the factors and of the product are within their parts, and there are at least 8 modes.
pub(super) unsafe fn multiply_tiles(
    product: &ModeProduct,
    left: [&[f32]; 2],
    right: [&[f32]; 2],
    out: [&mut [f32]; 2],
) {
    let ModeProduct { rows, terms, modes, .. } = *product;
    let width = if modes < MAX_LANES { Width::Eight } else { Width::Sixteen };
    let registers = (rows.min(ROWS) + TILE_COLUMNS) * terms.min(TERMS);
    with_lines(2 * registers * MAX_LANES / Line::LEN, |memory| {
        dispatch(InstructionSet::current(), width, TilesKernel { product, left, right, out, memory });
    });
}

/// A product of f32, whose factors and product have all the values that are read and written, with at least as many
/// modes as a register has lanes.
struct TilesKernel<'a> {
    product: &'a ModeProduct,
    left: [&'a [f32]; 2],
    right: [&'a [f32]; 2],
    out: [&'a mut [f32]; 2],
    memory: &'a mut [Line],
}

impl Kernel for TilesKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        // Sixteen sums with their factors take thirty-two registers, eight take sixteen.
        match (V::RADIX == 16, self.product.conjugates) {
            (true, false) => self.by_tiles::<V, 4, false>(token),
            (true, true) => self.by_tiles::<V, 4, true>(token),
            (false, false) => self.by_tiles::<V, 2, false>(token),
            (false, true) => self.by_tiles::<V, 2, true>(token),
        }
    }
}

impl TilesKernel<'_> {
    /// Blocks of terms and modes, each by tiles of `R` rows; the last rows one by one.
    #[inline(always)]
    fn by_tiles<V: Register, const R: usize, const CONJUGATES: bool>(self, token: V::Token) {
        let Self { product, left, right, out: [out_re, out_im], mut memory } = self;
        let ModeProduct { rows, columns, terms, modes, .. } = *product;
        let most = terms.min(TERMS);
        let packed = take_complexes::<V>(token, &mut memory, rows.min(ROWS) * most);
        let panel = take_complexes::<V>(token, &mut memory, TILE_COLUMNS * most);
        for first_row in (0..rows).step_by(ROWS) {
            let rows = ROWS.min(rows - first_row);
            // Without terms, the product is 0.
            for first_term in (0..terms.max(1)).step_by(TERMS) {
                let count = TERMS.min(terms - first_term);
                for first_mode in (0..modes).step_by(V::LANES) {
                    // The last block of modes is full too, and computes some modes again, which are not stored.
                    let mode = first_mode.min(modes - V::LANES);
                    let skipped = first_mode - mode;
                    for i in 0..rows {
                        // Row i of a tile of R rows, or of one row.
                        let (tile, height) = if i / R * R + R <= rows { (i / R * R, R) } else { (i, 1) };
                        for t in 0..count {
                            let from = mode + product.left.at(first_row + i, first_term + t);
                            // SAFETY: the spans of the factors are within their parts, as was checked.
                            let value = unsafe { load(token, left, from) };
                            packed[tile * count + t * height + i - tile] = value;
                        }
                    }
                    let mut j = 0;
                    while j < columns {
                        let width = TILE_COLUMNS.min(columns - j);
                        for t in 0..count {
                            for column in 0..width {
                                let from = mode + product.right.at(first_term + t, j + column);
                                // SAFETY: as above.
                                panel[t * width + column] = unsafe { load(token, right, from) };
                            }
                        }
                        let panel = &panel[..count * width];
                        let mut i = 0;
                        while i < rows {
                            let height = if i + R <= rows { R } else { 1 };
                            let at = mode + product.product.at(first_row + i, j);
                            let place = TilePlace { at, strides: product.product, adds: first_term > 0, skipped };
                            let (a, out) = (&packed[i * count..(i + height) * count], [&mut *out_re, &mut *out_im]);
                            match (height == R, width == TILE_COLUMNS) {
                                (true, true) => tile::<V, R, TILE_COLUMNS, CONJUGATES>(token, a, panel, out, &place),
                                (true, false) => tile::<V, R, 1, CONJUGATES>(token, a, panel, out, &place),
                                (false, true) => tile::<V, 1, TILE_COLUMNS, CONJUGATES>(token, a, panel, out, &place),
                                (false, false) => tile::<V, 1, 1, CONJUGATES>(token, a, panel, out, &place),
                            }
                            i += height;
                        }
                        j += width;
                    }
                }
            }
        }
    }
}

/// Place of a tile in the product, and the way in which it is stored.
struct TilePlace {
    /// Position of its first row and column.
    at: usize,
    strides: Strides,
    /// Whether it is added to the values that are stored there.
    adds: bool,
    /// Lanes from the first one on that belong to the modes before.
    skipped: usize,
}

/// A tile of `R` rows and `C` columns: the sum over terms of `a` `[terms, R]` times `b` `[terms, C]`.
#[inline(always)]
fn tile<V: Register, const R: usize, const C: usize, const CONJUGATES: bool>(
    token: V::Token,
    a: &[Complex<V>],
    b: &[Complex<V>],
    [out_re, out_im]: [&mut [f32]; 2],
    place: &TilePlace,
) {
    let mut sums = [[Complex::<V>::zero(token); C]; R];
    if place.adds {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the span of the product is within its parts, as was checked.
                *sum = unsafe { load(token, [&*out_re, &*out_im], place.at + place.strides.at(row, column)) };
            }
        }
    }
    for (a, b) in a.as_chunks::<R>().0.iter().zip(b.as_chunks::<C>().0) {
        for column in 0..C {
            for row in 0..R {
                let sum = sums[row][column];
                sums[row][column] = if CONJUGATES {
                    plus_conjugate_product(sum, a[row], b[column])
                } else {
                    plus_product(sum, a[row], b[column])
                };
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        for (column, sum) in sums.iter().enumerate() {
            let to = place.at + place.strides.at(row, column);
            store(sum.re, &mut out_re[to..to + V::LANES], place.skipped);
            store(sum.im, &mut out_im[to..to + V::LANES], place.skipped);
        }
    }
}

/// The values from `at` on, as many as a register has lanes.
///
/// # Safety
/// Both parts must have them.
#[inline(always)]
unsafe fn load<V: Register>(token: V::Token, [re, im]: [&[f32]; 2], at: usize) -> Complex<V> {
    // SAFETY: the caller promises the values.
    unsafe { Complex { re: load_part(token, re, at), im: load_part(token, im, at) } }
}

/// As [`load`], of one part.
///
/// # Safety
/// The part must have the values.
#[inline(always)]
unsafe fn load_part<V: Register>(token: V::Token, values: &[f32], at: usize) -> V {
    // SAFETY: the caller promises the values; an array is that many f32.
    V::load(token, unsafe { &*values.as_ptr().add(at).cast::<V::Array>() })
}

/// Stores all lanes but the first `skipped`.
#[inline(always)]
fn store<V: Register>(register: V, values: &mut [f32], skipped: usize) {
    if skipped == 0 {
        return register.store(&mut V::arrays_mut(values)[0]);
    }
    let mut lanes = V::Array::default();
    register.store(&mut lanes);
    for (value, lane) in values.iter_mut().zip(lanes.as_ref()).skip(skipped) {
        *value = *lane;
    }
}

/// sum + a·b.
#[inline(always)]
fn plus_product<V: Register>(sum: Complex<V>, a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex {
        re: a.im.neg_mul_add(b.im, a.re.mul_add(b.re, sum.re)),
        im: a.im.mul_add(b.re, a.re.mul_add(b.im, sum.im)),
    }
}

/// sum + a·b*, where b* is the conjugate of b.
#[inline(always)]
fn plus_conjugate_product<V: Register>(sum: Complex<V>, a: Complex<V>, b: Complex<V>) -> Complex<V> {
    Complex {
        re: a.im.mul_add(b.im, a.re.mul_add(b.re, sum.re)),
        im: a.im.mul_add(b.re, a.re.neg_mul_add(b.im, sum.im)),
    }
}

/// The fewest modes that registers take.
const MIN_MODES: usize = 8;

/// Computes a product on this thread: real and imaginary parts each.
///
/// # Panics
/// If a part is shorter than its span.
pub(super) fn multiply<T: Real>(
    product: &ModeProduct,
    left: [&[T]; 2],
    right: [&[T]; 2],
    [out_re, out_im]: [&mut [T]; 2],
) {
    let ModeProduct { rows, columns, terms, modes, .. } = *product;
    let spans = [product.left.span(rows, terms, modes), product.right.span(terms, columns, modes)];
    assert!(left.iter().all(|part| spans[0] <= part.len()) && right.iter().all(|part| spans[1] <= part.len()));
    let out = product.product.span(rows, columns, modes);
    assert!(out <= out_re.len() && out <= out_im.len());
    if modes >= MIN_MODES
        && let (Some(left), Some(right)) = (T::parts_as_f32(left), T::parts_as_f32(right))
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
        && simd_enabled()
    {
        // SAFETY: the spans were just checked.
        return unsafe { multiply_tiles(product, left, right, [out_re, out_im]) };
    }
    let kernel = ModeProductKernel { product, left, right, out: [out_re, out_im] };
    if simd_enabled() { dispatch_widest(kernel) } else { kernel.run_rows() }
}

/// Positions of a matrix's rows of modes, in values: that of (i, j) is `row` · i + `column` · j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    pub row: usize,
    pub column: usize,
}

impl Strides {
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        self.row * i + self.column * j
    }

    /// Values of the memory that a matrix of `rows` by `columns` takes.
    pub fn span(&self, rows: usize, columns: usize, modes: usize) -> usize {
        if rows == 0 || columns == 0 { 0 } else { self.at(rows - 1, columns - 1) + modes }
    }
}

/// The products C\[i, j\] = Σ_t A\[i, t\] · B\[t, j\], or B's conjugate, at each of `modes` modes, the last dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModeProduct {
    /// Rows of A and C.
    pub rows: usize,
    /// Columns of B and C.
    pub columns: usize,
    /// Columns of A, rows of B.
    pub terms: usize,
    pub modes: usize,
    pub left: Strides,
    pub right: Strides,
    pub product: Strides,
    /// Whether B is conjugated.
    pub conjugates: bool,
}

/// Modes that are summed at once.
const LANES: usize = 8;

/// A product whose factors and result have all the values that are read and written.
pub(super) struct ModeProductKernel<'a, T> {
    pub product: &'a ModeProduct,
    pub left: [&'a [T]; 2],
    pub right: [&'a [T]; 2],
    pub out: [&'a mut [T]; 2],
}

impl<T: Real> Kernel for ModeProductKernel<'_, T> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        self.run_rows();
    }
}

impl<T: Real> ModeProductKernel<'_, T> {
    /// One row of modes of the product after the other.
    #[inline(always)]
    pub fn run_rows(mut self) {
        let ModeProduct { rows, columns, modes, .. } = *self.product;
        for i in 0..rows {
            for j in 0..columns {
                for mode in (0..modes / LANES * LANES).step_by(LANES) {
                    self.add_terms::<LANES>(i, j, mode);
                }
                for mode in modes / LANES * LANES..modes {
                    self.add_terms::<1>(i, j, mode);
                }
            }
        }
    }

    /// `L` modes of one row and column.
    #[inline(always)]
    fn add_terms<const L: usize>(&mut self, i: usize, j: usize, mode: usize) {
        let ModeProduct { terms, left, right, product, conjugates, .. } = *self.product;
        let sign = if conjugates { -T::one() } else { T::one() };
        let (mut re, mut im) = ([T::zero(); L], [T::zero(); L]);
        for t in 0..terms {
            let (a, b) = (mode + left.at(i, t), mode + right.at(t, j));
            let (a_re, a_im) = (&self.left[0][a..a + L], &self.left[1][a..a + L]);
            let (b_re, b_im) = (&self.right[0][b..b + L], &self.right[1][b..b + L]);
            for lane in 0..L {
                let b_im = sign * b_im[lane];
                re[lane] += a_re[lane] * b_re[lane] - a_im[lane] * b_im;
                im[lane] += a_re[lane] * b_im + a_im[lane] * b_re[lane];
            }
        }
        let to = mode + product.at(i, j);
        self.out[0][to..to + L].copy_from_slice(&re);
        self.out[1][to..to + L].copy_from_slice(&im);
    }
}
