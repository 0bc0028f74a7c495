//! Per-bin gain: each bin's power from its own and its neighbours', and perhaps from products with them.
//!
//! A gain combines the *sums* of a row: the power P of its bins and, if it has five factors per bin, behind them the
//! products C\[k\] of each bin with the bin above, one fewer, which are sums over segments as power is, of
//! 2 Re Y\[k\] Y*\[k+1\] where power has |Y\[k\]|².
//!
//! out\[k\] = gain\[k, 0\] P\[k−1\] + gain\[k, 1\] P\[k\] + gain\[k, 2\] P\[k+1\] (+ gain\[k, 3\] C\[k−1\] +
//! gain\[k, 4\] C\[k\]), the spectrum mirrored at its ends: P\[−1\] = P\[1\], P\[n/2+1\] = P\[n/2−1\],
//! C\[−1\] = C\[0\], C\[n/2\] = C\[n/2−1\].

use crate::cpu::fft::unpack::{BinSink, load_last, load_rows, store_last, store_rows};
use crate::cpu::isa::lines::{Line, lines_for, take_registers};
use crate::cpu::isa::register::Register;
use crate::cpu::real::Real;
pub(in crate::cpu) use crate::options::{POWER_TAPS, PRODUCT_TAPS};

/// Whether a gain is one of `bins` bins.
pub(in crate::cpu) fn is_gain_of<T>(gain: &[T], bins: usize) -> bool {
    gain.len() == POWER_TAPS * bins || gain.len() == PRODUCT_TAPS * bins
}

/// Number of factors per bin of a gain of `bins` bins.
#[inline(always)]
pub(in crate::cpu) fn taps_of<T>(gain: &[T], bins: usize) -> usize {
    gain.len() / bins
}

/// Number of the sums of a row that a gain, or none, takes.
#[inline(always)]
pub(in crate::cpu) fn sums_len<T>(gain: Option<&[T]>, bins: usize) -> usize {
    match gain {
        Some(gain) if taps_of(gain, bins) == PRODUCT_TAPS => 2 * bins - 1,
        _ => bins,
    }
}

/// Indices of the sums that the factors of bin `k` multiply, in the order of the factors.
#[inline(always)]
pub(in crate::cpu) fn sources(k: usize, bins: usize) -> [usize; PRODUCT_TAPS] {
    let last = bins - 1;
    let (below, above) = (if k > 0 { k - 1 } else { 1 }, if k < last { k + 1 } else { last - 1 });
    let (product_below, product_above) = (k.saturating_sub(1), k.min(last - 1));
    [below, k, above, bins + product_below, bins + product_above]
}

/// Applies `gain` to the sums of one row → `out` `[bins]`.
pub(in crate::cpu) fn apply<T: Real>(gain: &[T], sums: &[T], out: &mut [T]) {
    let bins = out.len();
    for ((k, taps), out) in gain.chunks_exact(taps_of(gain, bins)).enumerate().zip(out) {
        let terms = taps.iter().zip(sources(k, bins)).map(|(&tap, from)| tap * sums[from]);
        *out = terms.fold(T::zero(), |sum, term| sum + term);
    }
}

/// Adds the gradient of the gain to `into`, unless that is empty, from `grad` `[bins]`, the gradient of a row after
/// [`apply`], and `sums`, the row before it.
pub(in crate::cpu) fn add_gradient<T: Real>(sums: &[T], grad: &[T], into: &mut [T]) {
    if into.is_empty() {
        return;
    }
    let bins = grad.len();
    for (k, into) in into.chunks_exact_mut(taps_of(into, bins)).enumerate() {
        for (into, from) in into.iter_mut().zip(sources(k, bins)) {
            *into += grad[k] * sums[from];
        }
    }
}

