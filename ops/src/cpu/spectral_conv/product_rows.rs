//! Products of complex matrices per mode in any float type, which the compiler vectorises for each instruction set.

use super::product_shape::ModeProduct;
use crate::cpu::isa::Kernel;
use crate::cpu::isa::register::Register;
use crate::cpu::real::Real;

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
