//! One-sided power of real segments from their complex spectra.

use crate::cpu::isa::register::{Complex, Register};

/// Consumer of the bins of each row of a register, `L` at a time.
pub(in crate::cpu) trait BinSink<V: Register> {
    /// Takes the power of bins `L * column` to `L * (column + 1) - 1`, and their products with the bins above, which
    /// are zero where only power is computed. Columns come in order.
    fn store(&mut self, column: usize, power: V, products: V);

    /// Takes the power of Nyquist, lane 0 of each row, after all columns.
    fn finish(&mut self, nyquist: V);
}

/// Sink that stores power `[n / 2 + 1]`.
pub(in crate::cpu) struct StoreBins<'a, 'r> {
    pub power: &'a mut [&'r mut [f32]; 2],
}

impl<V: Register> BinSink<V> for StoreBins<'_, '_> {
    #[inline(always)]
    fn store(&mut self, column: usize, power: V, _products: V) {
        store_rows(power, self.power, column * V::LANES);
    }

    #[inline(always)]
    fn finish(&mut self, nyquist: V) {
        store_last(nyquist, self.power);
    }
}

/// Sink that stores power `[n / 2 + 1]` and products `[n / 2 / L]`, or adds to what is stored.
pub(in crate::cpu) struct StoreSums<'a, 'r, V> {
    pub power: &'a mut [&'r mut [f32]; 2],
    pub products: &'a mut [V],
    /// Whether the sums are added to.
    pub adds: bool,
}

impl<V: Register> BinSink<V> for StoreSums<'_, '_, V> {
    #[inline(always)]
    fn store(&mut self, column: usize, mut power: V, mut products: V) {
        if self.adds {
            power = power + load_rows(power.token(), self.power, column * V::LANES);
            products = products + self.products[column];
        }
        store_rows(power, self.power, column * V::LANES);
        self.products[column] = products;
    }

    #[inline(always)]
    fn finish(&mut self, mut nyquist: V) {
        if self.adds {
            nyquist = nyquist + load_last(nyquist.token(), self.power);
        }
        store_last(nyquist, self.power);
    }
}

/// Passes the power of pairs of segments to `bins`, for each row of a register, from `sums` `[n / L]` of |Z|².
#[inline(always)]
pub(in crate::cpu) fn fold_pairs<V: Register>(token: V::Token, sums: &[V], factor: f32, mut bins: impl BinSink<V>) {
    // Z = X₁ + i X₂ of two real segments: |Z[k]|² + |Z[n-k]|² = 2 (|X₁[k]|² + |X₂[k]|²), and an interior bin
    // counts twice.
    let (factors, zero) = (V::splat(token, factor), V::splat(token, 0.0));
    // Both parts are as long as the loop, as the compiler sees: it checks no index in it.
    let half = sums.len() / 2;
    let (lower, upper) = (&sums[..half], &sums[half..2 * half]);
    // Bins n - k to n - k - L + 1 are a reversed register, short of its lane 0, and lane 0 of the register above it.
    // DC has no mirrored bin.
    let mut above = zero;
    for c in 0..half {
        let mirrored = upper[half - 1 - c];
        bins.store(c, (lower[c] + mirrored.mirror(above)) * factors, zero);
        above = mirrored;
    }
    bins.finish(upper[0] * factors);
}

/// Passes the power of a pair of segments to `bins`, for each row of a register, and the products of the bins with the
/// bins above, 2 Re X\[k\] X*\[k+1\].
///
/// `spectrum` `[n / L]` is the transform of one segment plus i times the other.
#[inline(always)]
pub(in crate::cpu) fn unpack_pair<V: Register>(
    token: V::Token,
    spectrum: &[Complex<V>],
    factor: f32,
    mut bins: impl BinSink<V>,
) {
    // As in `fold_pairs`, for the products too: Re Z[k] Z*[k+1] of a bin and of its mirror image is twice their sum.
    let half = spectrum.len() / 2;
    let factors = V::splat(token, factor);
    let (lower, upper) = spectrum.split_at(half);
    // Bins n - k downwards, for bins k upwards. DC is its own mirror image in products, and has none in power.
    let mut above = upper[half - 1];
    let (mut z, mut image) = (lower[0], mirror(above, lower[0]));
    let mut image_of_power = mirror(above, Complex::zero(token));
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
        let squares = z.product_plus(z, image_of_power.product(image_of_power));
        let of_image = image.product(shifted_down(image, image_above));
        let products = z.product_plus(shifted_down(z, z_above), of_image);
        bins.store(c, factors * squares, factors * products);
        (z, image, image_of_power) = (z_above, image_above, image_above);
    }
    bins.finish(factors * upper[0].product(upper[0]));
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

