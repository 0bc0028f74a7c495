//! The transforms that a cube computes at once: their radices, their values spread over units, and the search for the
//! cheapest layout on a device.
//!
//! Shared memory lies in banks, each of which gives one value per turn: an access of several units takes as many turns
//! as the most values that they read or write in one bank.

use crate::gpu::device::Limits;
use crate::gpu::short_transform::{MAX_PRIME, operations};

/// Passes of a transform, at most: a transform of more has no place in shared memory.
const MAX_PASSES: usize = 16;
/// Values per unit up to which registers cost nothing.
const FREE_VALUES: u32 = 16;
/// Operations of a pass per value besides its transforms: twiddles, addresses, and the exchange.
const PASS_OPERATIONS: u32 = 24;
/// Units that are issued together on most devices.
pub(super) const PLANE: u32 = 32;
/// Registers of a multiprocessor of current GPUs, which are allotted in eights.
const REGISTERS: u32 = 65_536;
/// Registers of a unit besides the two of each of its values.
const OTHER_REGISTERS: u32 = 16;
/// Registers more of a unit that computes a transform of a large prime number of values.
const LARGE_PRIME_REGISTERS: u32 = 5;
/// The least prime whose transforms keep many sums.
const LARGE_PRIME: u32 = 11;
/// Cost of a cube that is alone on its multiprocessor, in 64ths of its operations.
const ALONE: u32 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Radices {
    values: [u32; MAX_PASSES],
    count: u32,
}

impl Radices {
    /// Radices in their order, if there are not too many.
    pub fn new(radices: &[u32]) -> Option<Self> {
        let mut values = [1; MAX_PASSES];
        values.get_mut(..radices.len())?.copy_from_slice(radices);
        Some(Self { values, count: radices.len() as u32 })
    }

    pub const fn count(&self) -> u32 {
        self.count
    }

    pub const fn radix(&self, pass: u32) -> u32 {
        self.values[pass as usize]
    }
}

/// Transforms of `n` values, one per sequence, that a cube computes at once.
///
/// A pass of radix r is n/r short transforms per sequence: short transform j takes the values j + m·n/r, m below r, and
/// unit t of a sequence computes those of number t + `units`·q. Between passes units exchange values through shared
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CubeLayout {
    /// Length of the transform.
    pub n: u32,
    pub radices: Radices,
    /// Units per sequence.
    pub units: u32,
    pub sequences: u32,
    /// Values of shared memory after which one is left out, so that units are on different banks; 0 for none.
    pub padding: u32,
    /// Complex values of shared memory from one sequence to the next.
    pub sequence_stride: u32,
}

impl CubeLayout {
    /// A layout of one sequence per cube, without padding.
    pub(in crate::gpu) const fn new(n: u32, radices: Radices, units: u32) -> Self {
        Self { n, radices, units, sequences: 1, padding: 0, sequence_stride: n }
    }

    /// The layout with a value left out after each `padding` values, and `gap` values after each sequence.
    pub(in crate::gpu) fn with_padding(self, padding: u32, gap: u32) -> Self {
        let padded = Self { padding, ..self };
        Self { sequence_stride: padded.padded(self.n - 1) + 1 + gap, ..padded }
    }

    /// The layout with a value left out after each `padding` values, and sequences an odd number of values apart, so
    /// that the same value of adjacent sequences is on different banks.
    pub(super) fn with_odd_stride(self, padding: u32) -> Self {
        let padded = self.with_padding(padding, 0);
        Self { sequence_stride: padded.sequence_stride | 1, ..padded }
    }

    pub const fn cube_units(&self) -> u32 {
        self.units * self.sequences
    }

    /// Short transforms of radix `radix` per unit.
    pub const fn per_unit(&self, radix: u32) -> u32 {
        (self.n / radix).div_ceil(self.units)
    }

    /// Values in a unit's registers.
    pub const fn values(&self) -> u32 {
        let (mut most, mut pass) = (0, 0);
        while pass < self.radices.count() {
            let radix = self.radices.radix(pass);
            let values = radix * self.per_unit(radix);
            most = if values > most { values } else { most };
            pass += 1;
        }
        most
    }

    /// Offset in shared memory of value `i` of a sequence.
    pub const fn padded(&self, i: u32) -> u32 {
        match i.checked_div(self.padding) {
            Some(gaps) => i + gaps,
            None => i,
        }
    }

