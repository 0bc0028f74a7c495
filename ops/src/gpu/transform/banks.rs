//! Turns that shared memory takes for the exchanges of a transform.
//!
//! Shared memory lies in banks, each of which gives one value per turn: an access of several units takes as many turns
//! as the most values that they read or write in one bank.

use super::cube_layout::CubeLayout;

/// Banks of complex values.
const BANKS: usize = 16;
/// Units that access shared memory together, where each takes a complex value.
const GROUP: u32 = 16;
/// Groups of a cube that are counted: the others are like them.
const GROUPS: u32 = 8;

/// Turns of the first units of a cube for all exchanges of rows, in halves: an address that is not at a constant
/// distance from a unit's first one is counted as half a turn more.
pub fn half_turns(layout: &CubeLayout) -> u32 {
    let last = layout.radices.count() - 1;
    let (mut half_turns, mut before) = (0, 1);
    for pass in 0..=last {
        let radix = layout.radices.radix(pass);
        let span = layout.n / radix;
        if pass > 0 {
            half_turns += exchange(layout, radix, layout.reads_at_constant_steps(span), |j, m| j + m * span);
        }
        if pass < last {
            let first = |j| j / before * (before * radix) + j % before;
            let is_constant = layout.writes_at_constant_steps(radix, before);
            half_turns += exchange(layout, radix, is_constant, |j, m| first(j) + m * before);
        }
        before *= radix;
    }
    half_turns
}

/// Half turns of an access to each of `radix` values, of which value `m` of short transform `j` is at `place(j, m)`.
fn exchange(layout: &CubeLayout, radix: u32, is_constant: bool, place: impl Fn(u32, u32) -> u32) -> u32 {
    let span = layout.n / radix;
    let groups = layout.cube_units().div_ceil(GROUP).min(GROUPS);
    let mut half_turns = 0;
    for q in 0..layout.per_unit(radix) {
        for m in 0..radix {
            for group in 0..groups {
                let mut banks = Banks::default();
                for unit in group * GROUP..((group + 1) * GROUP).min(layout.cube_units()) {
                    let (slot, t) = (unit / layout.units, unit % layout.units);
                    let j = t + q * layout.units;
                    if j < span {
                        banks.take(slot * layout.sequence_stride + layout.padded(place(j, m)));
                    }
                }
                half_turns += 2 * banks.turns() + u32::from(!is_constant);
            }
        }
    }
    half_turns
}

/// Values that an access takes of each bank.
#[derive(Default)]
struct Banks {
    values: [[u32; GROUP as usize]; BANKS],
    counts: [usize; BANKS],
}

impl Banks {
    /// Takes the value at an address. A value that is taken already costs nothing.
    fn take(&mut self, address: u32) {
        let bank = address as usize % BANKS;
        let count = &mut self.counts[bank];
        if !self.values[bank][..*count].contains(&address) {
            self.values[bank][*count] = address;
            *count += 1;
        }
    }

    fn turns(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::Limits;
    use crate::gpu::transform::cube_layout::MemoryOrder;

    #[test]
    fn accesses_of_one_bank_take_turns_unless_they_read_the_same_value() {
        let mut banks = Banks::default();
        [0, 1, 15, 1].into_iter().for_each(|address| banks.take(address));
        assert_eq!(banks.turns(), 1);
        [16, 32].into_iter().for_each(|address| banks.take(address));
        assert_eq!(banks.turns(), 3);
    }

    #[test]
    fn exchanges_of_powers_of_two_take_a_turn_per_access() {
        for n in [256, 1024, 4096] {
            let layout = CubeLayout::of(n, MemoryOrder::Rows, &Limits::H200).unwrap();
            let accesses = (layout.radices.count() - 1) * 2 * layout.values();
            let groups = layout.cube_units().div_ceil(GROUP).min(GROUPS);
            assert_eq!(half_turns(&layout), 2 * accesses * groups, "{n}");
        }
    }

    #[test]
    fn columns_are_an_odd_number_of_values_apart() {
        for n in [64, 100, 256, 360, 1024] {
            let layout = CubeLayout::of(n, MemoryOrder::Columns, &Limits::H200).unwrap();
            assert!(layout.sequences > 1 && layout.sequence_stride % 2 == 1, "{n}");
        }
    }

    #[test]
    fn padding_spreads_other_radices_over_banks() {
        for n in [100, 128, 200, 360] {
            let layout = CubeLayout::of(n, MemoryOrder::Rows, &Limits::H200).unwrap();
            let adjacent = CubeLayout { padding: 0, sequence_stride: n, ..layout };
            assert!(half_turns(&layout) < half_turns(&adjacent), "{n}");
        }
    }
}
