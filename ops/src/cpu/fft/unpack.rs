//! One-sided power of real segments from their complex spectra.

use crate::cpu::isa::register::{Complex, Register};

/// The power `[n / 2 + 1]` of pairs of segments, for each row of a register, from `sums` `[n / L]` of |Z|².
#[inline(always)]
pub(in crate::cpu) fn fold_pairs<V: Register>(token: V::Token, sums: &[V], factor: f32, power: &mut [&mut [f32]; 2]) {
    // Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|² + |X₂[k]|²), and an interior bin
    // counts twice.
    let half = sums.len() / 2;
    let factors = V::splat(token, factor);
    let (lower, upper) = sums.split_at(half);
    // Bins n - k to n - k - L + 1 are a reversed register, short of its lane 0, and lane 0 of the register above it.
    let mut above = lower[0];
    for (c, (&lower, &upper)) in lower.iter().zip(upper.iter().rev()).enumerate() {
        store_rows((lower + upper.mirror(above)) * factors, power, c * V::LANES);
        above = upper;
    }
    // DC and Nyquist have no mirrored bin.
    let (first, last) = (first_lanes(lower[0]), first_lanes(upper[0]));
    for (row, power) in power.iter_mut().take(V::ROWS).enumerate() {
        power[0] = first[row] * factor;
        power[half * V::LANES] = last[row] * factor;
    }
}

/// The power `[n / 2 + 1]` of a pair of segments, for each row of a register, stored to `power` or added to it, and
/// likewise the products `[n / 2 / L]` of the bins with the bins above, 2 Re X\[k\] X*\[k+1\].
///
/// `spectrum` `[n / L]` is the transform of one segment plus i times the other.
#[inline(always)]
pub(in crate::cpu) fn unpack_pair<V: Register>(
    token: V::Token,
    spectrum: &[Complex<V>],
    factor: f32,
    add: bool,
    power: &mut [&mut [f32]; 2],
    products: &mut [V],
) {
    // As in `fold_pairs`, for the products too: Re Z[k] Z*[k+1] of a bin and of its mirror image is twice their sum.
    let half = spectrum.len() / 2;
    let factors = V::splat(token, factor);
    let (lower, upper) = spectrum.split_at(half);
    let products = &mut products[..half];
    // DC and Nyquist are overwritten by the registers below; what is added to is read first.
    let last = half * V::LANES;
    let mut ends = [[0.0; 2]; 2];
    if add {
        for (ends, power) in ends.iter_mut().zip(&*power).take(V::ROWS) {
            *ends = [power[0], power[last]];
        }
    }
    // Bins n - k downwards, for bins k upwards.
    let mut above = upper[half - 1];
    let (mut z, mut image) = (lower[0], mirror(above, lower[0]));
    for c in 0..half {
        // Of the registers above the last ones, only the Nyquist bin is used, which is its own mirror image.
        let (z_above, image_above) = if c + 1 < half {
            let next = upper[half - 2 - c];
            let image = mirror(next, above);
            above = next;
            (lower[c + 1], image)
        } else {
            (upper[0], upper[0])
        };
        let squares = factors * z.product_plus(z, image.product(image));
        let of_image = image.product(shifted_down(image, image_above));
        let product = factors * z.product_plus(shifted_down(z, z_above), of_image);
        let at = c * V::LANES;
        if add {
            store_rows(load_rows::<V>(token, power, at) + squares, power, at);
            products[c] = products[c] + product;
        } else {
            store_rows(squares, power, at);
            products[c] = product;
        }
        (z, image) = (z_above, image_above);
    }
    // DC and Nyquist have no mirrored bin.
    let (dc, nyquist) = (first_lanes(lower[0].product(lower[0])), first_lanes(upper[0].product(upper[0])));
    for (row, power) in power.iter_mut().take(V::ROWS).enumerate() {
        power[0] = ends[row][0] + dc[row] * factor;
        power[last] = ends[row][1] + nyquist[row] * factor;
    }
}

/// [`Register::mirror`] of both parts.
#[inline(always)]
fn mirror<V: Register>(z: Complex<V>, above: Complex<V>) -> Complex<V> {
    Complex { re: z.re.mirror(above.re), im: z.im.mirror(above.im) }
}

/// [`Register::shifted_down`] of both parts.
#[inline(always)]
fn shifted_down<V: Register>(z: Complex<V>, above: Complex<V>) -> Complex<V> {
    Complex { re: z.re.shifted_down(above.re), im: z.im.shifted_down(above.im) }
}