    /// Whether the inputs of a short transform, `span` values apart, are at constant distances in shared memory.
    pub const fn reads_at_constant_steps(&self, span: u32) -> bool {
        self.padding == 0 || span.is_multiple_of(self.padding)
    }

    /// Whether the outputs of a short transform, `before` values apart, are at constant distances in shared memory:
    /// where a block of them starts at a multiple of the padding.
    pub const fn writes_at_constant_steps(&self, radix: u32, before: u32) -> bool {
        let block = if before == 1 { radix } else { before };
        self.padding == 0 || block.is_multiple_of(self.padding)
    }

    pub const fn shared_bytes(&self) -> usize {
        8 * (self.sequences * self.sequence_stride) as usize
    }

    /// Operations per sequence, in those of a unit that has no more values than fit its registers.
    pub fn cost(&self) -> u64 {
        let passes = (0..self.radices.count()).map(|pass| {
            let radix = self.radices.radix(pass);
            u64::from(self.per_unit(radix) * self.units * (operations(radix) + PASS_OPERATIONS * radix))
        });
        let crowded = self.values().saturating_sub(FREE_VALUES);
        let alone = if self.registers_allow_two() { 0 } else { ALONE };
        passes.sum::<u64>() * u64::from(64 + crowded + alone) / 64
    }

    /// Whether a multiprocessor has the registers of two cubes of one sequence, of which one computes as the other waits.
    fn registers_allow_two(&self) -> bool {
        let has_large_prime = (0..self.radices.count()).any(|pass| {
            let radix = self.radices.radix(pass);
            (LARGE_PRIME..=MAX_PRIME).any(|factor| is_prime(factor) && radix.is_multiple_of(factor))
        });
        let for_primes = if has_large_prime { LARGE_PRIME_REGISTERS } else { 0 };
        let allotted = REGISTERS / (2 * self.units.next_multiple_of(PLANE)) / 8 * 8;
        2 * self.values() + OTHER_REGISTERS + for_primes <= allotted
    }
}

/// Whether a radix of at least 2 is a prime.
pub(super) fn is_prime(radix: u32) -> bool {
    (2..radix).all(|factor| !radix.is_multiple_of(factor))
}

/// Largest radix with more than one prime factor: greater ones take registers that units do not have.
const MAX_COMPOSITE: u32 = 25;
/// Units of a cube that takes several short sequences, about.
const CUBE_UNITS: std::ops::RangeInclusive<u32> = 128..=512;
/// Values after which one is left out in shared memory that are tried, besides the radices; 0 leaves out none.
const PADDINGS: [u32; 3] = [0, 16, 32];
/// Values left out after a sequence that are tried.
const GAPS: u32 = 16;
/// Adjacent sequences that a cube takes where they lie side by side in memory, so that it reads 64 consecutive bytes at
/// a time; fewer where so many do not fit.
const COLUMNS: u32 = 16;
/// The same where half of the sequences are mirror images of the others. Half spectra are written at odd distances, and
/// the fewer consecutive bytes a cube writes, the more sectors of memory it writes in part: each half has 128 bytes.
const MIRRORED_COLUMNS: u32 = 64;
/// The fewest of them with which a cube folds half spectra; with fewer, a launch of its own takes less time.
pub const LEAST_MIRRORED_COLUMNS: u32 = 32;

/// Position of a cube's sequences in memory, as far as it decides how many sequences a cube takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// The values of a sequence are consecutive.
    Rows,
    /// The same value of all sequences is consecutive.
    Columns,
    /// So it is of one half of the sequences, and of the other half, their mirror images.
    MirroredColumns,
}

impl CubeLayout {
    /// The cheapest layout on a device, if the transform fits one of its cubes and has no too large a prime factor.
    pub fn of(n: u32, order: MemoryOrder, limits: &Limits) -> Option<Self> {
        if !is_smooth(n) || 8 * n as usize > limits.shared {
            return None;
        }
        let mut cheapest: Option<(u64, Self)> = None;
        for_factorizations(n, &mut Vec::new(), &mut |radices| {
            let Some(radices) = Radices::new(radices) else { return };
            let padding = padding(radices.radix(0));
            for units in unit_counts(n, &radices, limits) {
                let layout = Self::new(n, radices, units).with_odd_stride(padding);
                let cost = layout.cost();
                if layout.shared_bytes() <= limits.shared && cheapest.is_none_or(|(least, _)| cost < least) {
                    cheapest = Some((cost, layout));
                }
            }
        });
        cheapest.map(|(_, layout)| match order {
            MemoryOrder::Rows => layout.with_sequences(order, limits).with_fewest_turns(limits),
            MemoryOrder::Columns | MemoryOrder::MirroredColumns => layout.with_sequences(order, limits),
        })
    }