/// The gradient of the sums of a row before [`apply`], from `grad` `[bins]`, that of the row after it.
pub(in crate::cpu) fn adjoint<T: Real>(gain: &[T], grad: &[T], of_sums: &mut [T]) {
    let bins = grad.len();
    of_sums.fill(T::zero());
    for (k, taps) in gain.chunks_exact(taps_of(gain, bins)).enumerate() {
        for (&tap, into) in taps.iter().zip(sources(k, bins)) {
            of_sums[into] += grad[k] * tap;
        }
    }
}

/// Gain of the bins of rows.
pub(super) enum RowGain<'a, V> {
    Power(BinGain<'a, V, POWER_TAPS>),
    Products(BinGain<'a, V, PRODUCT_TAPS>),
}

impl<'a, V: Register> RowGain<'a, V> {
    /// The gain `[bins, 3]` or `[bins, 5]`.
    #[inline(always)]
    pub fn new(token: V::Token, gain: &[f32], bins: usize, memory: &mut &'a mut [Line]) -> Self {
        match taps_of(gain, bins) {
            PRODUCT_TAPS => Self::Products(BinGain::new(token, gain, memory)),
            _ => Self::Power(BinGain::new(token, gain, memory)),
        }
    }
}

/// Gain of the bins, of `T` factors each.
pub(super) struct BinGain<'a, V, const T: usize> {
    /// Factors of the bins below, of the bins themselves, of the bins above, and of products, `[n / 2 / L, T]` registers.
    taps: &'a [V],
    /// Those of Nyquist, in every lane.
    nyquist: [V; T],
}

impl<'a, V: Register, const T: usize> BinGain<'a, V, T> {
    /// The gain `[bins, T]`.
    #[inline(always)]
    pub fn new(token: V::Token, gain: &[f32], memory: &mut &'a mut [Line]) -> Self {
        let factors = gain.as_chunks::<T>().0;
        let last = factors.len() - 1;
        let taps = take_registers::<V>(token, memory, last / V::LANES * T);
        for (registers, factors) in taps.chunks_exact_mut(T).zip(factors.chunks_exact(V::LANES)) {
            for (tap, register) in registers.iter_mut().enumerate() {
                let mut values = V::Array::default();
                for (value, factors) in values.as_mut().iter_mut().zip(factors) {
                    *value = factors[tap];
                }
                *register = V::load(token, &values);
            }
        }
        let mut nyquist = [V::splat(token, 0.0); T];
        for (register, &factor) in nyquist.iter_mut().zip(&factors[last]) {
            *register = V::splat(token, factor);
        }
        Self { taps, nyquist }
    }

    /// A sink that applies the gain and stores the result to `power` `[bins]` of each row of a register.
    ///
    /// What the sink takes is added to the sums of earlier segments: the `products` `[n / 2 / L]` and what `power` holds,
    /// if there are any, or nothing where `products` is empty. `N` is twice `bins - 1`, if the code is compiled for that
    /// alone, or 0.
    #[inline(always)]
    pub fn sink<'s, 'r, const N: usize>(
        &'s self,
        token: V::Token,
        power: &'s mut [&'r mut [f32]; 2],
        products: &'s [V],
    ) -> GainedBins<'s, 'r, V, T> {
        let zero = V::splat(token, 0.0);
        let (below, here) = ([zero; 2], [zero; 2]);
        let columns = if N > 0 { N / 2 / V::LANES } else { self.taps.len() / T };
        GainedBins {
            taps: &self.taps.as_chunks::<T>().0[..columns],
            nyquist: &self.nyquist,
            power,
            products,
            below,
            here,
        }
    }
}

