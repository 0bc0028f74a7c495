//! Prefetching of the memory that later rows need, in parts: requests stall where too many are outstanding at once.

use std::ops::Range;

use crate::cpu::isa::lines::Line;
use crate::cpu::isa::register::Register;

/// Distance from the values read to those prefetched: 1,536 values are 6 KiB.
pub(in crate::cpu) const INPUT_DISTANCE: usize = 1536;
/// Distance from the values written to those prefetched: 1,024 values are 4 KiB.
pub(in crate::cpu) const OUTPUT_DISTANCE: usize = 1024;
/// Parts of a transform, each of which prefetches its share.
const PARTS: usize = 3;

/// Prefetching while the passes over a row run.
pub(in crate::cpu) trait Prefetch {
    /// Called at the start of the load pass, the passes over columns, and the lane pass.
    #[inline(always)]
    fn pass<V: Register>(&mut self) {}

    /// Called before each small transform of the load pass, of the last pass over columns, and of the lane pass.
    #[inline(always)]
    fn transform<V: Register>(&mut self) {}
}

/// None.
impl Prefetch for () {}

/// Prefetcher of what follows inputs that are being read, in [`PARTS`].
pub(in crate::cpu) struct Prefetcher<'a> {
    /// First values of the inputs.
    inputs: &'a [*const f32],
    /// Two ranges of values, without those that were prefetched.
    ranges: [Range<usize>; 2],
    /// Distance from a value to what is prefetched for it.
    distance: usize,
    part: usize,
}

impl<'a> Prefetcher<'a> {
    /// For values `from` to `until` of each of `inputs`.
    #[inline(always)]
    pub fn new(inputs: &'a [*const f32], from: usize, until: usize) -> Self {
        Self::of_ranges(inputs, [from..until, 0..0], INPUT_DISTANCE)
    }

    /// For the values of two ranges of each of `inputs`, `distance` ahead of them.
    #[inline(always)]
    pub fn of_ranges(inputs: &'a [*const f32], ranges: [Range<usize>; 2], distance: usize) -> Self {
        let values = ranges[0].len() + ranges[1].len();
        Self { inputs, ranges, distance, part: values.div_ceil(PARTS).next_multiple_of(Line::LEN) }
    }

    /// Prefetches the next part, which may be past the inputs' end.
    #[inline(always)]
    fn advance<V: Register>(&mut self) {
        let mut left = self.part;
        for range in &mut self.ranges {
            let until = range.end.min(range.start + left);
            for input in self.inputs {
                let mut at = range.start;
                while at < until {
                    V::prefetch(input.wrapping_add(at + self.distance));
                    at += Line::LEN;
                }
            }
            left -= until.saturating_sub(range.start);
            range.start = until.max(range.start);
        }
    }
}

impl Prefetch for Prefetcher<'_> {
    #[inline(always)]
    fn pass<V: Register>(&mut self) {
        self.advance::<V>();
    }
}

/// Values of a call, in all its arrays, from which on it prefetches the next row: fewer are in the caches of a core.
const MIN_VALUES: usize = 1 << 18;

/// Whether a call on so many complex values, read and written, prefetches the next row.
pub(in crate::cpu) fn next_row_pays(points: usize) -> bool {
    4 * points >= MIN_VALUES
}

/// Prefetcher of the rows after those that are transformed, of arrays of rows of one length.
///
/// The passes over a long row read and write it in strides that processors do not foresee.
pub(in crate::cpu) struct NextRow<'a> {
    /// First values of the rows that are transformed.
    rows: &'a [*const f32],
    len: usize,
    /// Values of each row that have been prefetched.
    done: usize,
    /// Values of each row that are prefetched at a time.
    step: usize,
}

impl<'a> NextRow<'a> {
    /// For the rows of `len` values after `rows`, in `steps` calls of [`Prefetch::transform`].
    #[inline(always)]
    pub fn new(rows: &'a [*const f32], len: usize, steps: usize) -> Self {
        Self { rows, len, done: 0, step: len.div_ceil(steps).next_multiple_of(Line::LEN) }
    }
}

impl Prefetch for NextRow<'_> {
    #[inline(always)]
    fn transform<V: Register>(&mut self) {
        let until = self.len.min(self.done + self.step);
        while self.done < until {
            for row in self.rows {
                V::prefetch(row.wrapping_add(self.len + self.done));
            }
            self.done += Line::LEN;
        }
    }
}

/// First values of the arrays that a row is read from and written to.
pub(in crate::cpu) struct RowArrays {
    starts: [*const f32; 4],
    is_in_place: bool,
}

impl RowArrays {
    /// Of a row of `input` or, where there is none, of `output` itself, in real and imaginary parts.
    #[inline(always)]
    pub fn of(input: Option<[&[f32]; 2]>, [out_re, out_im]: [&[f32]; 2]) -> Self {
        let [re, im] = input.unwrap_or([out_re, out_im]);
        Self { starts: [re, im, out_re, out_im].map(<[f32]>::as_ptr), is_in_place: input.is_none() }
    }

    /// Those that are read.
    #[inline(always)]
    pub fn read(&self) -> &[*const f32] {
        &self.starts[..2]
    }

    /// Those that are read or written.
    #[inline(always)]
    pub fn all(&self) -> &[*const f32] {
        if self.is_in_place { self.read() } else { &self.starts }
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
