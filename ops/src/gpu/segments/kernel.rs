//! Device code of windowed segments, and of their gradients.

use cubecl::prelude::*;

use crate::gpu::reduce::RowBlockShape;
use crate::gpu::segments::{CUBE_UNITS, RowPadding, SegmentPlan};

/// Segments minus their means, times the window, `[count, n]`: a unit per value.
#[cube(launch)]
pub fn window_segments(
    signal: &[f32],
    window: &[f32],
    means: &[f32],
    into: &mut [f32],
    shape: SegmentShape,
    #[comptime] plan: SegmentPlan,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(plan.n);
    if at >= shape.count * n {
        terminate!();
    }
    // Adjacent units take adjacent samples of a segment.
    let (segment, j) = (at / n, at % n);
    let mut sample = segment_sample(signal, shape.first + segment, j, &shape, plan.padding);
    if comptime!(plan.detrend) {
        sample -= means[segment as usize];
    }
    into[at as usize] = window[j as usize] * sample;
}

/// The mean of every segment, `[count]`, or of the segment times the window where it `is_weighted`: a few units per
/// segment. Subtracting the mean is an orthogonal projection, and so its own adjoint.
#[cube(launch)]
pub fn segment_means(
    signal: &[f32],
    window: &[f32],
    means: &mut [f32],
    shape: SegmentShape,
    #[comptime] is_weighted: bool,
    #[comptime] plan: SegmentPlan,
) {
    let units = comptime!(plan.units());
    let t = UNIT_POS % units;
    let segment = CUBE_POS as u32 * comptime!(plan.cube_segments()) + UNIT_POS / units;
    // Each unit adds every `units`-th value, adjacent units adjacent ones.
    let mut sum = 0.0f32;
    if segment < shape.count {
        for j in range_stepped(t, comptime!(plan.n), units) {
            let sample = segment_sample(signal, shape.first + segment, j, &shape, plan.padding);
            sum += if comptime!(is_weighted) { window[j as usize] * sample } else { sample };
        }
    }
    // Units past the last segment take part, since the sum has barriers.
    let sum = sum_over_segment(sum, units);
    if segment < shape.count && t == 0u32 {
        means[segment as usize] = sum / f32::cast_from(comptime!(plan.n));
    }
}

/// The sum of one value per unit of a segment, for all of its units; every unit of the cube must call it.
#[cube]
fn sum_over_segment(value: f32, #[comptime] units: u32) -> f32 {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(CUBE_UNITS as usize));
    shared[UNIT_POS as usize] = value;
    // A tree: at every level the first half of the units left adds the values of the second half.
    #[unroll]
    for level in 0..comptime!(units.ilog2()) {
        let half = comptime!(units >> (level + 1));
        sync_cube();
        if UNIT_POS % units < half {
            let other = shared[(UNIT_POS + half) as usize];
            shared[UNIT_POS as usize] += other;
        }
    }
    sync_cube();
    shared[(UNIT_POS - UNIT_POS % units) as usize]
}

/// Gradients of windowed segments, on their way to those of the signal.
#[derive(CubeType, CubeLaunch)]
pub struct SegmentGradient {
    /// `[count, n]`.
    pub values: Box<[f32]>,
    /// `[n]`.
    pub window: Box<[f32]>,
    /// Means of window times gradient, `[count]`; read with detrending.
    pub means: Box<[f32]>,
}

/// Adds to the gradient of every sample, `[rows, samples]`, the sum over the segments of a launch that hold
/// it, or writes it unless it `is_added`: a unit per sample. `first_row` is the row of the first segment, and `rows` the
/// rows that the segments are of; `means` are those of window times gradient.
#[cube(launch)]
pub fn add_segments(
    grad: &SegmentGradient,
    into: &mut [f32],
    shape: SegmentShape,
    first_row: u32,
    rows: u32,
    #[comptime] is_added: bool,
    #[comptime] plan: SegmentPlan,
) {
    let at = ABSOLUTE_POS as u32;
    if at >= rows * shape.samples {
        terminate!();
    }
    let (row, sample) = (first_row + at / shape.samples, at % shape.samples);
    let last = shape.samples - 1;
    // The segments at the sample itself, then at the places of the padding that repeat it.
    let mut sum = sum_at(grad, row, shape.padding + sample, &shape, plan);
    if comptime!(plan.padding == RowPadding::Reflect) {
        // The mirror images before and after the row; the samples at the ends have none.
        if sample > 0 && sample <= shape.padding {
            sum += sum_at(grad, row, shape.padding - sample, &shape, plan);
        }
        if sample < last && last - sample <= shape.padding {
            sum += sum_at(grad, row, shape.padding + 2u32 * last - sample, &shape, plan);
        }
    }
    // The repetitions after the row and before it.
    if comptime!(plan.padding == RowPadding::Circular) {
        if sample < shape.padding {
            sum += sum_at(grad, row, shape.padding + shape.samples + sample, &shape, plan);
        }
        if sample + shape.padding >= shape.samples {
            sum += sum_at(grad, row, sample + shape.padding - shape.samples, &shape, plan);
        }
    }
    // The ends of the row stand for all of the padding beyond them.
    if comptime!(plan.padding == RowPadding::Edge) {
        if sample == 0 {
            for position in 0..shape.padding {
                sum += sum_at(grad, row, position, &shape, plan);
            }
        }
        if sample == last {
            for beyond in 1..shape.padding + 1 {
                sum += sum_at(grad, row, shape.padding + last + beyond, &shape, plan);
            }
        }
    }
    let to = row as usize * shape.samples as usize + sample as usize;
    into[to] = if comptime!(is_added) { into[to] + sum } else { sum };
}

