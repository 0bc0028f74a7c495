//! Half spectra of real rows from the spectra of the pairs of their samples, and back.

use cubecl::prelude::*;

use super::sequence::{
    Sequence, fold_twiddle, has_short_transform, mirrored, padded, read_exchange, root, sequence_at, short_transform,
    write_exchange,
};
use super::sink::finished;
use super::source::{bin, unfolded};
use super::{TransformInput, TransformOutput, TransformOutputExpand, TransformShape};
use crate::gpu::complex::{Complex, ComplexBuffers, ComplexValues, complex, conjugate, times};
use crate::gpu::short_transform::output_position;
use crate::gpu::transform::launch_plan::{Fold, TransformLaunchPlan};

/// Stores the half spectrum of a sequence: through the exchange memory, where units find the mirror images of bins.
#[cube]
pub fn store_folded(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    // All units have read what they need of the exchange before.
    sync_cube();
    let pass = comptime!(plan.passes() - 1);
    let radix = comptime!(plan.radix(pass));
    let span = comptime!(plan.span(pass));
    // Write the spectrum of the pairs of samples to the exchange memory, in its order.
    #[unroll]
    for q in 0..comptime!(plan.layout.per_unit(radix)) {
        let j = short_transform(sequence.t, q, span, plan);
        let is_present = has_short_transform(sequence.t, q, span, plan);
        #[unroll]
        for m in 0..radix {
            let k = j + comptime!(m * span);
            let held = comptime!((q * radix + output_position(m, radix)) as usize);
            let value = finished(complex(z.re[held], z.im[held]), table, sequence.column, k, k, plan);
            // Bins that are left out, and so are their mirror images, are not read.
            let is_read = if comptime!(plan.is_cut) {
                is_present && (k < shape.kept || k + shape.kept > comptime!(plan.points))
            } else {
                is_present
            };
            if is_read {
                exchange[(sequence.base + padded(k, plan)) as usize] = value;
            }
        }
    }
    sync_cube();
    let bins = comptime!(plan.points / 2 + 1);
    let step = comptime!(plan.layout.cube_units());
    let sequences = comptime!(plan.layout.sequences);
    // Fold a bin and its mirror image at a time. All units of the cube take the bins of all its sequences in turn, so
    // that adjacent units store adjacent bins also where a sequence has few units.
    if comptime!(plan.is_cut) {
        let folded = min(shape.kept, bins.runtime());
        for place in range_stepped(UNIT_POS, sequences * folded, step) {
            let own = sequence_at(place / folded, 0u32.runtime(), shape.rows, plan);
            store_folded_bin(&*exchange, table, output, &own, place % folded, shape, plan);
        }
    } else {
        let places = comptime!(sequences * bins);
        #[unroll]
        for i in 0..comptime!(places.div_ceil(step)) {
            let place = UNIT_POS + comptime!(i * step);
            if comptime!((i + 1) * step <= places) || place < places {
                let own = sequence_at(place / bins, 0u32.runtime(), shape.rows, plan);
                store_folded_bin(&*exchange, table, output, &own, place % bins, shape, plan);
            }
        }
    }
}

/// Stores bin `k` of a half spectrum and its mirror image from the exchange memory.
#[cube]
fn store_folded_bin(
    exchange: &Shared<[Complex]>,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    k: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let fold = comptime!(plan.fold());
    // Both are in the exchange memory, whichever units computed them.
    let bin = exchange[(sequence.base + padded(k, plan)) as usize];
    let image = exchange[(sequence.base + padded(mirrored(k, comptime!(fold.points)), plan)) as usize];
    if sequence.is_present {
        let first = sequence.row * shape.output_stride;
        store_pair(bin, image, table, comptime!(plan.fold_twiddles_at()), output, first, k, shape, fold);
    }
}

/// Stores the bins of sequences that are columns of half spectra: through the exchange memory, which has the columns of
/// the mirror images, too.
#[cube]
pub fn store_folded_columns(
    z: &ComplexValues,
    exchange: &mut Shared<[Complex]>,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    // All units have read what they need of the exchange before.
    sync_cube();
    write_exchange(z, exchange, sequence, comptime!(plan.passes() - 1), plan);
    sync_cube();
    // Adjacent units store bins of adjacent columns. Two columns that are their own mirror images have a pair of bins
    // more than two others.
    let pairs = comptime!(plan.layout.sequences / 2);
    let step = comptime!(plan.layout.cube_units());
    let places = comptime!(pairs * (plan.layout.n + 1));
    #[unroll]
    for turn in 0..comptime!(places.div_ceil(step)) {
        let place = UNIT_POS + comptime!(turn * step);
        if comptime!((turn + 1) * step <= places) || place < places {
            let own = sequence_at(place % pairs, 0u32.runtime(), shape.rows, plan);
            store_folded_pair(&*exchange, table, output, &own, place / pairs, shape, plan);
        }
    }
}

