//! Values on their way from one pass to the next, through the exchange memory.

use cubecl::prelude::*;

use super::sequence::{Sequence, has_short_transform, padded, short_transform};
use crate::gpu::complex::{Complex, ComplexValues, complex};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::launch_plan::TransformLaunchPlan;

/// Writes the outputs of a pass where the next one finds its inputs: output m of short transform j is value m·before of
/// the block that the `before` earlier short transforms next to it share. The outputs of the last pass are in order.
#[cube]
pub fn write_exchange(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let before = comptime!(plan.before(pass));
    let is_constant = comptime!(plan.layout.writes_at_constant_steps(radix, before));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, comptime!(plan.span(pass)), plan);
        // Place of output 0: the block of short transform j, then its place in the block.
        let first = (j / before) * comptime!(before * radix) + j % before;
        let start = sequence.base + padded(first, plan);
        // A unit past the last short transform holds copies of it, and writes none of them.
        if has_short_transform(sequence.t, q, comptime!(plan.span(pass)), plan) {
            #[unroll]
            for m in 0..radix {
                // Where padding allows it, outputs are a constant apart, and one address serves all of them.
                let held = comptime!((q * radix + output_position(m, radix)) as usize);
                let at = if comptime!(is_constant) {
                    start + comptime!(plan.layout.padded(m * before))
                } else {
                    sequence.base + padded(first + comptime!(m * before), plan)
                };
                exchange[at as usize] = complex(z.re[held], z.im[held]);
            }
        }
    }
}

/// Reads the inputs of a pass.
#[cube]
pub fn read_exchange(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    sequence: &Sequence,
    #[comptime] pass: u32,
    #[comptime] plan: TransformLaunchPlan,
) {
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    let is_constant = comptime!(plan.layout.reads_at_constant_steps(span));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        // Input m of short transform j is value j + m·span: adjacent units read adjacent values, on different banks.
        let start = sequence.base + padded(j, plan);
        #[unroll]
        for m in 0..radix {
            let at = if comptime!(is_constant) {
                start + comptime!(plan.layout.padded(m * span))
            } else {
                sequence.base + padded(j + comptime!(m * span), plan)
            };
            let value = exchange[at as usize];
            z.set(comptime!((q * radix + m) as usize), value.extract(0usize), value.extract(1usize));
        }
    }
}