impl<V: Register> BinGain<'_, V, POWER_TAPS> {
    /// Applies the gain to the power `[bins]` of each row of a register, in place; `N` is twice `bins - 1`, if the code
    /// is compiled for that alone, or 0.
    ///
    /// Power is loaded by the registers that it was stored by, and neighbours are moved between registers: a load that
    /// straddles two registers would wait until both are in the cache.
    #[inline(always)]
    pub fn apply<const N: usize>(&self, token: V::Token, power: &mut [&mut [f32]; 2]) {
        let zero = V::splat(token, 0.0);
        let nyquist = load_last(token, power);
        let mut bins = self.sink::<N>(token, power, &[]);
        for c in 0..bins.taps.len() {
            let power = load_rows(token, bins.power, c * V::LANES);
            bins.store(c, power, zero);
        }
        bins.finish(nyquist);
    }
}

/// Sink that applies a gain. A column is stored once the one above it is there, which its gain takes too; a column is
/// kept as its power and its products.
pub(super) struct GainedBins<'s, 'r, V, const T: usize> {
    taps: &'s [[V; T]],
    nyquist: &'s [V; T],
    power: &'s mut [&'r mut [f32]; 2],
    /// Those of earlier segments.
    products: &'s [V],
    /// The column before the last one taken.
    below: [V; 2],
    /// The last column taken.
    here: [V; 2],
}

impl<V: Register, const T: usize> GainedBins<'_, '_, V, T> {
    /// Power of the last column taken after the gain; `above` is the power of the column above it.
    #[inline(always)]
    fn gained(&self, above: V, taps: &[V; T]) -> V {
        let [[power_below, products_below], [power, products]] = [self.below, self.here];
        let neighbours = [power.shifted_up(power_below), power.shifted_down(above)];
        let gained = combined(power, neighbours, taps);
        if T == PRODUCT_TAPS {
            plus_products(gained, [products.shifted_up(products_below), products], taps)
        } else {
            gained
        }
    }
}

impl<V: Register, const T: usize> BinSink<V> for GainedBins<'_, '_, V, T> {
    #[inline(always)]
    fn store(&mut self, column: usize, mut power: V, mut products: V) {
        if !self.products.is_empty() {
            power = power + load_rows(power.token(), self.power, column * V::LANES);
            products = products + self.products[column];
        }
        self.below = if column == 0 {
            // The spectrum is mirrored at its ends: the bin below DC is bin 1, and the product of the two is that of DC
            // with bin 1, here in the last lanes.
            [power.mirror(power), products.reverse()]
        } else {
            store_rows(self.gained(power, &self.taps[column - 1]), self.power, (column - 1) * V::LANES);
            self.here
        };
        self.here = [power, products];
    }

    #[inline(always)]
    fn finish(&mut self, mut nyquist: V) {
        if !self.products.is_empty() {
            nyquist = nyquist + load_last(nyquist.token(), self.power);
        }
        let last = self.taps.len() - 1;
        store_rows(self.gained(nyquist, &self.taps[last]), self.power, last * V::LANES);
        // The bin beyond Nyquist is the one below it.
        let [power, products] = [self.here[0].reverse(), self.here[1].reverse()];
        let mut gained = combined(nyquist, [power, power], self.nyquist);
        if T == PRODUCT_TAPS {
            gained = plus_products(gained, [products, products], self.nyquist);
        }
        store_last(gained, self.power);
    }
}

/// Lines of memory that a gain of `bins` bins takes in registers of as many rows.
pub(super) fn gain_lines(gain: &[f32], bins: usize, rows: usize) -> usize {
    taps_of(gain, bins) * rows * lines_for(bins)
}

/// Power of bins, and of their neighbours below and above, with the factors of those below, of them and of those above.
#[inline(always)]
fn combined<V: Register, const T: usize>(here: V, [lower, upper]: [V; 2], taps: &[V; T]) -> V {
    upper.mul_add(taps[2], here.mul_add(taps[1], lower * taps[0]))
}

/// [`combined`] power plus the products of the bins with those below and above, times their factors.
#[inline(always)]
fn plus_products<V: Register, const T: usize>(power: V, [below, above]: [V; 2], taps: &[V; T]) -> V {
    above.mul_add(taps[POWER_TAPS + 1], below.mul_add(taps[POWER_TAPS], power))
}
