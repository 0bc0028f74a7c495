//! A candidate for a peak: its order among others, and its place in the output.

use cubecl::prelude::*;

use super::arguments::LaunchShape;
use crate::gpu::complex::Complex;
use crate::gpu::top_k::PeakOutput;
use crate::gpu::welch::plan::FusedWelchPlan;

/// The power of a bin whose power is not finite, while it is sorted: less than any power. (A gain may make power
/// negative.)
pub const NOT_FINITE: f32 = f32::MIN;

/// The first bin that is searched.
#[cube]
pub fn lowest_bin(shape: &LaunchShape, #[comptime] plan: FusedWelchPlan) -> u32 {
    if comptime!(plan.banded) { shape.lowest } else { 0u32.runtime() }
}

/// The number of bins that are searched.
#[cube]
pub fn searched_bins(shape: &LaunchShape, #[comptime] plan: FusedWelchPlan) -> u32 {
    if comptime!(plan.banded) { shape.searched } else { comptime!(plan.bins()).runtime() }
}

/// Writes peak `rank` of row `row`, if there is such a row and `k` is greater than the rank; `bin` is counted from the
/// first one that is searched.
#[cube]
pub fn write_peak(
    output: &mut PeakOutput,
    row: u32,
    rank: u32,
    bin: u32,
    value: f32,
    shape: &LaunchShape,
    #[comptime] plan: FusedWelchPlan,
) {
    if row < shape.rows && rank < shape.k {
        let at = (row * shape.k + rank) as usize;
        let found = value > f32::new(NOT_FINITE);
        output.bins[at] = select(found, i32::cast_from(bin + lowest_bin(shape, plan)), -1i32);
        output.power[at] = select(found, value, shape.missing);
    }
}

/// A power, or [`NOT_FINITE`]. Compares bits: under fast-math, a comparison of floats may miss NaN and infinity.
#[cube]
pub fn finite_or_less(value: f32) -> f32 {
    let finite = (u32::reinterpret(value) & 0x7fff_ffffu32) < 0x7f80_0000u32;
    select(finite, value, f32::new(NOT_FINITE))
}

/// Whether candidate `a`, of power and bin, comes before `b`: the stronger first, ties to the lower bin.
#[cube]
pub fn comes_before(a: Complex, b: Complex) -> bool {
    let (x, y) = (a.extract(0usize), b.extract(0usize));
    x > y || (x == y && a.extract(1usize) < b.extract(1usize))
}
