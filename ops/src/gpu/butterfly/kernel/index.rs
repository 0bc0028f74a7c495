//! A unit's position in the grid, and the offsets of its values in its row and in shared memory.
//!
//! At each pass a unit has 2^log2_values values of one tile, in groups of 2^stages-of-the-pass that the pass's stages
//! connect. Offsets are sums of a part that depends on the unit and a constant part per value.

use cubecl::prelude::*;

use crate::gpu::butterfly::plan::{ButterflyLaunchPlan, padded};

/// A unit's tile, and its position in it.
#[derive(CubeType)]
pub struct TileIndex {
    /// The unit's number among the units of its tile.
    pub unit: u32,
    /// The row (or the block of rows) of the tile, the first of those per unit.
    pub row: u32,
    /// The tile's number in the row.
    pub tile: u32,
    /// The offset in the stages' order of the tile's first value.
    pub base: u32,
    /// The number in the cube of the tile, or of the group of tiles of several rows.
    pub group: u32,
}

/// A unit's tile at the first pass and at later ones. They differ in the first launch of a row of several tiles:
/// adjacent reads are in adjacent tiles, adjacent writes are in one tile.
#[derive(CubeType)]
pub struct UnitIndex {
    pub first: TileIndex,
    pub later: TileIndex,
    /// The unit's number among all units of its row.
    pub in_row: u32,
}

/// The position of unit `unit` of cube `cube`.
#[cube]
pub fn unit_index(unit: u32, cube: u32, #[comptime] plan: ButterflyLaunchPlan) -> UnitIndex {
    UnitIndex {
        first: tile_index(unit, cube, comptime!(!plan.is_single_tile()), plan),
        later: tile_index(unit, cube, comptime!(!plan.is_single_tile() && plan.first > 0), plan),
        in_row: if comptime!(plan.is_single_tile()) {
            unit % comptime!(plan.tile_units())
        } else {
            cube % comptime!(plan.row_units() / plan.cube_units()) * comptime!(plan.cube_units()) + unit
        },
    }
}

/// The tile of a unit if adjacent units are in adjacent tiles (`across`), or in one tile.
#[cube]
fn tile_index(unit: u32, cube: u32, #[comptime] across: bool, #[comptime] plan: ButterflyLaunchPlan) -> TileIndex {
    let (group, unit_of_tile) = if comptime!(across) {
        (unit % comptime!(plan.groups()), unit / comptime!(plan.groups()))
    } else {
        (unit / comptime!(plan.tile_units()), unit % comptime!(plan.tile_units()))
    };
    // Groups are numbered through the grid: tiles of a row first, then rows.
    let number = cube * comptime!(plan.groups()) + group;
    let tile = number & comptime!((1u32 << plan.log2_tiles()) - 1);
    let base = if comptime!(plan.first == 0) {
        // The first launch reads in bit-reversed order, so a tile's high bits are its number reversed.
        reversed(tile, comptime!(plan.log2_tiles())) << comptime!(plan.stages)
    } else {
        // Later stages connect values 2^first apart: the tile's number fills the bits below and above the tile's own.
        let below = comptime!((1u32 << plan.first) - 1);
        ((tile >> comptime!(plan.first)) << comptime!(plan.first + plan.stages)) | (tile & below)
    };
    let row = (number >> comptime!(plan.log2_tiles())) * comptime!(plan.rows_per_unit);
    TileIndex { unit: unit_of_tile, row, tile, base, group }
}

/// The lowest `bits` bits of `value` in reverse; its others must be 0.
#[cube]
fn reversed(value: u32, #[comptime] bits: u32) -> u32 {
    if comptime!(bits == 0) { 0u32.runtime() } else { value.reverse_bits() >> comptime!(32 - bits) }
}

/// [`reversed`] of a constant.
fn reversed_constant(value: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { value.reverse_bits() >> (32 - bits) }
}

/// Offset in the row before the launch of value `i` of the first pass. The first launch reads in bit-reversed order;
/// the group's number is reversed too, so that adjacent units read adjacent samples.
#[cube]
pub fn input_offset(index: &UnitIndex, #[comptime] i: u32, #[comptime] plan: ButterflyLaunchPlan) -> u32 {
    if comptime!(plan.first == 0) {
        let rest = comptime!(plan.stages - plan.log2_values);
        let offset = comptime!(reversed_constant(i, plan.log2_values) << (rest + plan.log2_tiles()));
        offset + (index.first.unit << comptime!(plan.log2_tiles())) + index.first.tile
    } else {
        output_offset(index, i, 0u32, plan)
    }
}

/// Offset in the row after the launch of value `i` of pass `pass`.
#[cube]
pub fn output_offset(
    index: &UnitIndex,
    #[comptime] i: u32,
    #[comptime] pass: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) -> u32 {
    group_offset(index, comptime!(group_of(i, pass, &plan)), pass, plan)
        + comptime!(offset_in_group(i, pass, &plan) << plan.first)
}

