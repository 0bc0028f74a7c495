//! Search for the cheapest layout of a transform on a device.

use super::banks::half_turns;
use super::cube_layout::{CubeLayout, PLANE, Radices, is_prime};
use crate::gpu::device::Limits;
use crate::gpu::short_transform::MAX_PRIME;

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
    /// The cheapest layout on a device, if the transform fits one of its cubes and has no prime factor that is too
    /// large.
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
