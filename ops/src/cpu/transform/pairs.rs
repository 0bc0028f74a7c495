//! Real rows as pairs of samples: sample 2j is the real part of value j, sample 2j + 1 its imaginary part.

use super::transposition::{load_columns, store_columns};
use crate::cpu::isa::register::{Complex, Register};

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

/// Multiplies samples in their places by the first `used` of rows of `width` factors.
#[inline(always)]
pub(in crate::cpu) fn multiply_pairs<V: Register>(
    token: V::Token,
    places: &[u32],
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
            let value = &mut tile[places[j / 2] as usize];
            if j % 2 == 0 { value.re = value.re * column } else { value.im = value.im * column }
        },
    );
}

/// Multiplies samples in natural order, in values whose parts are exchanged, by rows of `length` factors.
#[inline(always)]
pub(in crate::cpu) fn multiply_exchanged_pairs<V: Register>(
    token: V::Token,
    factors: &[f32],
    length: usize,
    spare: &mut [f32],
    tile: &mut [Complex<V>],
) {
    load_columns(
        token,
        factors,
        length,
        length,
        spare,
        #[inline(always)]
        |j, column| {
            let value = &mut tile[j / 2];
            if j % 2 == 0 { value.im = value.im * column } else { value.re = value.re * column }
        },
    );
}
