//! Memory that later rows need, asked for in advance and part by part: requests wait where there are too many at once.

use crate::cpu::isa::lines::Line;
use crate::cpu::isa::register::Lanes;

/// How far ahead of what is read memory is asked for, in values: 6 KiB.
const INPUT: usize = 1536;
/// How far ahead of what is written, in values: 4 KiB.
const OUTPUT: usize = 1024;
/// The parts of a transform, each of which asks for its share.
const PARTS: usize = 3;

/// What comes after inputs that are being read, asked for in [`PARTS`].
pub(in crate::cpu) struct Ahead<'a> {
    inputs: &'a [&'a [f32]],
    at: usize,
    until: usize,
    part: usize,
}

impl<'a> Ahead<'a> {
    /// For values `from` to `until` of each of `inputs`.
    #[inline(always)]
    pub fn new(inputs: &'a [&'a [f32]], from: usize, until: usize) -> Self {
        Self { inputs, at: from, until, part: (until - from).div_ceil(PARTS).next_multiple_of(Line::LEN) }
    }

    /// Asks for the next part, which may be past the inputs' end.
    #[inline(always)]
    pub fn ask<V: Lanes>(&mut self) {
        let until = self.until.min(self.at + self.part);
        for input in self.inputs {
            let mut at = self.at;
            while at < until {
                V::prefetch(input.as_ptr().wrapping_add(at + INPUT));
                at += Line::LEN;
            }
        }
        self.at = until;
    }
}

/// Asks for what comes after register `at` of two outputs that are being written, each line once.
#[inline(always)]
pub(in crate::cpu) fn ask_outputs<V: Lanes>(first: &[V::Array], second: &[V::Array], at: usize) {
    let ahead = |output: &[V::Array], at: usize| output.as_ptr().wrapping_add(at).cast::<f32>().wrapping_add(OUTPUT);
    let registers = Line::LEN / V::COUNT;
    if at.is_multiple_of(registers) {
        V::prefetch(ahead(first, at));
    }
    if at % registers == registers / 2 {
        V::prefetch(ahead(second, at));
    }
}
