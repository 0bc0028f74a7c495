//! Gain of the bins on rows of power, a register of bins at a time.

use crate::cpu::isa::lines::{Line, lines_for, take_values};
use crate::cpu::isa::register::Register;
use crate::cpu::learned::gain::GAIN_TAPS;

/// Values before the power of a row, the last of which is DC's mirrored neighbour: a line, so that power is aligned.
const MARGIN: usize = Line::LEN;

/// Gain of the bins, and the power of rows before the gain.
///
/// There are two buffers, used in turn: the gain is applied to one while the power of the next row is written to the
/// other. The load of a neighbour's power straddles two registers that were stored, and would wait for both stores to
/// reach the cache if it followed them at once.
pub(super) struct Gained<'a> {
    /// Factors of the bin below, of the bin itself and of the bin above, `[bins]` each.
    taps: [&'a [f32]; GAIN_TAPS],
    /// `[MARGIN + bins + 1]` for each turn and each row of a register.
    rows: [[&'a mut [f32]; 2]; 2],
    bins: usize,
}

impl<'a> Gained<'a> {
    /// Lines of memory for rows of `bins` values.
    pub fn lines(bins: usize) -> usize {
        GAIN_TAPS * lines_for(bins) + 4 * lines_for(MARGIN + bins + 1)
    }

    /// The gain `[bins, 3]` in the order of the registers.
    #[inline(always)]
    pub fn new(gain: &[f32], memory: &mut &'a mut [Line]) -> Self {
        let bins = gain.len() / GAIN_TAPS;
        let (below, own, above) = (take_values(memory, bins), take_values(memory, bins), take_values(memory, bins));
        for (bin, factors) in gain.as_chunks::<GAIN_TAPS>().0.iter().enumerate() {
            [below[bin], own[bin], above[bin]] = *factors;
        }
        let len = MARGIN + bins + 1;
        let rows = [
            [take_values(memory, len), take_values(memory, len)],
            [take_values(memory, len), take_values(memory, len)],
        ];
        Self { taps: [below, own, above], rows, bins }
    }

    /// Memory for the power of each row before the gain.
    #[inline(always)]
    pub fn power(&mut self, turn: usize) -> [&mut [f32]; 2] {
        let bins = self.bins;
        let [first, second] = &mut self.rows[turn];
        [&mut first[MARGIN..MARGIN + bins], &mut second[MARGIN..MARGIN + bins]]
    }

    /// Writes each row's power after the gain; a row that `into` has no room for is left out.
    #[inline(always)]
    pub fn apply<V: Register>(&mut self, token: V::Token, turn: usize, into: [&mut [f32]; 2]) {
        for (row, into) in self.rows[turn].iter_mut().zip(into) {
            if into.is_empty() {
                continue;
            }
            // The spectrum is mirrored at its ends.
            row[MARGIN - 1] = row[MARGIN + 1];
            row[MARGIN + self.bins] = row[MARGIN + self.bins - 2];
            apply_from::<V>(token, &self.taps, row, 0, into);
            // Bins are one more than whole registers: the last register ends at the last bin, and computes bins before
            // it again.
            apply_from::<V>(token, &self.taps, row, self.bins - V::LANES, into);
        }
    }
}

/// The whole registers from bin `first` on.
#[inline(always)]
fn apply_from<V: Register>(
    token: V::Token,
    [below, own, above]: &[&[f32]; GAIN_TAPS],
    row: &[f32],
    first: usize,
    into: &mut [f32],
) {
    let power = &row[MARGIN - 1 + first..];
    let taps = V::arrays(&below[first..]).iter().zip(V::arrays(&own[first..])).zip(V::arrays(&above[first..]));
    let neighbours = V::arrays(power).iter().zip(V::arrays(&power[1..])).zip(V::arrays(&power[2..]));
    for ((into, ((below, own), above)), ((lower, here), upper)) in
        V::arrays_mut(&mut into[first..]).iter_mut().zip(taps).zip(neighbours)
    {
        let from_below = V::load(token, lower) * V::load(token, below);
        let sum = V::load(token, here).mul_add(V::load(token, own), from_below);
        V::load(token, upper).mul_add(V::load(token, above), sum).store(into);
    }
}
