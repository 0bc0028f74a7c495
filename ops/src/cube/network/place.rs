//! Where a unit works: its tile, its row, and where their values stand.

use cubecl::prelude::*;

use super::plan::{PADDING, Pass, WIDE_PADDING};

/// A complex value in memory.
pub(super) type Complex = Vector<f32, Const<2>>;

/// A complex value from its parts.
#[cube]
pub(super) fn complex(re: f32, im: f32) -> Complex {
    let mut z = Complex::empty();
    z.insert(0usize, re);
    z.insert(1usize, im);
    z
}

/// Where a unit works.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    /// Its place among the units of its tile.
    pub t: u32,
    /// Its first tile, counted through all rows (or through all runs of rows).
    pub slot: u32,
    /// The row (or the run of rows) of its tile.
    pub row: u32,
    /// Its tile in the row.
    pub tile: u32,
    /// The place in the network's stages of the tile's first value.
    pub base: u32,
    /// Where its tile starts in shared memory.
    pub exchange: u32,
}

/// Where this unit works.
#[cube]
pub(super) fn placed(#[comptime] pass: Pass) -> Place {
    let unit = UNIT_POS;
    // Units next to each other read values next to each other: of one tile, or of tiles side by side.
    let (local, t) = if comptime!(pass.whole()) {
        (unit / comptime!(pass.units()), unit % comptime!(pass.units()))
    } else {
        (unit % comptime!(pass.tiles), unit / comptime!(pass.tiles))
    };
    let local = local * comptime!(pass.together);
    let slot = CUBE_POS as u32 * comptime!(pass.tiles) + local;
    let tile = slot & comptime!((1u32 << pass.cuts()) - 1);
    let base = if comptime!(pass.first == 0) {
        reversed(tile, comptime!(pass.cuts())) << comptime!(pass.stages)
    } else {
        let below = comptime!((1u32 << pass.first) - 1);
        ((tile >> comptime!(pass.first)) << comptime!(pass.first + pass.stages)) | (tile & below)
    };
    Place { t, slot, row: slot >> comptime!(pass.cuts()), tile, base, exchange: local * comptime!(pass.tile_stride()) }
}

/// Where tile value `at` stands in shared memory.
#[cube]
pub(super) fn padded(at: u32) -> u32 {
    at + at / PADDING + at / WIDE_PADDING
}

/// The lowest `bits` bits of `value` in reverse; its others must be 0.
#[cube]
pub(super) fn reversed(value: u32, #[comptime] bits: u32) -> u32 {
    if comptime!(bits == 0) { 0u32.runtime() } else { value.reverse_bits() >> comptime!(32 - bits) }
}

/// Like [`reversed`], of a constant.
pub(super) fn reversed_constant(value: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { value.reverse_bits() >> (32 - bits) }
}

/// Where value `at` of a tile stands in its row after the pass.
#[cube]
pub(super) fn target(place: &Place, at: u32, #[comptime] pass: Pass) -> u32 {
    place.base | (at << comptime!(pass.first))
}

/// Where value `i` that a unit holds at its first step stands in its row before the pass. The first pass reads in bit-reversed
/// order; the group's number is reversed too, so that units next to each other read samples next to each other.
#[cube]
pub(super) fn before(place: &Place, #[comptime] i: u32, #[comptime] pass: Pass) -> u32 {
    if comptime!(pass.first == 0) {
        let rest = comptime!(pass.stages - pass.values);
        let offset = comptime!(reversed_constant(i, pass.values) << (rest + pass.cuts()));
        offset + (place.t << comptime!(pass.cuts())) + place.tile
    } else {
        after(place, i, 0u32, pass)
    }
}

/// Where value `i` that a unit holds at step `step` stands in its row after the pass.
#[cube]
pub(super) fn after(place: &Place, #[comptime] i: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    let start = origin(place, comptime!(group_of(i, step, &pass)), step, pass);
    target(place, start, pass) + comptime!(offset_of(i, step, &pass) << pass.first)
}

/// Where value `i` that a unit holds at step `step` stands in the exchange, before the step and after it.
#[cube]
pub(super) fn exchanged(place: &Place, #[comptime] i: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    let start = origin(place, comptime!(group_of(i, step, &pass)), step, pass);
    // The bits of the two places don't meet, so padding adds up.
    place.exchange + padded(start) + comptime!(Pass::padded(offset_of(i, step, &pass)))
}

/// Where the first value of a unit's group of step `step` stands in its tile.
#[cube]
pub(super) fn origin(place: &Place, #[comptime] group: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    let before = comptime!(step * pass.values);
    let number = if comptime!(step == 0 && pass.first == 0) {
        reversed(place.t, comptime!(pass.stages - pass.values))
    } else {
        place.t + comptime!(group * pass.units())
    };
    let low = number & comptime!((1u32 << before) - 1);
    ((number >> before) << comptime!(before + pass.step_stages(step))) | low
}

/// The group that value `i` of a unit belongs to at step `step`.
pub(super) fn group_of(i: u32, step: u32, pass: &Pass) -> u32 {
    i >> pass.step_stages(step)
}

/// How far value `i` stands from the first of its group.
pub(super) fn offset_of(i: u32, step: u32, pass: &Pass) -> u32 {
    (i & ((1 << pass.step_stages(step)) - 1)) << (step * pass.values)
}

/// The pair of stage `stage` that value `at` of the stages belongs to: `at` without the stage's own bit. Of values whose bits
/// differ it is the sum of the pairs.
#[cube]
pub(super) fn pair_of(at: u32, #[comptime] stage: u32) -> u32 {
    ((at >> comptime!(stage + 1)) << comptime!(stage)) | (at & comptime!((1u32 << stage) - 1))
}

/// Like [`pair_of`], of a constant.
pub(super) fn pair_of_constant(at: u32, stage: u32) -> u32 {
    ((at >> (stage + 1)) << stage) | (at & ((1 << stage) - 1))
}
