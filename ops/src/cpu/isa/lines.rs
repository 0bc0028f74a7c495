//! Memory whose alignment suits every register.

use std::cell::Cell;

use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;

/// A cache line of values.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(in crate::cpu) struct Line([f32; Line::LEN]);

impl Line {
    pub const LEN: usize = 16;
}

/// Lines that hold `values`, the last filled up with zeros.
pub(in crate::cpu) fn lines_of(values: &[f32]) -> Vec<Line> {
    let line = |values: &[f32]| {
        let mut line = Line::default();
        line.0[..values.len()].copy_from_slice(values);
        line
    };
    values.chunks(Line::LEN).map(line).collect()
}

/// `lines` as the registers of complex values they hold.
pub(in crate::cpu) fn complexes<V: Lanes>(lines: &[Line]) -> &[Complex<V>] {
    let count = size_of_val(lines) / size_of::<Complex<V>>();
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: a `Complex<V>` is f32 values without padding, for which any bits are valid, and no more aligned than a
    // line; `count` of them are within `lines`, which stay borrowed.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), count) }
}

/// Cuts `count` registers of complex values off `lines`.
pub(in crate::cpu) fn take_complexes<'a, V: Lanes>(lines: &mut &'a mut [Line], count: usize) -> &'a mut [Complex<V>] {
    let taken = take_lines(lines, 2 * count * V::ROWS * V::COUNT);
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: as in `complexes`; `taken` is borrowed for as long as the result, and holds `count` of them.
    unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), count) }
}

/// Cuts `count` registers off `lines`.
pub(in crate::cpu) fn take_registers<'a, V: Lanes>(lines: &mut &'a mut [Line], count: usize) -> &'a mut [V] {
    let taken = take_lines(lines, count * V::ROWS * V::COUNT);
    const { assert!(align_of::<V>() <= align_of::<Line>()) };
    // SAFETY: `V` is f32 values without padding, for which any bits are valid, and no more aligned than a line;
    // `taken` is borrowed for as long as the result, and holds `count` of them.
    unsafe { std::slice::from_raw_parts_mut(taken.as_mut_ptr().cast(), count) }
}

/// Cuts `count` values off `lines`.
pub(in crate::cpu) fn take_values<'a>(lines: &mut &'a mut [Line], count: usize) -> &'a mut [f32] {
    &mut take_lines(lines, count).as_flattened_values()[..count]
}

/// Lines that `values` values take.
pub(in crate::cpu) const fn lines_for(values: usize) -> usize {
    values.div_ceil(Line::LEN)
}

fn take_lines<'a>(lines: &mut &'a mut [Line], values: usize) -> &'a mut [Line] {
    let (taken, rest) = std::mem::take(lines).split_at_mut(lines_for(values));
    *lines = rest;
    taken
}

trait Flatten {
    fn as_flattened_values(&mut self) -> &mut [f32];
}

impl Flatten for [Line] {
    fn as_flattened_values(&mut self) -> &mut [f32] {
        // SAFETY: a line is `Line::LEN` f32 values without padding.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), self.len() * Line::LEN) }
    }
}

/// Runs `body` with `count` lines that this thread keeps, of unspecified contents.
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
