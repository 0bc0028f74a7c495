//! Half spectra of real rows from the spectra of the pairs of their samples.

use cubecl::prelude::*;

use super::arguments::{TransformInput, TransformOutput, TransformOutputExpand, TransformShape};
use super::roots::root;
use super::sequence::{Sequence, has_short_transform, mirrored, padded, short_transform};
use super::sink::finished;
use crate::gpu::complex::{Complex, ComplexArray, ComplexBuffers, complex, times};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::launch_plan::{Fold, LaunchPlan};

/// Stores the half spectrum of a sequence: through the exchange memory, where units find the mirror images of bins.
#[cube]
pub fn store_folded(
    z: &ComplexArray,
    exchange: &mut Shared<[Complex]>,
    input: &TransformInput,
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: LaunchPlan,
) {
    // All units have read what they need of the exchange before.
    sync_cube();
    let pass = comptime!(plan.passes() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let is_present = has_short_transform(sequence.t, q, span, plan);
        #[unroll]
        for m in 0..radix {
            let k = j + comptime!(m * span);
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let value = finished(complex(z.re[held], z.im[held]), input, sequence.column, k, k, plan);
            if is_present {
                exchange[(sequence.base + padded(k, plan)) as usize] = value;
            }
        }
    }
    sync_cube();
    let fold = comptime!(plan.fold());
    for k in range_stepped(sequence.t, comptime!(fold.points / 2 + 1), comptime!(plan.layout.units)) {
        let bin = exchange[(sequence.base + padded(k, plan)) as usize];
        let image = exchange[(sequence.base + padded(mirrored(k, comptime!(fold.points)), plan)) as usize];
        let w = root(&input.table, comptime!(plan.fold_twiddles_at()), k, comptime!(fold.root()));
        if sequence.is_present {
            let first = sequence.row * shape.output_stride;
            match output {
                TransformOutput::Complex(rows) => store_pair(bin, image, w, rows, first, k, shape, fold),
                TransformOutput::Real(_rows) => {}
            }
        }
    }
}

/// Stores bins `k` and points − k of a half spectrum that starts at `first`, from the spectrum Z of its pairs of
/// samples: (Z(k) + Z*(h − k))/2 ± w·(Z(k) − Z*(h − k))/2i with h points, the second one conjugated.
#[cube]
fn store_pair(
    bin: Complex,
    image: Complex,
    w: Complex,
    output: &mut ComplexBuffers,
    first: u32,
    k: u32,
    shape: &TransformShape,
    #[comptime] fold: Fold,
) {
    let (a, b, c, d) = (bin.extract(0usize), bin.extract(1usize), image.extract(0usize), image.extract(1usize));
    let even = complex(a + c, b - d);
    let odd = times(complex(b + d, c - a), w);
    // The first bin and the last one are real and stand for themselves alone.
    let factor = 0.5f32 * shape.scale * select(k > 0, shape.interior, 1.0f32.runtime());
    let sign = if comptime!(fold.conjugates) { -factor } else { factor };
    if is_written(k, shape, fold) {
        let at = (first + k) as usize;
        output.re[at] = factor * (even.extract(0usize) + odd.extract(0usize));
        output.im[at] = sign * (even.extract(1usize) + odd.extract(1usize));
    }
    let mirrored = comptime!(fold.points).runtime() - k;
    if is_written(mirrored, shape, fold) {
        let at = (first + mirrored) as usize;
        output.re[at] = factor * (even.extract(0usize) - odd.extract(0usize));
        output.im[at] = sign * (odd.extract(1usize) - even.extract(1usize));
    }
}

/// Whether a bin of a half spectrum is written.
#[cube]
fn is_written(bin: u32, shape: &TransformShape, #[comptime] fold: Fold) -> bool {
    if comptime!(fold.is_cut) { bin < shape.kept } else { true.runtime() }
}

/// Folds spectra of pairs of samples in device memory: a unit per bin and its mirror image.
#[cube(launch, launch_unchecked)]
pub fn fold_spectra(
    input: &TransformInput,
    output: &mut ComplexBuffers,
    shape: TransformShape,
    #[comptime] fold: Fold,
) {
    let place = ABSOLUTE_POS as u32;
    let bins = comptime!(fold.points / 2 + 1);
    if place >= shape.rows * bins {
        terminate!();
    }
    let (row, k) = (place / bins, place % bins);
    let at = (row * shape.input_stride + k) as usize;
    let image = (row * shape.input_stride + mirrored(k, comptime!(fold.points))) as usize;
    let bin = complex(input.re[at], input.im[at]);
    let image = complex(input.re[image], input.im[image]);
    let w = root(&input.table, 0u32, k, comptime!(fold.root()));
    store_pair(bin, image, w, output, row * shape.output_stride, k, &shape, fold);
}
