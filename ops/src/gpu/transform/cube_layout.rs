//! The transforms that a cube computes at once: their radices, and their values spread over units.

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

/// The radices of the passes of a transform.
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

    /// Number of passes.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Radix of pass `pass`.
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
    /// Radices of the passes.
    pub radices: Radices,
    /// Units per sequence.
    pub units: u32,
    /// Sequences per cube.
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

    /// Units per cube.
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

    /// Bytes of shared memory per cube.
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

    /// Whether a multiprocessor has the registers of two cubes of one sequence each: one computes while the other
    /// waits.
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
