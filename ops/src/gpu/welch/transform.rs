//! One complex transform spread over the units of a row, its passes exchanging values through shared memory.
//!
//! The passes are Stockham's: each leaves its output where the next finds its input in order, and after the last one
//! unit t holds the bins t + units·c. (D. H. Bailey, "FFTs in external or hierarchical memory", 1990.)

use cubecl::prelude::*;

use super::dft::{dft, place};
use super::tables::Tables;
use crate::gpu::layout::Layout;
use crate::gpu::plan::{Barrier, Fused, Store};

/// A complex value in memory.
pub(super) type Complex = Vector<f32, Const<2>>;

/// Waits for the units of the team.
#[cube]
pub(super) fn wait(#[comptime] barrier: Barrier) {
    if comptime!(matches!(barrier, Barrier::Plane)) {
        sync_plane();
    } else {
        sync_cube();
    }
}

/// A complex value.
#[cube]
pub(super) fn complex(re: f32, im: f32) -> Complex {
    let mut z = Complex::empty();
    z.insert(0usize, re);
    z.insert(1usize, im);
    z
}

/// Transforms the values of a row in place. Value c of unit `t` is sample t + units·c before; bin t + units·c stands
/// at [`bin_at`]`(c)` after. The row exchanges through `exchange` from `base` on.
#[cube]
pub(super) fn transform(
    re: &mut Array<f32>,
    im: &mut Array<f32>,
    exchange: &mut Shared<[Complex]>,
    base: u32,
    t: u32,
    twiddles: &[Complex],
    tables: &Tables,
    #[comptime] plan: Fused,
) {
    let layout = comptime!(plan.layout);
    let barrier = comptime!(plan.barrier);
    let passes = comptime!(layout.passes());
    #[unroll]
    for pass in 0..passes {
        let radix = comptime!(layout.radix(pass));
        let before = comptime!(layout.before(pass));
        let stride = comptime!(layout.values / radix);
        #[unroll]
        for q in 0..stride {
            if comptime!(pass > 0) {
                let j = (t + comptime!(q * layout.units())) % before;
                #[unroll]
                for m in 1..radix {
                    let at = comptime!((q + m * stride) as usize);
                    let entry = comptime!(layout.twiddles_at(pass) + m * before) + j;
                    let w = if comptime!(plan.twiddles == Store::Registers) {
                        tables.twiddles[at]
                    } else if comptime!(plan.twiddles == Store::Shared) {
                        tables.near_twiddles[entry as usize]
                    } else {
                        twiddles[entry as usize]
                    };
                    let (c, s) = (w.extract(0usize), w.extract(1usize));
                    let (x, y) = (re[at], im[at]);
                    re[at] = fma(x, c, -(y * s));
                    im[at] = fma(x, s, y * c);
                }
            }
            dft(re, im, q, stride, radix);
        }
        if comptime!(pass + 1 < passes) {
            wait(barrier);
            let from = (t / before) * comptime!(before * radix) + t % before;
            let from = base + from + from / comptime!(layout.values);
            #[unroll]
            for m in 0..radix {
                let at = comptime!(place(m, radix) as usize);
                exchange[(from + comptime!(padded(m * before, before, layout))) as usize] = complex(re[at], im[at]);
            }
            wait(barrier);
            let to = base + t + t / comptime!(layout.values);
            #[unroll]
            for c in 0..layout.values {
                let z = exchange[(to + comptime!(padded(c * layout.units(), layout.units(), layout))) as usize];
                re[comptime!(c as usize)] = z.extract(0usize);
                im[comptime!(c as usize)] = z.extract(1usize);
            }
        }
    }
}

/// Where value c of the last pass stands.
pub(super) fn bin_at(c: u32, layout: Layout) -> usize {
    let radix = layout.radix(layout.passes() - 1);
    let stride = layout.values / radix;
    (c % stride + place(c / stride, radix) * stride) as usize
}

/// How far apart in padded memory two values are that are `offset` apart, a multiple of `step`, where the first one's
/// place below a multiple of `values` leaves room for what is left of `offset`.
fn padded(offset: u32, step: u32, layout: Layout) -> u32 {
    debug_assert!(offset.is_multiple_of(step));
    offset + offset / layout.values
}
