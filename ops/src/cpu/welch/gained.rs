//! Gain of the bins on rows of power, a register of bins at a time.

use crate::cpu::isa::lines::{Line, lines_for, take_values};
use crate::cpu::isa::register::Register;
use crate::cpu::learned::gain::GAIN_TAPS;

/// Values before the power of a row, the last of which is DC's mirrored neighbour: a line, so that power is aligned.
const MARGIN: usize = Line::LEN;

/// Gain of the bins, and the power of one row or of two side by side before the gain.
pub(super) struct Gained<'a> {
    /// Factors of the bin below, of the bin itself and of the bin above, `[bins]` each.
    taps: [&'a [f32]; GAIN_TAPS],
    /// `[MARGIN + bins + 1]` each.
    rows: [&'a mut [f32]; 2],
    bins: usize,
}

impl<'a> Gained<'a> {
    /// Lines of memory for rows of `bins` values.
    pub fn lines(bins: usize) -> usize {
        GAIN_TAPS * lines_for(bins) + 2 * lines_for(MARGIN + bins + 1)
    }

    /// The gain `[bins, 3]` in the order of the registers.
    pub fn new(gain: &[f32], memory: &mut &'a mut [Line]) -> Self {
        let bins = gain.len() / GAIN_TAPS;
        let mut taps = [0; GAIN_TAPS].map(|_| take_values(memory, bins));
        for (bin, factors) in gain.as_chunks::<GAIN_TAPS>().0.iter().enumerate() {
            for (taps, &factor) in taps.iter_mut().zip(factors) {
                taps[bin] = factor;
            }
        }
        let rows = [0; 2].map(|_| take_values(memory, MARGIN + bins + 1));
        let [below, own, above] = taps;
        Self { taps: [below, own, above], rows, bins }
    }

    /// Where the power of each row goes before the gain.
    #[inline(always)]
    pub fn power(&mut self) -> [&mut [f32]; 2] {
        let [first, second] = &mut self.rows;
        [&mut first[MARGIN..MARGIN + self.bins], &mut second[MARGIN..MARGIN + self.bins]]
    }

    /// Writes each row's power after the gain; a row that `into` has no room for is left out.
    #[inline(always)]
    pub fn apply<V: Register>(&mut self, token: V::Token, into: &mut [&mut [f32]; 2]) {
        for (row, into) in self.rows.iter_mut().zip(into) {
            if into.is_empty() {
                continue;
            }
            // The spectrum is mirrored at its ends.
            row[MARGIN - 1] = row[MARGIN + 1];
            row[MARGIN + self.bins] = row[MARGIN + self.bins - 2];
            let mut at = 0;
            while at < self.bins {
                // The last register ends at the last bin: some bins before it are computed twice.
                let first = at.min(self.bins - V::LANES);
                let [below, own, above] = self.taps;
                let from_below = load::<V>(token, row, MARGIN + first - 1) * load(token, below, first);
                let sum = load::<V>(token, row, MARGIN + first).mul_add(load(token, own, first), from_below);
                let sum = load::<V>(token, row, MARGIN + first + 1).mul_add(load(token, above, first), sum);
                sum.store(&mut V::arrays_mut(&mut into[first..first + V::LANES])[0]);
                at += V::LANES;
            }
        }
    }
}

/// The register at value `at`.
#[inline(always)]
fn load<V: Register>(token: V::Token, values: &[f32], at: usize) -> V {
    V::load(token, &V::arrays(&values[at..at + V::LANES])[0])
}
