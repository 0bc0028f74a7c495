//! Cosine and sine transforms of types 2 to 4 of rows of an even length n, each as one of N = n / 2 complex values.
//!
//! Type 2 takes even positions upwards as the first half of a real signal and odd ones downwards as the second (J. Makhoul,
//! "A fast cosine transform in one and two dimensions", 1980), whose pairs are the values. With their transform Z,
//! C_k = P_k Z_k + Q_k Z*_(N−k) has coefficient k as real part and the negative one of n − k as imaginary part: P and Q join
//! the halves of the real transform, shifted by half a sample. Type 3 is the transpose. Type 4 is a transform of
//! x_(2m) + i x_(n−1−2m), with the same factors W before and after.

use std::any::{Any, TypeId};
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::Arc;

use super::algorithm::ComplexAlgorithm;
use super::complex_fft_in_place;
use crate::cache::Cache;
use crate::cpu::isa::register::MAX_LANES;
use crate::cpu::isa::{PlainKernel, dispatch_widest};
use crate::cpu::real::Real;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::{Direction, FftOptions};

/// Complex values that are transformed at a time, at least a row: few enough for the caches of a core.
const BLOCK: usize = 4096;

/// Real and imaginary parts of P, then of Q; of type 4, of W twice.
fn factors<T: Real>(kind: usize, n: usize) -> Arc<[Vec<T>; 4]> {
    static FACTORS: Cache<(usize, usize, TypeId), Arc<dyn Any + Send + Sync>> = Cache::new();
    let known = FACTORS.get((kind, n, TypeId::of::<T>()), || {
        let factor = |k: usize| {
            let part = PI * k as f64 / n as f64;
            let ((sin, cos), turn) = ((part + PI / 4.0).sin_cos(), (1.5 * part + PI / 4.0).sin_cos());
            let (rest, shift) = ((1.5 * part).sin_cos(), (part + PI / (8 * n) as f64).sin_cos());
            match kind {
                2 => [cos * turn.1, -cos * turn.0, sin * turn.0, sin * turn.1],
                3 => [cos * turn.1, cos * turn.0, sin * rest.0, -sin * rest.1],
                _ => [shift.1, -shift.0, shift.1, -shift.0],
            }
        };
        let factors: Vec<_> = (0..n / 2).map(factor).collect();
        Arc::new([0, 1, 2, 3].map(|part| factors.iter().map(|four| T::of(four[part])).collect::<Vec<_>>()))
    });
    known.downcast().expect("the key has the type")
}

