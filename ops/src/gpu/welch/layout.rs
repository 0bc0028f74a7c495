//! The values of one transform spread over units.

use crate::gpu::device::Limits;

/// The values of one transform spread over units, and the passes that transform them.
///
/// Unit t of `units` holds the values t + `units`·c for c below `values`. A pass transforms `values` of them (the last
/// pass fewer, several at a time); between passes units exchange values through shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TransformLayout {
    /// Length of the transform: a power of two.
    pub n: u32,
    /// Values per unit: a power of two up to 32.
    pub values: u32,
}

impl TransformLayout {
    /// The layout of a transform on a device.
    pub fn of(n: u32, limits: &Limits) -> Self {
        let values = match n {
            ..=8 => 8,
            // Two passes in one plane instead of three in two: under CUDA, whose devices report their processors.
            // Elsewhere compilers run out of registers.
            1024 if limits.plane == Some(32) && limits.processors.is_some() => 32,
            _ => 16,
        };
        Self { n, values }
    }

    /// Units per transform.
    pub const fn units(self) -> u32 {
        self.n / self.values
    }

    /// Passes of the transform.
    pub const fn passes(self) -> u32 {
        self.n.trailing_zeros().div_ceil(self.values.trailing_zeros())
    }

    /// Radix of pass `pass`.
    pub const fn radix(self, pass: u32) -> u32 {
        let left = self.n / self.before(pass);
        if left < self.values { left } else { self.values }
    }

    /// Product of the radices before pass `pass`.
    pub const fn before(self, pass: u32) -> u32 {
        self.values.pow(pass)
    }

    /// Offset in the table of the twiddles of pass `pass`, from 1: `radix × before` of them.
    pub const fn twiddles_at(self, pass: u32) -> u32 {
        let mut at = 0;
        let mut earlier = 1;
        while earlier < pass {
            at += self.radix(earlier) * self.before(earlier);
            earlier += 1;
        }
        at
    }

    /// Twiddles in the table.
    pub const fn table_len(self) -> usize {
        let len = self.twiddles_at(self.passes());
        // A buffer is never empty.
        if len == 0 { 1 } else { len as usize }
    }

    /// Complex values of shared memory that a transform exchanges through, one of padding after every `values`.
    pub const fn exchange_len(self) -> u32 {
        self.n + self.n / self.values
    }
}