/// Stores pair `i` of the bins of a column and of that of their mirror images from the exchange memory. Value v of
/// column c is bin c + columns·v, and its image is in column columns − c.
#[cube]
fn store_folded_pair(
    exchange: &Shared<[Complex]>,
    table: &[Complex],
    output: &mut TransformOutput,
    sequence: &Sequence,
    i: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let (n, half) = (comptime!(plan.layout.n), comptime!(plan.layout.n / 2));
    let fold = comptime!(plan.fold());
    let mirror = sequence.base + comptime!(plan.layout.sequences / 2 * plan.layout.sequence_stride);
    // The first column has both bins of the pairs up to the half, the middle one those of the others.
    let is_first = sequence.column == 0 && i <= half;
    let is_middle = sequence.column == 0 && i > half;
    let exists = select(is_middle, comptime!(plan.with_first_column() > 0).runtime(), is_first || i < n);
    if sequence.is_present && exists {
        let value = select(is_middle, i - comptime!(half + 1), i);
        let image = select(is_first, mirrored(value, n), comptime!(n - 1).runtime() - value);
        let bin_at = select(is_middle, mirror, sequence.base) + padded(value, plan);
        let image_at = select(is_first, sequence.base, mirror) + padded(image, plan);
        let column = select(is_middle, comptime!(plan.with_first_column()).runtime(), sequence.column);
        let k = column + comptime!(plan.columns) * value;
        let (bin, image) = (exchange[bin_at as usize], exchange[image_at as usize]);
        let first = sequence.row * shape.output_stride;
        store_pair(bin, image, table, comptime!(plan.fold_twiddles_at()), output, first, k, shape, fold);
    }
}

/// Loads the inputs of a unit's short transforms of the first pass from a half spectrum: through the exchange memory,
/// so that every bin is read once.
#[cube]
pub fn load_unfolded(
    z: &mut ComplexValues,
    exchange: &mut Shared<[Complex]>,
    input: &TransformInput,
    table: &[Complex],
    sequence: &Sequence,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let bins = comptime!(plan.points / 2 + 1);
    let step = comptime!(plan.layout.cube_units());
    let sequences = comptime!(plan.layout.sequences);
    // Unfold a bin and its mirror image at a time: adjacent units read adjacent bins, also where a sequence has few
    // units.
    if comptime!(plan.is_padded) {
        // Of a short row, only the bins that it has are read.
        let present = min(shape.samples, bins.runtime());
        for place in range_stepped(UNIT_POS, sequences * present, step) {
            let own = sequence_at(place / present, 0u32.runtime(), shape.rows, plan);
            exchange_bins(exchange, input, table, &own, place % present, shape, plan);
        }
    } else {
        let places = comptime!(sequences * bins);
        #[unroll]
        for i in 0..comptime!(places.div_ceil(step)) {
            let place = UNIT_POS + comptime!(i * step);
            if comptime!((i + 1) * step <= places) || place < places {
                let own = sequence_at(place / bins, 0u32.runtime(), shape.rows, plan);
                exchange_bins(exchange, input, table, &own, place % bins, shape, plan);
            }
        }
    }
    // Units read their inputs of the first pass once all bins are unfolded.
    sync_cube();
    read_exchange(z, exchange, sequence, 0u32, plan);
    // Values that no bin of a short row reaches were not written: they are 0.
    if comptime!(plan.is_padded) {
        let radix = comptime!(plan.radix(0));
        let span = comptime!(plan.span(0));
        #[unroll]
        for q in 0..comptime!(plan.layout.per_unit(radix)) {
            let j = short_transform(sequence.t, q, span, plan);
            #[unroll]
            for m in 0..radix {
                let k = j + comptime!(m * span);
                let held = comptime!((q * radix + m) as usize);
                let is_present = min(k, comptime!(plan.points) - k) < shape.samples;
                z.set(
                    held,
                    select(is_present, z.re[held], 0.0f32.runtime()),
                    select(is_present, z.im[held], 0.0f32.runtime()),
                );
            }
        }
    }
}