    /// The layout with the padding for which the exchanges of rows take the fewest turns.
    fn with_fewest_turns(self, limits: &Limits) -> Self {
        let radices = (0..self.radices.count()).map(|pass| self.radices.radix(pass)).filter(|&radix| radix > 4);
        let gaps = if self.sequences > 1 { 0..GAPS } else { 0..1 };
        let candidates = PADDINGS
            .into_iter()
            .chain(radices)
            .flat_map(|padding| gaps.clone().map(move |gap| self.with_padding(padding, gap)));
        let fits = candidates.filter(|layout| layout.shared_bytes() <= limits.shared);
        fits.min_by_key(|layout| (half_turns(layout), layout.sequence_stride)).unwrap_or(self)
    }

    /// The layout with as many sequences per cube as suit the device.
    fn with_sequences(self, order: MemoryOrder, limits: &Limits) -> Self {
        let fits = |sequences: &u32| {
            let layout = Self { sequences: *sequences, ..self };
            layout.units * sequences <= limits.units && layout.shared_bytes() <= limits.shared
        };
        let most_that_fit = |most: u32| (0..=most.ilog2()).rev().map(|log| 1 << log).find(fits);
        let sequences = match order {
            MemoryOrder::Columns => most_that_fit(COLUMNS),
            MemoryOrder::MirroredColumns => most_that_fit(MIRRORED_COLUMNS),
            MemoryOrder::Rows => {
                // Full planes, then small cubes.
                let idle = |sequences: u32| {
                    let units = sequences * self.units;
                    (units.next_multiple_of(PLANE) - units) * 1000 / units + sequences * self.units / 5
                };
                let most = CUBE_UNITS.end() / self.units;
                let least = CUBE_UNITS.start().div_ceil(self.units).min(most);
                (least.max(1)..=most.max(1)).filter(fits).min_by_key(|&sequences| idle(sequences)).or_else(|| {
                    // The shared memory of a small device.
                    (1..=least).rev().find(fits)
                })
            }
        };
        Self { sequences: sequences.unwrap_or(1), ..self }
    }
}

/// Values of shared memory after which one is left out where the first radix is `radix`: adjacent units write so far
/// apart, and odd distances need no padding.
fn padding(radix: u32) -> u32 {
    match radix {
        8 | 16 => 16,
        _ if radix.is_multiple_of(4) => 32,
        _ => 0,
    }
}

/// Whether short transforms compute every prime factor of `n`.
pub fn is_smooth(n: u32) -> bool {
    let rest = (2..=MAX_PRIME).fold(n, |mut rest, factor| {
        while rest > 1 && rest.is_multiple_of(factor) {
            rest /= factor;
        }
        rest
    });
    rest == 1
}

/// Numbers of units per sequence that divide the short transforms of some pass evenly.
fn unit_counts(n: u32, radices: &Radices, limits: &Limits) -> Vec<u32> {
    let mut counts: Vec<u32> = (0..radices.count())
        .flat_map(|pass| (1..=MAX_COMPOSITE).map(move |share| (n / radices.radix(pass)).div_ceil(share)))
        .filter(|&units| units <= limits.units)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let fits = |units: &u32| CubeLayout::new(n, *radices, *units).values() <= MAX_PRIME + 1;
    counts.into_iter().filter(fits).collect()
}

/// Calls `each` with every way to write `n` as a product of radices, the largest first.
fn for_factorizations(n: u32, radices: &mut Vec<u32>, each: &mut impl FnMut(&[u32])) {
    if n == 1 {
        each(if radices.is_empty() { &[1] } else { radices });
        return;
    }
    let largest = radices.last().copied().unwrap_or(MAX_PRIME).min(n);
    for radix in 2..=largest {
        let single = is_prime(radix);
        if n.is_multiple_of(radix) && (single || radix <= MAX_COMPOSITE) {
            radices.push(radix);
            for_factorizations(n / radix, radices, each);
            radices.pop();
        }
    }
}

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
