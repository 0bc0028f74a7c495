//! Cache-line-aligned memory that registers are loaded from, kept per thread.

use std::cell::Cell;
use std::ops::Range;

use crate::cpu::isa::register::{Complex, Register};

/// A cache line of values.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(in crate::cpu) struct Line([f32; Line::LEN]);

impl Line {
    pub const LEN: usize = 16;
}

/// Lines that hold `values`, the last filled up with zeros.
fn lines_of(values: &[f32]) -> Vec<Line> {
    let line = |values: &[f32]| {
        let mut line = Line::default();
        line.0[..values.len()].copy_from_slice(values);
        line
    };
    values.chunks(Line::LEN).map(line).collect()
}

/// Lanes and rows of a register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(in crate::cpu) struct RegisterShape {
    pub lanes: usize,
    pub rows: usize,
}

impl RegisterShape {
    pub fn of<V: Register>() -> Self {
        Self { lanes: V::LANES, rows: V::ROWS }
    }

    /// Complex registers with the values that `value` gives for each index and lane, the same in every row.
    pub fn lines(self, indices: Range<usize>, value: impl Fn(usize, usize) -> [f32; 2]) -> Vec<Line> {
        let mut values = Vec::with_capacity(2 * indices.len() * self.lanes * self.rows);
        for index in indices {
            for part in 0..2 {
                for _ in 0..self.rows {
                    values.extend((0..self.lanes).map(|lane| value(index, lane)[part]));
                }
            }
        }
        lines_of(&values)
    }
}

/// `lines` as the registers of complex values they hold.
pub(in crate::cpu) fn complexes<V: Register>(_token: V::Token, lines: &[Line]) -> &[Complex<V>] {
    let count = size_of_val(lines) / size_of::<Complex<V>>();
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: a `Complex<V>` is f32 values without padding, for which any bits are valid, and no more aligned than a
    // line; `count` of them are within `lines`, which stay borrowed. The token proves the instructions of `V`.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), count) }
}

/// Cuts `count` registers of complex values off `lines`, of unspecified contents.
pub(in crate::cpu) fn take_complexes<'a, V: Register>(
    _token: V::Token,
    lines: &mut &'a mut [Line],
    count: usize,
) -> &'a mut [Complex<V>] {
    let taken = take_lines(lines, 2 * count * V::ROWS * V::LANES);
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: as in `complexes`; `taken` is borrowed for as long as the result, and holds `count` of them.
    unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), count) }
}

/// Cuts `count` registers off `lines`, of unspecified contents.
pub(in crate::cpu) fn take_registers<'a, V: Register>(
    _token: V::Token,
    lines: &mut &'a mut [Line],
    count: usize,
) -> &'a mut [V] {
    let taken = take_lines(lines, count * V::ROWS * V::LANES);
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: `V` is f32 values without padding, for which any bits are valid, and no more aligned than a line;
    // `taken` is borrowed for as long as the result, and holds `count` of them. The token proves the instructions.
    unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), count) }
}

/// Cuts `count` values off `lines`, of unspecified contents.
pub(in crate::cpu) fn take_values<'a>(lines: &mut &'a mut [Line], count: usize) -> &'a mut [f32] {
    let taken = take_lines(lines, count);
    // SAFETY: a line is `Line::LEN` f32 values without padding; `taken` is borrowed for as long as the result.
    let values = unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), taken.len() * Line::LEN) };
    &mut values[..count]
}

/// Number of lines that `values` values take.
pub(in crate::cpu) const fn lines_for(values: usize) -> usize {
    values.div_ceil(Line::LEN)
}

fn take_lines<'a>(lines: &mut &'a mut [Line], values: usize) -> &'a mut [Line] {
    let (taken, rest) = std::mem::take(lines).split_at_mut(lines_for(values));
    *lines = rest;
    taken
}

/// Runs `body` with `count` lines of this thread, of unspecified contents.
pub(in crate::cpu) fn with_lines<R>(count: usize, body: impl FnOnce(&mut [Line]) -> R) -> R {
    thread_local! {
        static LINES: Cell<Vec<Line>> = Cell::default();
    }
    // Taken rather than borrowed: a nested call on the same thread gets lines of its own.
    let mut lines = LINES.take();
    if lines.len() < count {
        lines.resize(count, Line::default());
    }
    let result = body(&mut lines[..count]);
    LINES.set(lines);
    result
}
