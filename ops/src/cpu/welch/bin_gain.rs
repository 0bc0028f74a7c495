//! Gain of the bins on rows of power, and perhaps on products of neighbours, a register of bins at a time.

use crate::cpu::fft::unpack::{first_lanes, load_rows, store_rows};
use crate::cpu::isa::lines::{Line, lines_for, take_registers};
use crate::cpu::isa::register::Register;
use crate::cpu::learned::gain::{POWER_TAPS, PRODUCT_TAPS, taps_of};

/// Gain of the bins of rows.
pub(super) enum RowGain<'a, V> {
    /// On power alone.
    Power(BinGain<'a, V, POWER_TAPS>),
    /// On power and products of neighbours.
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

    /// As [`BinGain::apply`].
    #[inline(always)]
    pub fn apply<const N: usize>(&self, token: V::Token, power: [&mut [f32]; 2], products: &[V]) {
        match self {
            Self::Power(gain) => gain.apply::<N>(token, power, products),
            Self::Products(gain) => gain.apply::<N>(token, power, products),
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

    /// Applies the gain to the power `[bins]` of each row of a register, in place, and to `products` `[n / 2 / L]` if it
    /// takes them; `N` is twice `bins - 1`, if the code is compiled for that alone, or 0.
    ///
    /// Power is loaded by the registers that it was stored by, and neighbours are moved between registers: a load that
    /// straddles two registers would wait until both are in the cache.
    #[inline(always)]
    pub fn apply<const N: usize>(&self, token: V::Token, power: [&mut [f32]; 2], products: &[V]) {
        let columns = if N > 0 { N / 2 / V::LANES } else { self.taps.len() / T };
        let last = columns * V::LANES;
        let [first, second] = power;
        let second = if V::ROWS == 1 { second } else { &mut second[..last + 1] };
        let mut power = [&mut first[..last + 1], second];
        // Nyquist in lane 0, and the bin below it in lane 1.
        let nyquist = load_rows::<V>(token, &power, last + 1 - V::LANES).reverse();
        let mut here = load_rows::<V>(token, &power, 0);
        // The spectrum is mirrored at its ends: the bin below DC is bin 1, here in the last lane.
        let mut before = here.mirror(here);
        let products = if T == PRODUCT_TAPS { &products[..columns] } else { &[] };
        // The product of the bin below DC with DC is that of DC with bin 1, here in the last lane.
        let mut products_before = if T == PRODUCT_TAPS { products[0].reverse() } else { here };
        for (c, taps) in self.taps[..columns * T].as_chunks::<T>().0.iter().enumerate() {
            let after = if c + 1 < columns { load_rows(token, &power, (c + 1) * V::LANES) } else { nyquist };
            let neighbours = [here.shifted_up(before), here.shifted_down(after)];
            let mut gained = combined(here, neighbours, taps);
            if T == PRODUCT_TAPS {
                let product = products[c];
                gained = plus_products(gained, [product.shifted_up(products_before), product], taps);
                products_before = product;
            }
            store_rows(gained, &mut power, c * V::LANES);
            (before, here) = (here, after);
        }
        let neighbour = nyquist.shifted_down(nyquist);
        let mut gained = combined(nyquist, [neighbour, neighbour], &self.nyquist);
        if T == PRODUCT_TAPS {
            let product = products_before.reverse();
            gained = plus_products(gained, [product, product], &self.nyquist);
        }
        let gained = first_lanes(gained);
        for (gained, power) in gained.into_iter().zip(power).take(V::ROWS) {
            power[last] = gained;
        }
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