/// Writes value `k` of a sequence, and that of its mirror image, to the exchange memory.
#[cube]
fn exchange_bins(
    exchange: &mut Shared<[Complex]>,
    input: &TransformInput,
    table: &[Complex],
    sequence: &Sequence,
    k: u32,
    shape: &TransformShape,
    #[comptime] plan: TransformLaunchPlan,
) {
    let first = sequence.row * shape.input_stride;
    let mirror = comptime!(plan.points) - k;
    let x = bin(input, table, first, k, shape, plan);
    let y = bin(input, table, first, mirror, shape, plan);
    let w = fold_twiddle(table, comptime!(plan.fold_twiddles_at()), k, plan.fold());
    exchange[(sequence.base + padded(k, plan)) as usize] = unfolded(x, y, w);
    // The mirror image of k, with −w* for w and the bins exchanged: the conjugate of the same with −w.
    if k > 0 {
        let image = conjugate(unfolded(x, y, complex(-w.extract(0usize), -w.extract(1usize))));
        exchange[(sequence.base + padded(mirror, plan)) as usize] = image;
    }
}

/// Stores bins `k` and points − k of a half spectrum that starts at `first`, from the spectrum Z of its pairs of
/// samples: (Z(k) + Z*(h − k))/2 ± w·(Z(k) − Z*(h − k))/2i with h points, the second one conjugated.
#[cube]
fn store_pair(
    bin: Complex,
    image: Complex,
    table: &[Complex],
    #[comptime] from: u32,
    output: &mut TransformOutput,
    first: u32,
    k: u32,
    shape: &TransformShape,
    #[comptime] fold: Fold,
) {
    // Twice the transforms of the even samples, and of the odd ones times w.
    let (a, b, c, d) = (bin.extract(0usize), bin.extract(1usize), image.extract(0usize), image.extract(1usize));
    let even = complex(a + c, b - d);
    let odd = times(complex(b + d, c - a), fold_twiddle(table, from, k, fold));
    // The first bin and the last one are real and stand for themselves alone.
    let interior = if comptime!(fold.is_cosine) { 1.0f32.runtime() } else { shape.interior };
    let factor = 0.5f32 * shape.scale * select(k > 0, interior, 1.0f32.runtime());
    let re = factor * (even.extract(0usize) + odd.extract(0usize));
    let im = factor * (even.extract(1usize) + odd.extract(1usize));
    store_bin(complex(re, im), table, from, output, first, k, shape, fold);
    // The mirror image is the conjugate of their difference.
    let re = factor * (even.extract(0usize) - odd.extract(0usize));
    let im = factor * (odd.extract(1usize) - even.extract(1usize));
    store_bin(complex(re, im), table, from, output, first, comptime!(fold.points).runtime() - k, shape, fold);
}

/// Stores bin `k` of a half spectrum that starts at `first`; or, of a cosine transform of n coefficients, number k and
/// number n − k, which are the parts of exp(−iπk/2n) times the bin.
#[cube]
fn store_bin(
    bin: Complex,
    table: &[Complex],
    #[comptime] from: u32,
    output: &mut TransformOutput,
    first: u32,
    k: u32,
    shape: &TransformShape,
    #[comptime] fold: Fold,
) {
    let stored = if comptime!(fold.conjugates) { conjugate(bin) } else { bin };
    match output {
        TransformOutput::Complex(rows) => {
            if is_written(k, shape, fold) {
                rows.re[(first + k) as usize] = stored.extract(0usize);
                rows.im[(first + k) as usize] = stored.extract(1usize);
            }
        }
        TransformOutput::Pairs(pairs) => {
            if is_written(k, shape, fold) {
                pairs[(first + k) as usize] = stored;
            }
        }
        TransformOutput::Real(rows) => {
            let turned = times(bin, root(table, from, k, comptime!(fold.root())));
            let factor = select(k > 0, 1.0f32.runtime(), shape.interior);
            rows[(first + k) as usize] = factor * turned.extract(0usize);
            if k > 0 {
                rows[(first + comptime!(2 * fold.points) - k) as usize] = -turned.extract(1usize);
            }
        }
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
    input: &ComplexBuffers,
    table: &[Complex],
    output: &mut TransformOutput,
    shape: TransformShape,
    #[comptime] fold: Fold,
) {
    let place = ABSOLUTE_POS as u32;
    let bins = comptime!(fold.points / 2 + 1);
    if place >= shape.rows * bins {
        terminate!();
    }
    // Adjacent units take adjacent bins of a row.
    let (row, k) = (place / bins, place % bins);
    // The bin, its mirror image, and the twiddle that combines even and odd samples.
    let at = (row * shape.input_stride + k) as usize;
    let image = (row * shape.input_stride + mirrored(k, comptime!(fold.points))) as usize;
    let bin = complex(input.re[at], input.im[at]);
    let image = complex(input.re[image], input.im[image]);
    store_pair(bin, image, table, 0u32, output, row * shape.output_stride, k, &shape, fold);
}