/// Offset in the exchange buffer of value `i` of pass `pass`, before the pass and after it.
#[cube]
pub fn shared_offset(
    index: &UnitIndex,
    #[comptime] i: u32,
    #[comptime] pass: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) -> u32 {
    let group = comptime!(group_of(i, pass, &plan));
    let (tile, origin) = if comptime!(pass == 0) {
        (index.first.group, group_origin(index.first.unit, group, pass, plan))
    } else {
        (index.later.group, group_origin(index.later.unit, group, pass, plan))
    };
    // The two offsets have no bit in common, so their padding adds up.
    tile * comptime!(plan.tile_stride())
        + padded(origin, plan)
        + comptime!(padded(offset_in_group(i, pass, &plan), plan))
}

/// Offset in the row after the launch of the first value of a unit's group `group` of pass `pass`.
#[cube]
pub fn group_offset(
    index: &UnitIndex,
    #[comptime] group: u32,
    #[comptime] pass: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) -> u32 {
    if comptime!(pass == 0) {
        index.first.base | (group_origin(index.first.unit, group, pass, plan) << comptime!(plan.first))
    } else {
        index.later.base | (group_origin(index.later.unit, group, pass, plan) << comptime!(plan.first))
    }
}

/// Offset in the tile of the first value of group `group` of unit `unit` at pass `pass`: the group's number with as
/// many zero bits inserted as the pass has stages, above the bits of earlier passes.
#[cube]
fn group_origin(
    unit: u32,
    #[comptime] group: u32,
    #[comptime] pass: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) -> u32 {
    let earlier = comptime!(pass * plan.log2_values);
    let number = if comptime!(pass == 0 && plan.first == 0) {
        reversed(unit, comptime!(plan.stages - plan.log2_values))
    } else {
        unit + comptime!(group * plan.tile_units())
    };
    let low = number & comptime!((1u32 << earlier) - 1);
    ((number >> earlier) << comptime!(earlier + plan.pass_stages(pass))) | low
}

/// The group that value `i` of a unit belongs to at pass `pass`.
pub fn group_of(i: u32, pass: u32, plan: &ButterflyLaunchPlan) -> u32 {
    i >> plan.pass_stages(pass)
}

/// Distance in the tile of value `i` from the first of its group.
pub fn offset_in_group(i: u32, pass: u32, plan: &ButterflyLaunchPlan) -> u32 {
    (i & ((1 << plan.pass_stages(pass)) - 1)) << (pass * plan.log2_values)
}

/// The butterfly of stage `stage` that offset `at` in the row belongs to: `at` without the stage's own bit. Of a sum of
/// offsets without a bit in common it is the sum.
#[cube]
pub fn butterfly_of(at: u32, #[comptime] stage: u32) -> u32 {
    ((at >> comptime!(stage + 1)) << comptime!(stage)) | (at & comptime!((1u32 << stage) - 1))
}

/// [`butterfly_of`] a constant.
pub fn butterfly_of_constant(at: u32, stage: u32) -> u32 {
    ((at >> (stage + 1)) << stage) | (at & ((1 << stage) - 1))
}

/// The number among a unit's butterflies of the one whose upper value is `i`.
pub fn butterfly_number(i: u32, pass: u32, local: u32, plan: &ButterflyLaunchPlan) -> usize {
    (((pass * plan.log2_values + local) << (plan.log2_values - 1)) + butterfly_of_constant(i, local)) as usize
}

/// The upper value of butterfly `number` of a unit: the inverse of [`butterfly_number`].
pub fn upper_value(number: u32, plan: &ButterflyLaunchPlan) -> u32 {
    let local = (number >> (plan.log2_values - 1)) % plan.log2_values;
    let pair = number & ((1 << (plan.log2_values - 1)) - 1);
    ((pair >> local) << (local + 1)) | (pair & ((1 << local) - 1))
}

/// Offset in `[log2 n, n/2]` of the twiddle and the gate of butterfly `number` of a unit.
#[cube]
pub fn butterfly_offset(index: &UnitIndex, #[comptime] number: u32, #[comptime] plan: ButterflyLaunchPlan) -> u32 {
    let i = comptime!(upper_value(number, &plan));
    let stage_of_launch = comptime!(number >> (plan.log2_values - 1));
    let pass = comptime!(stage_of_launch / plan.log2_values);
    let stage = comptime!(plan.first + stage_of_launch);
    let start = group_offset(index, comptime!(group_of(i, pass, &plan)), pass, plan);
    let offset = comptime!(offset_in_group(i, pass, &plan) << plan.first);
    butterfly_of(start, stage) + comptime!(butterfly_of_constant(offset, stage) + (stage << (plan.log2_n - 1)))
}
