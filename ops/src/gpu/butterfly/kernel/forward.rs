//! A launch of the forward pass: a unit computes several stages on values in registers, then units exchange values
//! through shared memory.
//!
//! Butterflies with gates are packed in the order in which units read them: a plane then reads sixteen adjacent bytes per
//! unit; in `[log2 n, n/2]` order, the first stages' are far apart.

use cubecl::prelude::*;

use super::index::{
    UnitIndex, butterfly_number, butterfly_of, butterfly_of_constant, butterfly_offset, group_offset, input_offset,
    offset_in_group, output_offset, shared_offset, unit_index,
};
use crate::gpu::butterfly::plan::ButterflyLaunchPlan;
use crate::gpu::complex::{Complex, ComplexBuffers, ComplexValues, complex, product};

/// A butterfly: the parts of its twiddle, its gate, and padding.
pub type PackedButterfly = Vector<f32, Const<4>>;

/// Units of a cube that packs.
pub const PACK_UNITS: u32 = 32;

/// Packs the butterflies of a launch into `[butterflies of a unit, units of a row]`: a unit per unit of a row.
#[cube(launch, launch_unchecked)]
pub fn pack(
    twiddles: &[Complex],
    gates: &[f32],
    packed: &mut [PackedButterfly],
    #[comptime] plan: ButterflyLaunchPlan,
) {
    // The number of the unit in its row; adjacent units write adjacent butterflies of the same number.
    let own = CUBE_POS_X * PACK_UNITS + UNIT_POS;
    let units = comptime!(plan.row_units());
    if own < units {
        // The position of the unit that will read them.
        let index = unit_index(own % comptime!(plan.cube_units()), own / comptime!(plan.cube_units()), plan);
        #[unroll]
        for number in 0..comptime!(plan.unit_butterflies()) {
            let at = butterfly_offset(&index, number, plan) as usize;
            let (w, g) = (twiddles[at], gates[at]);
            let mut one = PackedButterfly::empty();
            one.insert(0usize, w.extract(0usize));
            one.insert(1usize, w.extract(1usize));
            one.insert(2usize, g);
            one.insert(3usize, 0.0f32);
            packed[(comptime!(number * units) + own) as usize] = one;
        }
    }
}

/// The butterflies of a forward launch, of which either those without gates or those with gates are read.
#[derive(CubeType, CubeLaunch)]
pub struct ForwardTables {
    /// Twiddles of butterflies without gates: `[log2 n, n/2]`.
    pub twiddles: Box<[Complex]>,
    /// Butterflies with gates in the order in which units read them.
    pub packed: Box<[PackedButterfly]>,
}

/// Transforms `rows` rows by the stages of the launch.
#[cube(launch, launch_unchecked)]
pub fn forward(
    input: &ComplexBuffers,
    tables: &ForwardTables,
    output: &mut ComplexBuffers,
    rows: u32,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] gated: bool,
) {
    // The unit's tile and its position in it, from which all offsets follow.
    let index = unit_index(UNIT_POS, CUBE_POS as u32, plan);
    let mut exchange = Shared::<[Complex]>::new_slice(comptime!(plan.exchange_len() as usize));
    let values = comptime!(1u32 << plan.log2_values);
    // The unit's values of all its rows, one row after another.
    let mut z = ComplexValues::none();

    let passes = comptime!(plan.passes());
    #[unroll]
    for pass in 0..passes {
        if comptime!(pass == 0) {
            // Read the tile from device memory.
            #[unroll]
            for row_of_unit in 0..comptime!(plan.rows_per_unit) {
                load(&mut z, input, &index, row_of_unit, rows, plan);
            }
        } else {
            // Read what other units wrote at the end of the pass before, once all of them have.
            sync_cube();
            #[unroll]
            for held in 0..comptime!(plan.rows_per_unit << plan.log2_values) {
                let (row_of_unit, i) = comptime!((held / values, held % values));
                let at =
                    shared_offset(&index, i, pass, plan) + comptime!(row_of_unit * plan.groups() * plan.tile_stride());
                let value = exchange[at as usize];
                z.set(comptime!(held as usize), value.extract(0usize), value.extract(1usize));
            }
            // No unit may overwrite the exchange before all have read it.
            if comptime!(pass + 1 < passes) {
                sync_cube();
            }
        }
        // Compute the pass's stages in registers.
        stages_of_pass(&mut z, tables, &index, pass, plan, gated);
        // Write the values for the next pass, or the output.
        #[unroll]
        for held in 0..comptime!(plan.rows_per_unit << plan.log2_values) {
            let (row_of_unit, i) = comptime!((held / values, held % values));
            let own = comptime!(held as usize);
            if comptime!(pass + 1 < passes) {
                let at =
                    shared_offset(&index, i, pass, plan) + comptime!(row_of_unit * plan.groups() * plan.tile_stride());
                exchange[at as usize] = complex(z.re[own], z.im[own]);
            } else if index.later.row + row_of_unit < rows {
                let at = row_start(index.later.row + row_of_unit, plan) + output_offset(&index, i, pass, plan) as usize;
                output.re[at] = z.re[own];
                output.im[at] = z.im[own];
            }
        }
    }
}

