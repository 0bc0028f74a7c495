//! Samples on their way into and out of a unit's registers, two by two as complex values.

use cubecl::prelude::*;

use crate::gpu::complex::{Complex, ComplexValues, Samples, SamplesExpand, complex};
use crate::gpu::transform::kernel::{Sequence, short_transform};
use crate::gpu::transform::launch_plan::TransformLaunchPlan;

/// Indices of a row's first sample, and of its first factor where there are factors.
#[derive(CubeType)]
pub struct RowPosition {
    /// Index of the row's first sample.
    pub first: u32,
    /// Index of the row's first factor.
    pub first_factor: u32,
}

/// Loads the inputs of a unit's short transforms of the first pass, times factors: samples past the `n` of a row are 0.
#[cube]
pub fn load_pairs(
    z: &mut ComplexValues,
    values: &Samples,
    factors: &Samples,
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
            // Pair j + m·span of the row. Whether it is inside is known at compile time, but around the row's end.
            let at = 2 * (j + comptime!(m * span));
            let presence = comptime!(form.presence(m * span, span));
            let mut value = pair(values, position.first, at, presence, form.n);
            if comptime!(form.has_factors) {
                value = by_parts(value, pair(factors, position.first_factor, at, presence, form.n));
            }
            z.set(held, value.extract(0usize), value.extract(1usize));
        }
    }
}

/// Samples `at` and `at + 1` of the row that starts at `first`, for an even `at`: those past the `n` of a row are 0.
#[cube]
pub fn pair(values: &Samples, first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> Complex {
    match values {
        Samples::Single(values) => {
            complex(sample(values, first, at, presence, n), sample(values, first, at + 1, presence, n))
        }
        Samples::Pairs(values) => sample_pair(values, first, at, presence, n),
    }
}

#[cube]
fn sample(values: &[f32], first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> f32 {
    let mut value = 0.0f32;
    if comptime!(presence == Presence::Always) {
        value = values[(first + at) as usize];
    } else if comptime!(presence == Presence::Sometimes) {
        if at < n {
            value = values[(first + at) as usize];
        }
    }
    value
}

#[cube]
fn sample_pair(values: &[Complex], first: u32, at: u32, #[comptime] presence: Presence, #[comptime] n: u32) -> Complex {
    let mut value = complex(0.0f32, 0.0f32);
    if comptime!(presence == Presence::Always) {
        value = values[((first + at) / 2) as usize];
    } else if comptime!(presence == Presence::Sometimes) {
        if at < n {
            value = values[((first + at) / 2) as usize];
        }
    }
    value
}

/// Two samples times two factors.
#[cube]
pub fn by_parts(x: Complex, y: Complex) -> Complex {
    complex(x.extract(0usize) * y.extract(0usize), x.extract(1usize) * y.extract(1usize))
}

/// Form of the rows that a launch reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SampleForm {
    /// The transform of a row.
    pub launch: TransformLaunchPlan,
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
    /// Presence of the samples of `count` pairs from pair `first` on.
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