/// Transforms of `rows` `[rows, n]` → `output` of that shape, as [`OpDescriptor::Dct`](crate::op::OpDescriptor::Dct);
/// n is even.
pub fn cosine<T: Real>(rows: &[T], n: usize, (kind, sines): (usize, bool), [scale, first]: [f64; 2], output: &mut [T]) {
    debug_assert!(n >= 2 && n.is_multiple_of(2) && rows.len() == output.len());
    let (points, sign, first) = (n / 2, T::of(if sines { -1.0 } else { 1.0 }), T::of(first));
    let direction = if kind == 3 { Direction::Inverse } else { Direction::Forward };
    let transform = FftOptions::new(points, direction).with_scale(scale);
    let factors = factors::<T>(kind, n);
    let factors = factors.each_ref().map(Vec::as_slice);
    // Rows that do not fill registers by themselves go side by side.
    let is_whole = points > BLOCK || ComplexAlgorithm::of_whole_rows(points).is_some();
    let at_once = (BLOCK / points).max(if is_whole { 1 } else { MAX_LANES });
    let tasks = Tasks::independent_groups(rows.len() / n, n * n.ilog2() as usize / 16, at_once);
    let at_once = at_once.min(rows.len() / n);
    tasks.run(rows.chunks(tasks.rows * n).zip(output.chunks_mut(tasks.rows * n)), |(rows, output)| {
        T::with_scratch(|scratch| {
            let (re, im) = scratch.real(2 * points * at_once).split_at_mut(points * at_once);
            for (mut rows, output) in rows.chunks(at_once * n).zip(output.chunks_mut(at_once * n)) {
                // Sines are cosines of values with alternating signs, with the coefficients in reverse.
                if sines && kind == 3 {
                    output.copy_from_slice(rows);
                    output.chunks_exact_mut(n).for_each(<[T]>::reverse);
                    rows = &*output;
                }
                dispatch_widest(PlainKernel(
                    #[inline(always)]
                    || {
                        let values = re.chunks_exact_mut(points).zip(im.chunks_exact_mut(points));
                        for (row, (re, im)) in rows.chunks_exact(n).zip(values) {
                            match kind {
                                2 => take_apart(row, re, im, sign),
                                3 => spectrum(row, re, im, factors, first),
                                _ => fold(row.as_chunks().0, re, im, factors, sines),
                            }
                        }
                    },
                ));
                // As many rows in the last block, though some are those of the one before: all go the same way.
                complex_fft_in_place(&transform, [&mut *re, &mut *im]);
                dispatch_widest(PlainKernel(
                    #[inline(always)]
                    || {
                        let values = re.chunks_exact(points).zip(im.chunks_exact(points));
                        for (row, (re, im)) in output.chunks_exact_mut(n).zip(values) {
                            match kind {
                                2 => coefficients(row, re, im, factors, first),
                                3 => put_together(row, re, im, sign),
                                _ => unfold(row.as_chunks_mut().0, re, im, factors, sign),
                            }
                        }
                    },
                ));
                if sines && kind == 2 {
                    output.chunks_exact_mut(n).for_each(<[T]>::reverse);
                }
            }
        });
    });
}

/// The values of positions by fours: 0 and 2 from the first value on, 3 and 1, times `sign`, from the last down.
#[inline(always)]
fn take_apart<T: Real>(row: &[T], re: &mut [T], im: &mut [T], sign: T) {
    let (n, half) = (row.len(), row.len() / 4);
    if n % 4 == 2 {
        (re[half], im[half]) = (row[n - 2], sign * row[n - 1]);
    }
    let ((re, re_high), (im, im_high)) = (re.split_at_mut(n / 2 - half), im.split_at_mut(n / 2 - half));
    take_fours(&row.as_chunks().0[..half], [re, im], re_high, im_high, sign);
}

/// Parameters are memory of their own to the compiler, the halves of a slice are not.
#[inline(always)]
fn take_fours<T: Real>(fours: &[[T; 4]], [re, im]: [&mut [T]; 2], re_high: &mut [T], im_high: &mut [T], sign: T) {
    let half = fours.len();
    let (re, im, re_high, im_high) = (&mut re[..half], &mut im[..half], &mut re_high[..half], &mut im_high[..half]);
    for m in 0..half {
        (re[m], im[m]) = (fours[m][0], fours[m][2]);
        (re_high[half - 1 - m], im_high[half - 1 - m]) = (sign * fours[m][3], sign * fours[m][1]);
    }
}

/// Inverse of [`take_apart`].
#[inline(always)]
fn put_together<T: Real>(row: &mut [T], re: &[T], im: &[T], sign: T) {
    let (n, half) = (row.len(), row.len() / 4);
    if n % 4 == 2 {
        (row[n - 2], row[n - 1]) = (re[half], sign * im[half]);
    }
    let (re_high, im_high) = (&re[n / 2 - half..], &im[n / 2 - half..]);
    let (re, im, fours) = (&re[..half], &im[..half], &mut row.as_chunks_mut::<4>().0[..half]);
    for m in 0..half {
        fours[m] = [re[m], sign * im_high[half - 1 - m], im[m], sign * re_high[half - 1 - m]];
    }
}

/// Coefficients of type 2 from the transforms of the values.
#[inline(always)]
fn coefficients<T: Real>(row: &mut [T], re: &[T], im: &[T], factors: [&[T]; 4], first: T) {
    let (low, high) = row.split_at_mut(re.len());
    (low[0], high[0]) = (first * (re[0] + im[0]), T::of(FRAC_1_SQRT_2) * (re[0] - im[0]));
    join::<T, false>(&mut low[1..], &mut high[1..], &re[1..], &im[1..], factors);
}