/// The sum at a position of a padded row over the segments of the launch that hold it.
#[cube]
fn sum_at(grad: &SegmentGradient, row: u32, position: u32, shape: &SegmentShape, #[comptime] plan: SegmentPlan) -> f32 {
    let n = comptime!(plan.n);
    // From the first segment that ends after the position to the last one that starts before it.
    let mut first = 0u32;
    if position >= n {
        first = (position - n) / shape.hop + 1;
    }
    let end = min(position / shape.hop + 1, shape.segments);
    // Of those, the segments of this launch.
    let of_row = row * shape.segments;
    let first = max(of_row + first, shape.first);
    let end = min(of_row + end, shape.first + shape.count);
    let mut sum = 0.0f32;
    for segment in first..end {
        let j = position - (segment - of_row) * shape.hop;
        let own = (segment - shape.first) as usize;
        let mut value = grad.window[j as usize] * grad.values[own * comptime!(n as usize) + j as usize];
        if comptime!(plan.detrend) {
            value -= grad.means[own];
        }
        sum += value;
    }
    sum
}

/// The window's gradient from each block of the segments of a launch, `[blocks, n]`, where `means` are those of the
/// samples: a unit per value of a block.
#[cube(launch)]
pub fn window_sums(
    signal: &[f32],
    grad: &[f32],
    means: &[f32],
    sums: &mut [f32],
    shape: SegmentShape,
    blocks: RowBlockShape,
    #[comptime] plan: SegmentPlan,
) {
    let at = ABSOLUTE_POS as u32;
    let n = comptime!(plan.n);
    if at >= blocks.count * n {
        terminate!();
    }
    // Adjacent units take adjacent values of a window; each adds the segments of its block in order, so that the bits of
    // the sum do not vary.
    let (first, j) = (at / n * blocks.length, at % n);
    let mut sum = 0.0f32;
    for segment in first..min(first + blocks.length, shape.count) {
        let slope = grad[segment as usize * comptime!(n as usize) + j as usize];
        // A segment without a gradient adds nothing, also where its samples are not finite.
        if has_gradient(slope) {
            let mut sample = segment_sample(signal, shape.first + segment, j, &shape, plan.padding);
            if comptime!(plan.detrend) {
                sample -= means[segment as usize];
            }
            sum += slope * sample;
        }
    }
    sums[at as usize] = sum;
}

/// Units of the one cube.
pub const SCALING_UNITS: u32 = 128;

/// The function of the window that a scaling divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Divisor {
    /// Nothing.
    One,
    /// (Σ w)².
    SquaredSum,
    /// Σ w², times the sample rate.
    Energy,
}

/// Writes the factor of the scaling, one f32.
#[cube(launch)]
pub fn find_scaling_factor(window: &[f32], into: &mut [f32], rate: f32, n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(SCALING_UNITS as usize));
    // Σ w or Σ w²: each unit adds every 128th value, then all units' sums are added.
    let mut sum = 0.0f32;
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let w = window[j as usize];
        sum += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
    }
    let sum = total(&mut shared, sum);
    // One unit writes the factor.
    if UNIT_POS == 0u32 {
        into[0] = if comptime!(divisor == Divisor::One) {
            1.0f32.runtime()
        } else if comptime!(divisor == Divisor::SquaredSum) {
            1.0f32 / (sum * sum)
        } else {
            1.0f32 / (rate * sum)
        };
    }
}

