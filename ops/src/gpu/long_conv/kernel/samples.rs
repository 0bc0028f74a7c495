//! Samples on their way into and out of a unit's registers, two by two as complex values.

use cubecl::prelude::*;

use crate::gpu::complex::ComplexArray;
use crate::gpu::transform::kernel::{Sequence, short_transform};
use crate::gpu::transform::launch_plan::LaunchPlan;

/// Rows of samples, and of factors where there are any.
#[derive(CubeType)]
pub struct RowPosition {
    /// Place of the row's first sample.
    pub first: u32,
    /// Place of the row's first factor.
    pub first_factor: u32,
}

/// Loads the inputs of a unit's short transforms of the first pass, times factors: samples past the `n` of a row are 0.
#[cube]
pub fn load_pairs(
    z: &mut ComplexArray,
    values: &[f32],
    factors: &[f32],
    position: &RowPosition,
    sequence: &Sequence,
    #[comptime] form: SampleForm,
) {
    let plan = comptime!(form.launch);
    let radix = comptime!(plan.radix(0));
    let span = comptime!(plan.span(0));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        #[unroll]
        for m in 0..radix {
            let held = comptime!((q * radix + m) as usize);
            let at = 2 * (j + comptime!(m * span));
            let presence = comptime!(form.presence(m * span, span));
            z.re[held] = sample(values, factors, position, at, presence, form);
            z.im[held] = sample(values, factors, position, at + 1, presence, form);
        }
    }
}

/// Sample `at` of a row, times its factor.
#[cube]
fn sample(
    values: &[f32],
    factors: &[f32],
    position: &RowPosition,
    at: u32,
    #[comptime] presence: Presence,
    #[comptime] form: SampleForm,
) -> f32 {
    let mut value = 0.0f32;
    if comptime!(presence == Presence::Always) {
        value = factored(values, factors, position, at, form);
    } else if comptime!(presence == Presence::Sometimes) {
        if at < comptime!(form.n) {
            value = factored(values, factors, position, at, form);
        }
    }
    value
}

#[cube]
fn factored(values: &[f32], factors: &[f32], position: &RowPosition, at: u32, #[comptime] form: SampleForm) -> f32 {
    let value = values[(position.first + at) as usize];
    if comptime!(form.has_factors) { value * factors[(position.first_factor + at) as usize] } else { value }
}

/// Form of the rows that a launch reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleForm {
    /// The transform of a row.
    pub launch: LaunchPlan,
    /// Samples of a row.
    pub n: u32,
    /// Whether samples are multiplied by factors.
    pub has_factors: bool,
}

/// Whether samples are within a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Presence {
    Always,
    Sometimes,
    Never,
}

impl SampleForm {
    /// Of the samples of `count` pairs from pair `first` on.
    pub fn presence(&self, first: u32, count: u32) -> Presence {
        if 2 * (first + count) <= self.n {
            Presence::Always
        } else if 2 * first < self.n {
            Presence::Sometimes
        } else {
            Presence::Never
        }
    }
}
