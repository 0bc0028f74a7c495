//! Where a unit works: its tile, its row, and where their values stand.

use cubecl::prelude::*;

use super::plan::Pass;

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

/// Where a unit works at a step.
#[derive(CubeType)]
pub(super) struct Place {
    /// Its place among the units of its tile.
    pub t: u32,
    /// The row (or the run of rows) of its tile, the first of those it works on together.
    pub row: u32,
    /// Its tile in the row.
    pub tile: u32,
    /// The place in the network's stages of the tile's first value.
    pub base: u32,
    /// The place of its tile, or of its tiles of several rows, in the cube.
    pub group: u32,
}

/// Where a unit works at the first step and at later ones. They differ in the first pass of a row that is cut: what it reads
/// lies side by side in tiles side by side, what it writes in one tile.
#[derive(CubeType)]
pub(super) struct Places {
    pub first: Place,
    pub later: Place,
    /// The unit's place among all of its row.
    pub own: u32,
}

/// Where unit `unit` of cube `cube` works.
#[cube]
pub(super) fn places(unit: u32, cube: u32, #[comptime] pass: Pass) -> Places {
    Places {
        first: place(unit, cube, comptime!(!pass.whole()), pass),
        later: place(unit, cube, comptime!(!pass.whole() && pass.first > 0), pass),
        own: if comptime!(pass.whole()) {
            unit % comptime!(pass.units())
        } else {
            cube % comptime!(pass.row_units() / pass.cube_units()) * comptime!(pass.cube_units()) + unit
        },
    }
}

/// Where a unit works if units next to each other are in tiles next to each other (`across`), or in one tile.
#[cube]
fn place(unit: u32, cube: u32, #[comptime] across: bool, #[comptime] pass: Pass) -> Place {
    let (group, t) = if comptime!(across) {
        (unit % comptime!(pass.groups()), unit / comptime!(pass.groups()))
    } else {
        (unit / comptime!(pass.units()), unit % comptime!(pass.units()))
    };
    let slot = cube * comptime!(pass.groups()) + group;
    let tile = slot & comptime!((1u32 << pass.cuts()) - 1);
    let base = if comptime!(pass.first == 0) {
        reversed(tile, comptime!(pass.cuts())) << comptime!(pass.stages)
    } else {
        let below = comptime!((1u32 << pass.first) - 1);
        ((tile >> comptime!(pass.first)) << comptime!(pass.first + pass.stages)) | (tile & below)
    };
    let row = (slot >> comptime!(pass.cuts())) * comptime!(pass.together);
    Place { t, row, tile, base, group }
}

/// Where tile value `at` stands in shared memory. Units side by side touch values far apart after the first step, and those of
/// several groups after the second: padding keeps either on different banks.
#[cube]
pub(super) fn padded(at: u32, #[comptime] pass: Pass) -> u32 {
    if comptime!(pass.values <= 2) { at + at / 16 * 4 + at / 64 } else { at + at / 16 * 2 + at / 128 + at / 2048 }
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

/// Where value `i` that a unit holds at its first step stands in its row before the pass. The first pass reads in bit-reversed
/// order; the group's number is reversed too, so that units next to each other read samples next to each other.
#[cube]
pub(super) fn before(places: &Places, #[comptime] i: u32, #[comptime] pass: Pass) -> u32 {
    if comptime!(pass.first == 0) {
        let rest = comptime!(pass.stages - pass.values);
        let offset = comptime!(reversed_constant(i, pass.values) << (rest + pass.cuts()));
        offset + (places.first.t << comptime!(pass.cuts())) + places.first.tile
    } else {
        after(places, i, 0u32, pass)
    }
}

/// Where value `i` that a unit holds at step `step` stands in its row after the pass.
#[cube]
pub(super) fn after(places: &Places, #[comptime] i: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    start(places, comptime!(group_of(i, step, &pass)), step, pass) + comptime!(offset_of(i, step, &pass) << pass.first)
}

/// Where value `i` that a unit holds at step `step` stands in the exchange, before the step and after it.
#[cube]
pub(super) fn exchanged(places: &Places, #[comptime] i: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    let group = comptime!(group_of(i, step, &pass));
    let (tile, origin) = if comptime!(step == 0) {
        (places.first.group, origin(places.first.t, group, step, pass))
    } else {
        (places.later.group, origin(places.later.t, group, step, pass))
    };
    // The bits of the two places don't meet, so padding adds up.
    tile * comptime!(pass.tile_stride()) + padded(origin, pass) + comptime!(padded(offset_of(i, step, &pass), pass))
}

/// Where the first value of a unit's group of step `step` stands in its row after the pass.
#[cube]
pub(super) fn start(places: &Places, #[comptime] group: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    if comptime!(step == 0) {
        places.first.base | (origin(places.first.t, group, step, pass) << comptime!(pass.first))
    } else {
        places.later.base | (origin(places.later.t, group, step, pass) << comptime!(pass.first))
    }
}