/// Adds to `grad`, the window's gradient through the windowed samples y alone, its part through the scaling.
///
/// The loss L depends on the factor A only through A·|X|², a quadratic form in y. So, with Euler's theorem on
/// homogeneous functions, A·dL/dA = ½ Σ y·dL/dy = ½ Σ w·grad.
#[cube(launch)]
pub fn add_scaling_gradient(window: &[f32], grad: &mut [f32], n: u32, #[comptime] divisor: Divisor) {
    let mut shared = Shared::<[f32]>::new_slice(comptime!(SCALING_UNITS as usize));
    // Σ w or Σ w², and Σ w·grad.
    let mut size = 0.0f32;
    let mut through = 0.0f32;
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let w = window[j as usize];
        size += if comptime!(divisor == Divisor::Energy) { w * w } else { w };
        through += w * grad[j as usize];
    }
    let size = total(&mut shared, size);
    // The second sum takes the same memory, once all units have read the first.
    sync_cube();
    let through = total(&mut shared, through);
    // dA/dw is −2A/Σw for the one divisor, and −2A·w/Σw² for the other.
    let slope = -(through / size);
    for j in range_stepped(UNIT_POS, n, SCALING_UNITS) {
        let by = if comptime!(divisor == Divisor::Energy) { slope * window[j as usize] } else { slope };
        grad[j as usize] += by;
    }
}

/// The sum of one value per unit of the cube, for all of them.
#[cube]
fn total(shared: &mut Shared<[f32]>, value: f32) -> f32 {
    // Every unit adds all values, in the same order: one barrier, where a tree would take seven.
    shared[UNIT_POS as usize] = value;
    sync_cube();
    let mut sum = 0.0f32;
    for unit in 0..SCALING_UNITS {
        sum += shared[unit as usize];
    }
    sum
}

/// Segments of rows, numbered over all rows.
#[derive(CubeType, CubeLaunch)]
pub struct SegmentShape {
    pub segments: u32,
    pub samples: u32,
    /// Values from one row to the next.
    pub stride: u32,
    pub hop: u32,
    /// Samples before a row that its first segment starts with.
    pub padding: u32,
    pub constant: f32,
    /// The first segment of a launch.
    pub first: u32,
    /// Segments of a launch.
    pub count: u32,
}

/// Whether a gradient is not 0. Compares bits without the sign: under fast-math, a comparison of floats may miss NaN.
#[cube]
pub fn has_gradient(gradient: f32) -> bool {
    (u32::reinterpret(gradient) << 1u32) != 0u32
}

/// Sample `j` of segment `segment`, which is inner where `padding` is none.
#[cube]
pub fn segment_sample(
    signal: &[f32],
    segment: u32,
    j: u32,
    shape: &SegmentShape,
    #[comptime] padding: RowPadding,
) -> f32 {
    let place = sample_place(segment, j, shape, padding);
    let mut value = shape.constant;
    if comptime!(padding != RowPadding::Constant) || place.is_inside {
        value = signal[place.at];
    }
    value
}

/// Position of a sample of a segment in the signal.
#[derive(CubeType, Clone, Copy)]
pub struct SamplePlace {
    pub at: usize,
    /// Whether the sample is of the row, and not the constant of the padding, whose position is that of the row.
    pub is_inside: bool,
}

/// Position of sample `j` of segment `segment`, which is inner where `padding` is none.
#[cube]
pub fn sample_place(segment: u32, j: u32, shape: &SegmentShape, #[comptime] padding: RowPadding) -> SamplePlace {
    let start = (segment / shape.segments) as usize * shape.stride as usize;
    // From the start of the padding on.
    let position = segment % shape.segments * shape.hop + j;
    if comptime!(padding == RowPadding::None) {
        // The padding of segments that do not meet it, 0 where there is none.
        SamplePlace { at: start + (position - shape.padding) as usize, is_inside: true.runtime() }
    } else {
        let is_before = position < shape.padding;
        let last = shape.samples - 1;
        if comptime!(padding == RowPadding::Constant) {
            let is_inside = !is_before && position - shape.padding <= last;
            let at = select(is_inside, position - shape.padding, 0u32.runtime());
            SamplePlace { at: start + at as usize, is_inside }
        } else if comptime!(padding == RowPadding::Edge) {
            let at = min(select(is_before, 0u32.runtime(), position - shape.padding), last);
            SamplePlace { at: start + at as usize, is_inside: true.runtime() }
        } else if comptime!(padding == RowPadding::Circular) {
            // Padding is no longer than the row, so that one step of a row leads back into it.
            let at = select(is_before, position + shape.samples - shape.padding, position - shape.padding);
            SamplePlace { at: start + select(at > last, at - shape.samples, at) as usize, is_inside: true.runtime() }
        } else {
            let at = select(is_before, shape.padding - position, position - shape.padding);
            SamplePlace { at: start + select(at > last, 2u32 * last - at, at) as usize, is_inside: true.runtime() }
        }
    }
}