/// Transpose of [`coefficients`]: values whose transforms are rows.
#[inline(always)]
fn spectrum<T: Real>(row: &[T], re: &mut [T], im: &mut [T], factors: [&[T]; 4], first: T) {
    let (low, high) = row.split_at(re.len());
    let (dc, nyquist) = (first * low[0], T::of(FRAC_1_SQRT_2) * high[0]);
    (re[0], im[0]) = (dc + nyquist, dc - nyquist);
    join::<T, true>(&mut re[1..], &mut im[1..], &low[1..], &high[1..], factors);
}

/// P_k a_k + Q_k a*_(N−k) for k from 1 on: of the values a = `x` + i `y` the real part, and at N − k the negative imaginary
/// one; transposed, of a_k = x_k − i y_(N−k), both parts.
#[inline(always)]
fn join<T: Real, const TRANSPOSED: bool>(re: &mut [T], im: &mut [T], x: &[T], y: &[T], factors: [&[T]; 4]) {
    let count = re.len();
    let (im, x, y) = (&mut im[..count], &x[..count], &y[..count]);
    // Without `map`, which is not always inlined.
    let [p_re, p_im, q_re, q_im] = factors;
    let (p_re, p_im) = (&p_re[1..][..count], &p_im[1..][..count]);
    let (q_re, q_im) = (&q_re[1..][..count], &q_im[1..][..count]);
    for k in 0..count {
        let (mirror, factors) = (count - 1 - k, [p_re[k], p_im[k], q_re[k], q_im[k]]);
        if TRANSPOSED {
            [re[k], im[k]] = joined([x[k], -y[mirror]], [x[mirror], y[k]], factors);
        } else {
            let [real, imaginary] = joined([x[k], y[k]], [x[mirror], -y[mirror]], factors);
            (re[k], im[mirror]) = (real, -imaginary);
        }
    }
}

/// P a + Q b.
#[inline(always)]
fn joined<T: Real>(a: [T; 2], b: [T; 2], [p_re, p_im, q_re, q_im]: [T; 4]) -> [T; 2] {
    let re = (p_re * a[0] - p_im * a[1]) + (q_re * b[0] - q_im * b[1]);
    [re, (p_re * a[1] + p_im * a[0]) + (q_re * b[1] + q_im * b[0])]
}

/// W times x_(2m) + i x_(n−1−2m) of type 4, or of a row in reverse.
#[inline(always)]
fn fold<T: Real>(pairs: &[[T; 2]], re: &mut [T], im: &mut [T], [w_re, w_im, ..]: [&[T]; 4], is_reversed: bool) {
    let count = re.len();
    let (pairs, im, w_re, w_im) = (&pairs[..count], &mut im[..count], &w_re[..count], &w_im[..count]);
    for m in 0..count {
        let (even, odd) = (pairs[m][0], pairs[count - 1 - m][1]);
        let (a, b) = if is_reversed { (odd, even) } else { (even, odd) };
        (re[m], im[m]) = (w_re[m] * a - w_im[m] * b, w_re[m] * b + w_im[m] * a);
    }
}

/// Coefficients of type 4 from the transforms Z: of even numbers 2k the real parts of W Z_k, of odd ones n − 1 − 2k the
/// negative imaginary parts, times `sign`.
#[inline(always)]
fn unfold<T: Real>(pairs: &mut [[T; 2]], re: &[T], im: &[T], [w_re, w_im, ..]: [&[T]; 4], sign: T) {
    let count = re.len();
    let (pairs, im, w_re, w_im) = (&mut pairs[..count], &im[..count], &w_re[..count], &w_im[..count]);
    for k in 0..count {
        let mirror = count - 1 - k;
        let odd = w_re[mirror] * im[mirror] + w_im[mirror] * re[mirror];
        pairs[k] = [w_re[k] * re[k] - w_im[k] * im[k], -sign * odd];
    }
}
