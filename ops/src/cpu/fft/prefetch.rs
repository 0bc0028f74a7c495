//! Prefetching of the memory that later rows need, in parts: requests stall where too many are outstanding at once.

use std::ops::Range;

use crate::cpu::isa::lines::Line;
use crate::cpu::isa::register::Register;

/// Distance from the values read to those prefetched: 1,536 values are 6 KiB.
pub(in crate::cpu) const INPUT_DISTANCE: usize = 1536;
/// Distance from the values written to those prefetched: 1,024 values are 4 KiB.
const OUTPUT_DISTANCE: usize = 1024;
/// Parts of a transform, each of which prefetches its share.
const PARTS: usize = 3;

/// Prefetcher of what follows inputs that are being read, in [`PARTS`].
pub(in crate::cpu) struct Prefetcher<'a> {
    inputs: &'a [&'a [f32]],
    /// Two ranges of values, without those that were prefetched.
    ranges: [Range<usize>; 2],
    /// Distance from a value to what is prefetched for it.
    distance: usize,
    part: usize,
}

impl<'a> Prefetcher<'a> {
    /// For values `from` to `until` of each of `inputs`.
    #[inline(always)]
    pub fn new(inputs: &'a [&'a [f32]], from: usize, until: usize) -> Self {
        Self::of_ranges(inputs, [from..until, 0..0], INPUT_DISTANCE)
    }

    /// For the values of two ranges of each of `inputs`, `distance` ahead of them.
    #[inline(always)]
    pub fn of_ranges(inputs: &'a [&'a [f32]], ranges: [Range<usize>; 2], distance: usize) -> Self {
        let values = ranges[0].len() + ranges[1].len();
        Self { inputs, ranges, distance, part: values.div_ceil(PARTS).next_multiple_of(Line::LEN) }
    }

    /// Prefetches the next part, which may be past the inputs' end.
    #[inline(always)]
    pub fn advance<V: Register>(&mut self) {
        let mut left = self.part;
        for range in &mut self.ranges {
            let until = range.end.min(range.start + left);
            for input in self.inputs {
                let mut at = range.start;
                while at < until {
                    V::prefetch(input.as_ptr().wrapping_add(at + self.distance));
                    at += Line::LEN;
                }
            }
            left -= until.saturating_sub(range.start);
            range.start = until.max(range.start);
        }
    }
}

/// Prefetches what follows register `at` of two outputs that are being written, each line once.
#[inline(always)]
pub(in crate::cpu) fn prefetch_outputs<V: Register>(first: &[V::Array], second: &[V::Array], at: usize) {
    let ahead =
        |output: &[V::Array], at: usize| output.as_ptr().wrapping_add(at).cast::<f32>().wrapping_add(OUTPUT_DISTANCE);
    let registers = Line::LEN / V::LANES;
    if at.is_multiple_of(registers) {
        V::prefetch(ahead(first, at));
    }
    // The second output's line half a line later, so that the two requests do not come at once.
    if at % registers == registers / 2 {
        V::prefetch(ahead(second, at));
    }
}
