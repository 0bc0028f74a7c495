//! Products of complex matrices per mode in any float type, which the compiler vectorises for each instruction set.

use super::product_tiles::multiply_tiles;
use crate::cpu::isa::register::Register;
use crate::cpu::isa::{Kernel, dispatch_widest, simd_enabled};
use crate::cpu::real::Real;

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
        && let (Some(left), Some(right)) = (single(left), single(right))
        && let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im))
        && simd_enabled()
    {
        // SAFETY: the spans were just checked.
        return unsafe { multiply_tiles(product, left, right, [out_re, out_im]) };
    }
    let kernel = ModeProductKernel { product, left, right, out: [out_re, out_im] };
    if simd_enabled() { dispatch_widest(kernel) } else { kernel.run_rows() }
}

/// Parts in f32, if they are.
fn single<T: Real>([re, im]: [&[T]; 2]) -> Option<[&[f32]; 2]> {
    Some([T::as_f32(re)?, T::as_f32(im)?])
}

/// Positions of a matrix's rows of modes, in values: that of (i, j) is `row` · i + `column` · j.
#[derive(Debug, Clone, Copy)]
pub(super) struct Strides {
    pub row: usize,
    pub column: usize,
}

impl Strides {
    /// Position of (i, j).
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> usize {
        self.row * i + self.column * j
    }

    /// Values of the memory that a matrix of `rows` by `columns` takes.
    pub fn span(&self, rows: usize, columns: usize, modes: usize) -> usize {
        if rows == 0 || columns == 0 { 0 } else { self.at(rows - 1, columns - 1) + modes }
    }
}

/// The products C\[i, j\] = Σ_t A\[i, t\] · B\[t, j\], or B's conjugate, of matrices at each of `modes` modes, the last
/// dimension of all three.
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