/// The power `[n / 2 + 1]` of one segment, for each row of a register, stored to `power` or, if it `ADDS`, added to it.
///
/// `spectrum` `[n / 2 / L]` is the transform of the segment's samples taken two by two as complex values; `half_turn`
/// is that of the spectrum's plan.
#[inline(always)]
pub(in crate::cpu) fn unpack_real<V: Register, const ADDS: bool>(
    token: V::Token,
    spectrum: &[Complex<V>],
    half_turn: &[Complex<V>],
    factor: f32,
    [first, second]: &mut [&mut [f32]; 2],
) {
    // With Z the transform of x[2m] + i x[2m + 1], N = n / 2 values: 2 X[k] = S + T and 2 X[N - k] = (S - T)*, where
    // S = Z[k] + Z[N - k]*, T = -i exp(-2πi k / n) (Z[k] - Z[N - k]*). An interior bin counts twice.
    // All parts are as long as the loop or twice as long, as the compiler sees: it checks no index in it.
    let half = spectrum.len() / 2;
    let factors = V::splat(token, 0.5 * factor);
    let (lower, upper, half_turn) = (&spectrum[..half], &spectrum[half..2 * half], &half_turn[..half]);
    let (middle, last) = (half * V::LANES, 2 * half * V::LANES);
    let power = &mut [&mut first[..last + 1], if V::ROWS == 2 { &mut second[..last + 1] } else { &mut [] }];
    // DC and Nyquist are overwritten by the registers below; what is added to is read first.
    let mut ends = [[0.0; 2]; 2];
    for row in 0..V::ROWS {
        ends[row] = [power[row][0], power[row][last]];
    }
    let mut above = lower[0];
    for c in 0..half {
        // S and T, then X[k] and X[N - k].
        let (a, mirrored) = (lower[c], upper[half - 1 - c]);
        let b = mirror(mirrored, above);
        above = mirrored;
        let s = Complex { re: a.re + b.re, im: a.im - b.im };
        let t = Complex { re: a.re - b.re, im: a.im + b.im }.times(half_turn[c]);
        let (x, y) = (s.plus(t), s.minus(t));
        let (mut x, mut y) = (x.product(x) * factors, (y.product(y) * factors).reverse());
        // Bins k upwards, and bins N - k downwards.
        let (below, beyond) = (c * V::LANES, last + 1 - (c + 1) * V::LANES);
        if ADDS {
            x = x + load_rows(token, power, below);
            y = y + load_rows(token, power, beyond);
        }
        store_rows(x, power, below);
        store_rows(y, power, beyond);
    }
    // DC, Nyquist, and bin N / 2, which is its own mirror.
    let (re, im) = (first_lanes(lower[0].re), first_lanes(lower[0].im));
    let squared = first_lanes(upper[0].product(upper[0]));
    let plus = |before: f32, value: f32| if ADDS { before + value } else { value };
    for row in 0..V::ROWS {
        let (sum, difference) = (re[row] + im[row], re[row] - im[row]);
        power[row][0] = plus(ends[row][0], sum * sum * factor);
        power[row][last] = plus(ends[row][1], difference * difference * factor);
        power[row][middle] = plus(power[row][middle], squared[row] * 2.0 * factor);
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

/// Stores lane 0 of each row as its last value.
#[inline(always)]
pub(in crate::cpu) fn store_last<V: Register>(value: V, rows: &mut [&mut [f32]; 2]) {
    for (value, row) in first_lanes(value).into_iter().zip(rows).take(V::ROWS) {
        row[row.len() - 1] = value;
    }
}

/// The last values of rows in reverse: the last of each in its lane 0.
#[inline(always)]
pub(in crate::cpu) fn load_last<V: Register>(token: V::Token, rows: &[&mut [f32]; 2]) -> V {
    load_rows::<V>(token, rows, rows[0].len() - V::LANES).reverse()
}

#[inline(always)]
fn first_lanes<V: Register>(value: V) -> [f32; 2] {
    let mut rows = [V::Array::default(); 2];
    let [first, second] = &mut rows;
    value.store_rows([first, second]);
    [rows[0].as_ref()[0], rows[1].as_ref()[0]]
}
