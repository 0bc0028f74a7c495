//! One complex transform spread over the units of a row, with exchanges through shared memory between its passes.
//!
//! The passes are Stockham's: each leaves its output where the next finds its input in order, and after the last one
//! unit t holds the bins t + units·c. (D. H. Bailey, "FFTs in external or hierarchical memory", 1990.)

use cubecl::prelude::*;

use super::arguments::WelchInput;
use super::team::{TeamIndex, TeamMemory, exchange_base, wait};
use super::unit_tables::UnitTables;
use crate::gpu::complex::{ComplexValues, complex};
use crate::gpu::short_transform::{output_position, transform_radix};
use crate::gpu::welch::layout::TransformLayout;
use crate::gpu::welch::plan::{FusedWelchPlan, TableStore};

/// Transforms the values of a row in place. Value c of unit t is sample t + units·c before; bin t + units·c is at
/// [`bin_position`]`(c)` after.
#[cube]
pub fn transform(
    z: &mut ComplexValues,
    memory: &mut TeamMemory,
    input: &WelchInput,
    tables: &UnitTables,
    unit: &TeamIndex,
    #[comptime] plan: FusedWelchPlan,
) {
    let base = exchange_base(unit, plan);
    let t = unit.t;
    let layout = comptime!(plan.layout);
    let barrier = comptime!(plan.barrier);
    let passes = comptime!(layout.passes());
    #[unroll]
    for pass in 0..passes {
        let radix = comptime!(layout.radix(pass));
        let before = comptime!(layout.before(pass));
        // The last pass may have a smaller radix: `stride` transforms of it, side by side.
        let stride = comptime!(layout.values / radix);
        #[unroll]
        for q in 0..stride {
            // Twiddles, from the memory that the plan says; the first pass has none.
            if comptime!(pass > 0) {
                let j = (t + comptime!(q * layout.units())) % before;
                #[unroll]
                for m in 1..radix {
                    let at = comptime!((q + m * stride) as usize);
                    let entry = comptime!(layout.twiddles_at(pass) + m * before) + j;
                    let w = if comptime!(plan.twiddles == TableStore::Registers) {
                        tables.twiddles[at]
                    } else if comptime!(plan.twiddles == TableStore::Shared) {
                        tables.shared_twiddles[entry as usize]
                    } else {
                        input.twiddles[entry as usize]
                    };
                    let (c, s) = (w.extract(0usize), w.extract(1usize));
                    let (x, y) = (z.re[at], z.im[at]);
                    z.set(at, fma(x, c, -(y * s)), fma(x, s, y * c));
                }
            }
            // The transform itself exchanges nothing: its values are the unit's own.
            transform_radix(z, q, stride, radix);
        }
        // Exchange: output m of the unit's transform is value m·before of the next pass's input, from the unit's own
        // block on; the unit then reads the values t + units·c.
        if comptime!(pass + 1 < passes) {
            // A barrier before, so that no unit overwrites what others still read; one after, when all have written.
            wait(barrier);
            let from = (t / before) * comptime!(before * radix) + t % before;
            let from = base + from + from / comptime!(layout.values);
            #[unroll]
            for m in 0..radix {
                let at = comptime!(output_position(m, radix) as usize);
                memory.exchange[(from + comptime!(padded(m * before, before, layout))) as usize] =
                    complex(z.re[at], z.im[at]);
            }
            wait(barrier);
            let to = base + t + t / comptime!(layout.values);
            #[unroll]
            for c in 0..layout.values {
                let value =
                    memory.exchange[(to + comptime!(padded(c * layout.units(), layout.units(), layout))) as usize];
                z.set(comptime!(c as usize), value.extract(0usize), value.extract(1usize));
            }
        }
    }
}

/// Position of value c after the last pass.
pub fn bin_position(c: u32, layout: TransformLayout) -> usize {
    let radix = layout.radix(layout.passes() - 1);
    let stride = layout.values / radix;
    (c % stride + output_position(c / stride, radix) * stride) as usize
}

/// Distance in padded memory of two values `offset` apart, a multiple of `step`, where the first one's offset below a
/// multiple of `values` leaves room for the rest of `offset`.
fn padded(offset: u32, step: u32, layout: TransformLayout) -> u32 {
    debug_assert!(offset.is_multiple_of(step));
    offset + offset / layout.values
}