/// Offset of a row.
#[cube]
fn row_start(row: u32, #[comptime] plan: ButterflyLaunchPlan) -> usize {
    row as usize * comptime!(1usize << plan.log2_n)
}

/// Loads the first pass's values of a unit's row number `row_of_unit`.
#[cube]
fn load(
    z: &mut ComplexValues,
    input: &ComplexBuffers,
    index: &UnitIndex,
    #[comptime] row_of_unit: u32,
    rows: u32,
    #[comptime] plan: ButterflyLaunchPlan,
) {
    // A unit past the last row loads that one again, and writes nothing.
    let start = row_start(min(index.later.row + row_of_unit, rows - 1), plan);
    #[unroll]
    for i in 0..comptime!(1u32 << plan.log2_values) {
        let at = start + input_offset(index, i, plan) as usize;
        let held = comptime!(((row_of_unit << plan.log2_values) + i) as usize);
        z.set(held, input.re[at], input.im[at]);
    }
}

/// Computes the stages of a pass on a unit's values.
#[cube]
fn stages_of_pass(
    z: &mut ComplexValues,
    tables: &ForwardTables,
    index: &UnitIndex,
    #[comptime] pass: u32,
    #[comptime] plan: ButterflyLaunchPlan,
    #[comptime] gated: bool,
) {
    let count = comptime!(plan.pass_stages(pass));
    #[unroll]
    for group in 0..comptime!(1u32 << (plan.log2_values - plan.pass_stages(pass))) {
        let start = group_offset(index, group, pass, plan);
        #[unroll]
        for local in 0..count {
            let stage = comptime!(plan.first + pass * plan.log2_values + local);
            let first = butterfly_of(start, stage);
            // One butterfly per value that is the lower one at this stage.
            #[unroll]
            for b in 0..comptime!(1u32 << count) {
                if comptime!(b >> local & 1 == 1) {
                    let i = comptime!((group << count) + b - (1 << local));
                    let offset = comptime!(offset_in_group(i, pass, &plan) << plan.first);
                    let own = first + comptime!(butterfly_of_constant(offset, stage));
                    // Its twiddle and its gate.
                    let (w, g) = if comptime!(gated) {
                        let number = comptime!(butterfly_number(i, pass, local, &plan) as u32);
                        let one = tables.packed[(comptime!(number * plan.row_units()) + index.in_row) as usize];
                        (complex(one.extract(0usize), one.extract(1usize)), one.extract(2usize))
                    } else {
                        let at = own + comptime!(stage << (plan.log2_n - 1));
                        (tables.twiddles[at as usize], 1.0f32.runtime())
                    };
                    // Loaded once for all rows of the unit.
                    #[unroll]
                    for row_of_unit in 0..comptime!(plan.rows_per_unit) {
                        let a = comptime!(((row_of_unit << plan.log2_values) + i) as usize);
                        butterfly(z, a, comptime!(a + (1 << local)), w, g, gated);
                    }
                }
            }
        }
    }
}

/// One butterfly on the values `a` and `b` of a unit: (a, b) becomes g·(a + w·b, a − w·b) + (1 − g)·(a, b).
#[cube]
fn butterfly(
    z: &mut ComplexValues,
    #[comptime] a: usize,
    #[comptime] b: usize,
    w: Complex,
    g: f32,
    #[comptime] gated: bool,
) {
    let (wr, wi) = (w.extract(0usize), w.extract(1usize));
    let (ar, ai, br, bi) = (z.re[a], z.im[a], z.re[b], z.im[b]);
    let (tr, ti) = product(wr, wi, br, bi);
    if comptime!(gated) {
        // In this form a gate of 1 gives a + t and a − t exactly, and a gate of 0 leaves finite values unchanged.
        z.set(a, fma(g, tr, ar), fma(g, ti, ai));
        z.set(b, fma(g, ar - tr, fma(-g, br, br)), fma(g, ai - ti, fma(-g, bi, bi)));
    } else {
        z.set(a, ar + tr, ai + ti);
        z.set(b, ar - tr, ai - ti);
    }
}
