//! Gain of the bins on rows of power, a register of bins at a time.

use crate::cpu::fft::unpack::{first_lanes, load_rows, store_rows};
use crate::cpu::isa::lines::{Line, lines_for, take_registers};
use crate::cpu::isa::register::Register;
use crate::cpu::learned::gain::GAIN_TAPS;

/// Gain of the bins.
pub(super) struct BinGain<'a, V> {
    /// Factors of the bins below, of the bins themselves and of the bins above, `[n / 2 / L, 3]` registers.
    taps: &'a [V],
    /// Those of Nyquist, in every lane.
    nyquist: [V; GAIN_TAPS],
}

impl<'a, V: Register> BinGain<'a, V> {
    /// The gain `[bins, 3]`.
    #[inline(always)]
    pub fn new(token: V::Token, gain: &[f32], memory: &mut &'a mut [Line]) -> Self {
        let factors = gain.as_chunks::<GAIN_TAPS>().0;
        let last = factors.len() - 1;
        let taps = take_registers::<V>(token, memory, last / V::LANES * GAIN_TAPS);
        for (registers, factors) in taps.chunks_exact_mut(GAIN_TAPS).zip(factors.chunks_exact(V::LANES)) {
            for (tap, register) in registers.iter_mut().enumerate() {
                let mut values = V::Array::default();
                for (value, factors) in values.as_mut().iter_mut().zip(factors) {
                    *value = factors[tap];
                }
                *register = V::load(token, &values);
            }
        }
        let [below, own, above] = factors[last];
        Self { taps, nyquist: [V::splat(token, below), V::splat(token, own), V::splat(token, above)] }
    }

    /// Applies the gain to the power `[bins]` of each row of a register, in place; `N` is twice `bins - 1`, if the code
    /// is compiled for that alone, or 0.
    ///
    /// Power is loaded by the registers that it was stored by, and neighbours are moved between registers: a load that
    /// straddles two registers would wait until both are in the cache.
    #[inline(always)]
    pub fn apply<const N: usize>(&self, token: V::Token, power: [&mut [f32]; 2]) {
        let columns = if N > 0 { N / 2 / V::LANES } else { self.taps.len() / GAIN_TAPS };
        let last = columns * V::LANES;
        let [first, second] = power;
        let second = if V::ROWS == 1 { second } else { &mut second[..last + 1] };
        let mut power = [&mut first[..last + 1], second];
        // Nyquist in lane 0, and the bin below it in lane 1.
        let nyquist = load_rows::<V>(token, &power, last + 1 - V::LANES).reverse();
        let mut here = load_rows::<V>(token, &power, 0);
        // The spectrum is mirrored at its ends: the bin below DC is bin 1, here in the last lane.
        let mut before = here.mirror(here);
        for (c, taps) in self.taps[..columns * GAIN_TAPS].chunks_exact(GAIN_TAPS).enumerate() {
            let after = if c + 1 < columns { load_rows(token, &power, (c + 1) * V::LANES) } else { nyquist };
            let neighbours = [here.shifted_up(before), here.shifted_down(after)];
            store_rows(combined(here, neighbours, [taps[0], taps[1], taps[2]]), &mut power, c * V::LANES);
            (before, here) = (here, after);
        }
        let neighbour = nyquist.shifted_down(nyquist);
        let gained = first_lanes(combined(nyquist, [neighbour, neighbour], self.nyquist));
        for (gained, power) in gained.into_iter().zip(power).take(V::ROWS) {
            power[last] = gained;
        }
    }
}

/// Lines of memory that the gain of `bins` bins takes in registers of as many rows.
pub(super) fn gain_lines(bins: usize, rows: usize) -> usize {
    GAIN_TAPS * rows * lines_for(bins)
}

/// Power of bins, and of their neighbours below and above, with the factors of those below, of them and of those above.
#[inline(always)]
fn combined<V: Register>(here: V, [lower, upper]: [V; 2], [below, own, above]: [V; GAIN_TAPS]) -> V {
    upper.mul_add(above, here.mul_add(own, lower * below))
}