/// The power `[n / 2 + 1]` of one segment, for each row of a register, stored to `power` or added to it.
///
/// `spectrum` `[n / 2 / L]` is the transform of the segment's samples taken two by two as complex values; `half_turn`
/// is that of the spectrum's plan.
#[inline(always)]
pub(in crate::cpu) fn unpack_real<V: Register>(
    token: V::Token,
    spectrum: &[Complex<V>],
    half_turn: &[Complex<V>],
    factor: f32,
    add: bool,
    power: &mut [&mut [f32]; 2],
) {
    // With Z the transform of x[2m] + i x[2m + 1], N = n / 2 values: 2 X[k] = S + T and 2 X[N - k] = (S - T)*, where
    // S = Z[k] + Z[N - k]*, T = -i exp(-2πi k / n) (Z[k] - Z[N - k]*). An interior bin counts twice.
    let half = spectrum.len() / 2;
    let factors = V::splat(token, 0.5 * factor);
    let (lower, upper) = spectrum.split_at(half);
    let (middle, last) = (half * V::LANES, spectrum.len() * V::LANES);
    // DC and Nyquist are overwritten by the registers below; what is added to is read first.
    let mut ends = [[0.0; 2]; 2];
    for (ends, power) in ends.iter_mut().zip(&*power).take(V::ROWS) {
        *ends = [power[0], power[last]];
    }
    let mut above = lower[0];
    let registers = lower.iter().zip(upper.iter().rev()).zip(&half_turn[..half]);
    for (c, ((&a, &upper), &turn)) in registers.enumerate() {
        // S and T, then X[k] and X[N - k].
        let b = Complex { re: upper.re.mirror(above.re), im: upper.im.mirror(above.im) };
        above = upper;
        let s = Complex { re: a.re + b.re, im: a.im - b.im };
        let t = Complex { re: a.re - b.re, im: a.im + b.im }.times(turn);
        let (x, y) = (s.plus(t), s.minus(t));
        let (x, y) = ((x.re.mul_add(x.re, x.im * x.im)) * factors, (y.re.mul_add(y.re, y.im * y.im)) * factors);
        // Bins k upwards, and bins N - k downwards.
        let (below, beyond) = (c * V::LANES, last + 1 - (c + 1) * V::LANES);
        let y = y.reverse();
        if add {
            store_rows(load_rows::<V>(token, power, below) + x, power, below);
            store_rows(load_rows::<V>(token, power, beyond) + y, power, beyond);
        } else {
            store_rows(x, power, below);
            store_rows(y, power, beyond);
        }
    }
    // DC, Nyquist, and bin N / 2, which is its own mirror.
    let (re, im) = (first_lanes(lower[0].re), first_lanes(lower[0].im));
    let squared = first_lanes(upper[0].re.mul_add(upper[0].re, upper[0].im * upper[0].im));
    let plus = |before: f32, value: f32| if add { before + value } else { value };
    for (row, power) in power.iter_mut().take(V::ROWS).enumerate() {
        let (sum, difference) = (re[row] + im[row], re[row] - im[row]);
        power[0] = plus(ends[row][0], sum * sum * factor);
        power[last] = plus(ends[row][1], difference * difference * factor);
        power[middle] = plus(power[middle], squared[row] * 2.0 * factor);
    }
}

/// Stores a register at value `at` of its rows.
#[inline(always)]
pub(in crate::cpu) fn store_rows<V: Register>(value: V, [first, second]: &mut [&mut [f32]; 2], at: usize) {
    let first = &mut V::arrays_mut(&mut first[at..at + V::LANES])[0];
    if V::ROWS == 1 {
        value.store(first);
    } else {
        value.store_rows([first, &mut V::arrays_mut(&mut second[at..at + V::LANES])[0]]);
    }
}

/// Loads the register at value `at` of its rows.
#[inline(always)]
pub(in crate::cpu) fn load_rows<V: Register>(token: V::Token, [first, second]: &[&mut [f32]; 2], at: usize) -> V {
    let first = &V::arrays(&first[at..at + V::LANES])[0];
    if V::ROWS == 1 {
        V::load(token, first)
    } else {
        V::load_rows(token, [first, &V::arrays(&second[at..at + V::LANES])[0]])
    }
}

/// Lane 0 of each row.
#[inline(always)]
pub(in crate::cpu) fn first_lanes<V: Register>(value: V) -> [f32; 2] {
    let mut rows = [V::Array::default(); 2];
    let [first, second] = &mut rows;
    value.store_rows([first, second]);
    [rows[0].as_ref()[0], rows[1].as_ref()[0]]
}