/// Where the first value of group `group` of the unit `t` of a tile stands in the tile at step `step`.
#[cube]
fn origin(t: u32, #[comptime] group: u32, #[comptime] step: u32, #[comptime] pass: Pass) -> u32 {
    let before = comptime!(step * pass.values);
    let number = if comptime!(step == 0 && pass.first == 0) {
        reversed(t, comptime!(pass.stages - pass.values))
    } else {
        t + comptime!(group * pass.units())
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

/// Butterflies of a unit.
pub(super) fn butterfly_count(pass: &Pass) -> u32 {
    pass.stages << (pass.values - 1)
}

/// The place among a unit's butterflies of the one whose upper value is `i`.
pub(super) fn butterfly_number(i: u32, step: u32, local: u32, pass: &Pass) -> usize {
    (((step * pass.values + local) << (pass.values - 1)) + pair_of_constant(i, local)) as usize
}

/// The upper value of the butterfly that [`butterfly_number`] gives that place.
pub(super) fn upper_of(number: u32, pass: &Pass) -> u32 {
    let local = (number >> (pass.values - 1)) % pass.values;
    let pair = number & ((1 << (pass.values - 1)) - 1);
    ((pair >> local) << (local + 1)) | (pair & ((1 << local) - 1))
}

/// Where the twiddle and the gate of a unit's butterfly stand.
#[cube]
pub(super) fn butterfly_at(places: &Places, #[comptime] number: u32, #[comptime] pass: Pass) -> u32 {
    let i = comptime!(upper_of(number, &pass));
    let stage_of_pass = comptime!(number >> (pass.values - 1));
    let step = comptime!(stage_of_pass / pass.values);
    let stage = comptime!(pass.first + stage_of_pass);
    let start = start(places, comptime!(group_of(i, step, &pass)), step, pass);
    let offset = comptime!(offset_of(i, step, &pass) << pass.first);
    pair_of(start, stage) + comptime!(pair_of_constant(offset, stage) + (stage << (pass.length - 1)))
}

#[cfg(test)]
mod tests {
    use super::super::plan::{self, Launch};
    use super::*;
    use crate::gpu::limits::Limits;

    /// How many values of one bank sixteen units side by side touch at once, at most.
    fn conflicts(pass: Pass, step: u32, from: u32) -> usize {
        let at = |unit: u32, i: u32| exchanged(&places(unit, 0, pass), i, step, pass);
        let of_value = |i: u32| {
            let banks: Vec<u32> = (from..(from + 16).min(pass.cube_units())).map(|unit| at(unit, i) % 16).collect();
            banks.iter().map(|bank| banks.iter().filter(|other| *other == bank).count()).max().unwrap_or(0)
        };
        (0..1 << pass.values).map(of_value).max().unwrap_or(0)
    }

    #[test]
    fn units_side_by_side_use_different_banks() {
        for (length, gated) in (6..=16).flat_map(|length| [(length, false), (length, true)]) {
            for launch in [plan::forward as Launch, plan::backward] {
                for pass in plan::passes(length, gated, &Limits::H200, launch).unwrap() {
                    let most = match length {
                        6 => 4,
                        8.. if pass.whole() => 1,
                        _ => 2,
                    };
                    for (step, from) in (0..pass.steps()).flat_map(|step| [(step, 0), (step, 16), (step, 48)]) {
                        assert!(conflicts(pass, step, from) <= most, "{pass:?}, step {step}, units from {from}");
                    }
                }
            }
        }
    }
}
