//! Convolutions in f32 with a row per lane: rows are loaded, transformed, multiplied, transformed back and stored while
//! they stay in the cache.
//!
//! Lanes share nothing, so a row has the same bits wherever it is in the batch, and no row disturbs another.
//!
//! A real row of 2N samples is transformed as N complex values, its pairs of samples. With He and Ho the transforms of
//! a kernel's even and odd taps and w = exp(−πi k/N), the spectrum Z of such a row becomes that of its convolution as
//! V[k] = A[k] Z[k] + B[k] Z[N − k]*, where A = He − sin(πk/N) w Ho and B = i cos(πk/N) w Ho. The reversed kernel has
//! A* in the place of A, and −B* in that of B.

use std::ops::Range;

use super::LongConvOperands;
use super::tiling::{ConvTile, Tiling};
use crate::cpu::butterfly::tile::width;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch};
use crate::cpu::runtime::with_vector;
use crate::cpu::transform::passes::{passes, splat};
use crate::cpu::transform::plan::MixedRadixPlan;
use crate::cpu::transform::transposition::{load_pairs, multiply_pairs, store_pairs};

/// Rows of a tile, at most.
pub(super) const ROWS: usize = MAX_LANES;

/// A convolution with a row per lane, as every task has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneConv<'a> {
    pub inputs: &'a LongConvOperands<'a, f32>,
    pub plan: &'a MixedRadixPlan,
    pub tiling: &'a Tiling,
}

impl LaneConv<'_> {
    /// Convolutions → `output`, as [`long_conv`](super::long_conv()).
    pub fn forward(self, output: &mut [f32]) {
        let (set, outputs) = (InstructionSet::current(), self.tiling.deal(Some(output), self.inputs.n));
        let tasks = self.tiling.of_tasks().into_iter().zip(outputs).enumerate();
        self.tiling.tasks().run(tasks, |(task, (tiles, outputs))| {
            // Spectrum, product, and two factors.
            self.with_task(task, &tiles, 4, |kernels, memory, width| {
                let mut tiles: Vec<_> = tiles.iter().zip(outputs.into_iter().flatten()).collect();
                let kernel = ConvForward { call: self, kernels, tiles: &mut tiles, memory };
                dispatch(set, width, kernel);
            });
        });
    }

    /// Gradients, as [`long_conv_backward`](super::long_conv_backward()); those of the kernels as one partial sum
    /// `[channels, taps]` per block.
    pub fn backward(self, grad: &[f32], [of_signal, of_kernel, of_gate]: [Option<&mut [f32]>; 3]) {
        let set = InstructionSet::current();
        let [of_signal, of_gate] = [of_signal, of_gate].map(|rows| self.tiling.deal(rows, self.inputs.n));
        let of_kernel = self.tiling.deal_kernels(of_kernel, self.inputs.taps());
        let tasks = self.tiling.of_tasks().into_iter().zip(of_kernel).zip(of_signal).zip(of_gate).enumerate();
        self.tiling.tasks().run(tasks, |(task, (((tiles, of_kernel), of_signal), of_gate))| {
            // Spectra of signal and gradient, product, two factors and two sums.
            self.with_task(task, &tiles, 7, |kernels, memory, width| {
                let rows = of_signal.into_iter().zip(of_gate).map(<[_; 2]>::from);
                let mut tiles: Vec<_> = tiles.iter().zip(rows).collect();
                let kernel = ConvBackward { call: self, grad, kernels, tiles: &mut tiles, of_kernel, memory };
                dispatch(set, width, kernel);
            });
        });
    }

    /// Calls `body` with a kernel for each row of a task's tiles, memory for `buffers` complex tiles, and a width.
    fn with_task(self, task: usize, tiles: &[ConvTile], buffers: usize, body: impl FnOnce(&[f32], &mut [Line], Width)) {
        let Self { inputs, plan, tiling } = self;
        let (taps, rows) = (inputs.taps(), tiles.iter().map(|tile| tile.rows).max().unwrap_or(0));
        let registers = buffers * plan.points + plan.largest_radix;
        let lines = 2 * registers * MAX_LANES / Line::LEN + 2 * lines_for(MAX_LANES * inputs.n);
        let channels = tiling.group(task % tiling.groups());
        let kernels = &inputs.kernel[channels.start * taps..channels.end * taps];
        with_vector(|repeated| {
            // Rows of several elements of the batch have the same kernels.
            let kernels = if rows > channels.len() {
                (0..rows / channels.len()).for_each(|_| repeated.extend_from_slice(kernels));
                &repeated[..]
            } else {
                kernels
            };
            with_lines(lines, |memory| body(kernels, memory, width(rows)));
        });
    }
}

/// Rows of a tile, from `first` on, as many as a register has lanes.
#[inline(always)]
fn rows_of<V: Register>(first: usize, rows: usize) -> Range<usize> {
    first..(first + V::LANES).min(rows)
}

/// Indices of the values of `rows`, with `length` values per row.
#[inline(always)]
fn part(rows: &Range<usize>, length: usize) -> Range<usize> {
    rows.start * length..rows.end * length
}

/// A transform of rows, with a row per lane.
struct Lanes<'a, V: Register> {
    token: V::Token,
    plan: &'a MixedRadixPlan,
    /// Samples of a row.
    n: usize,
    pairs: &'a mut [[Complex<V>; 2]],
    spare: &'a mut [f32],
}

impl<V: Register> Lanes<'_, V> {
    /// The spectra of rows of `width` samples, of which the first `used` count, times factors.
    #[inline(always)]
    fn spectra(&mut self, rows: &[f32], [width, used]: [usize; 2], factors: Option<&[f32]>, tile: &mut [Complex<V>]) {
        let places = &self.plan.places;
        load_pairs(
            self.token,
            places,
            rows,
            [width, used],
            self.spare,
            tile,
            #[inline(always)]
            |_, column| column,
        );
        if let Some(factors) = factors {
            multiply_pairs(self.token, Some(places), factors, [width, used], self.spare, tile);
        }
        passes(self.token, self.plan, tile, self.pairs);
    }

    /// The rows of `length` samples, times factors, whose spectra are in the plan's places with parts exchanged.
    #[inline(always)]
    fn store(&mut self, tile: &mut [Complex<V>], length: usize, factors: Option<&[f32]>, rows: &mut [f32]) {
        passes(self.token, self.plan, tile, self.pairs);
        if let Some(factors) = factors {
            multiply_pairs(self.token, None, factors, [length; 2], self.spare, tile);
        }
        store_pairs(self.token, tile, rows, length, self.spare);
    }

    /// The factors of kernels of `taps` values; `tile` holds their spectra in between.
    #[inline(always)]
    fn factors(&mut self, kernels: &[f32], taps: usize, tile: &mut [Complex<V>], factors: &mut [BinFactors<V>]) {
        self.spectra(kernels, [taps, taps.min(self.n)], None, tile);
        factors_of(self.token, self.plan, tile, factors);
    }
}

struct ConvForward<'a, 'o> {
    call: LaneConv<'a>,
    /// The kernel of each row of a tile.
    kernels: &'a [f32],
    tiles: &'a mut [(&'a ConvTile, &'o mut [f32])],
    memory: &'a mut [Line],
}

impl Kernel for ConvForward<'_, '_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { call: LaneConv { inputs, plan, .. }, kernels, tiles, mut memory } = self;
        let (n, taps, points) = (inputs.n, inputs.taps(), plan.points);
        let tile = take_complexes::<V>(token, &mut memory, points);
        let product = take_complexes::<V>(token, &mut memory, points);
        let factors = take_complexes::<V>(token, &mut memory, 2 * points).as_chunks_mut::<2>().0;
        let pairs = take_complexes::<V>(token, &mut memory, plan.largest_radix).as_chunks_mut::<2>().0;
        let spare = take_values(&mut memory, V::LANES * n);
        let mut lanes = Lanes { token, plan, n, pairs, spare };
        let mut first = 0;
        while first < kernels.len() / taps {
            // Factors of the kernels, a row per lane: transformed once for all tiles of the task.
            let own = rows_of::<V>(first, kernels.len() / taps);
            lanes.factors(&kernels[part(&own, taps)], taps, tile, factors);
            for (ConvTile { start, rows, .. }, output) in &mut *tiles {
                let own = rows_of::<V>(first, *rows);
                if own.is_empty() {
                    continue;
                }
                let input = part(&(start + own.start..start + own.end), n);
                // Spectra of the signal, times those of the kernels, back to samples, times the gate.
                lanes.spectra(&inputs.signal[input.clone()], [n, n], None, tile);
                convolve::<V, false>(token, plan, factors, tile, product);
                let gate = inputs.gate.map(|gate| &gate[input]);
                lanes.store(product, n, gate, &mut output[part(&own, n)]);
            }
            first += V::LANES;
        }
    }
}

struct ConvBackward<'a, 'o> {
    call: LaneConv<'a>,
    grad: &'a [f32],
    /// The kernel of each row of a tile.
    kernels: &'a [f32],
    /// Tiles, and the memory for their gradients of signal and gate.
    tiles: &'a mut [(&'a ConvTile, [Option<&'o mut [f32]>; 2])],
    /// The gradients of the group's kernels, summed over the tiles.
    of_kernel: Option<&'o mut [f32]>,
    memory: &'a mut [Line],
}

impl Kernel for ConvBackward<'_, '_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { call: LaneConv { inputs, plan, .. }, grad, kernels, tiles, mut of_kernel, mut memory } = self;
        let (n, taps, points) = (inputs.n, inputs.taps(), plan.points);
        let signal = take_complexes::<V>(token, &mut memory, points);
        let of_output = take_complexes::<V>(token, &mut memory, points);
        let product = take_complexes::<V>(token, &mut memory, points);
        let factors = take_complexes::<V>(token, &mut memory, 2 * points).as_chunks_mut::<2>().0;
        let sums = take_complexes::<V>(token, &mut memory, 2 * points).as_chunks_mut::<2>().0;
        let pairs = take_complexes::<V>(token, &mut memory, plan.largest_radix).as_chunks_mut::<2>().0;
        let spare = take_values(&mut memory, V::LANES * n);
        let lags = take_values(&mut memory, V::LANES * n);
        let mut lanes = Lanes { token, plan, n, pairs, spare };
        if let Some(of_kernel) = &mut of_kernel {
            of_kernel.fill(0.0);
        }
        let mut first = 0;
        while first < kernels.len() / taps {
            let own = rows_of::<V>(first, kernels.len() / taps);
            // Factors of the kernels, and no products yet.
            lanes.factors(&kernels[part(&own, taps)], taps, product, factors);
            for sum in &mut *sums {
                *sum = [Complex::zero(token); 2];
            }
            for (ConvTile { start, rows, .. }, [of_signal, of_gate]) in &mut *tiles {
                let tile_rows = rows_of::<V>(first, *rows);
                if tile_rows.is_empty() {
                    continue;
                }
                let input = part(&(start + tile_rows.start..start + tile_rows.end), n);
                // Spectra of g = gate · grad and of the signal, each only if a gradient takes it.
                let gate = inputs.gate.map(|gate| &gate[input.clone()]);
                if of_signal.is_some() || of_kernel.is_some() {
                    lanes.spectra(&grad[input.clone()], [n, n], gate, of_output);
                }
                if of_gate.is_some() || of_kernel.is_some() {
                    lanes.spectra(&inputs.signal[input.clone()], [n, n], None, signal);
                }
                // Gradient of the kernel: spectra of the correlation of signal and g, summed over the batch.
                if of_kernel.is_some() {
                    add_products(token, signal, of_output, sums);
                }
                // Gradient of the signal: g convolved with the reversed kernel.
                if let Some(of_signal) = of_signal {
                    convolve::<V, true>(token, plan, factors, of_output, product);
                    lanes.store(product, n, None, &mut of_signal[part(&tile_rows, n)]);
                }
                // Gradient of the gate: the convolution, times grad.
                if let Some(of_gate) = of_gate {
                    convolve::<V, false>(token, plan, factors, signal, product);
                    lanes.store(product, n, Some(&grad[input]), &mut of_gate[part(&tile_rows, n)]);
                }
            }
            // One inverse transform per kernel gives the correlation at each lag, that is the gradient of each tap.
            if let Some(of_kernel) = &mut of_kernel {
                correlate(token, plan, sums, product);
                let used = taps.min(n);
                let lags = &mut lags[..own.len() * used];
                lanes.store(product, used, None, lags);
                add_kernels(lags, own.start, [taps, used], of_kernel);
            }
            first += V::LANES;
        }
    }
}

/// Adds the lags of correlations, `used` per row from row `first` on, to the gradients of the rows' kernels, which rows
/// of several elements of the batch share. Taps past the `used` ones multiply no sample: their gradients stay 0.
#[inline(always)]
fn add_kernels(lags: &[f32], first: usize, [taps, used]: [usize; 2], of_kernel: &mut [f32]) {
    let kernels = of_kernel.len() / taps;
    for (row, lags) in (first..).zip(lags.chunks_exact(used)) {
        let start = row % kernels * taps;
        for (sum, lag) in of_kernel[start..start + used].iter_mut().zip(lags) {
            *sum += lag;
        }
    }
}

/// The factors A and B of a bin.
pub(super) type BinFactors<V> = [Complex<V>; 2];

/// Sums over the batch, per bin k: P[k]* Z[k] and P[N − k] Z[k] of spectra P and Z.
pub(super) type BinSums<V> = [Complex<V>; 2];

/// The bin of the conjugate.
#[inline(always)]
fn mirrored(k: usize, points: usize) -> usize {
    if k == 0 { 0 } else { points - k }
}

/// −i exp(−πi k/N) of any bin: the plan has those of the lower half.
#[inline(always)]
fn half_turn(plan: &MixedRadixPlan, k: usize) -> [f32; 2] {
    if 2 * k <= plan.points {
        plan.half_turns[k]
    } else {
        let [re, im] = plan.half_turns[plan.points - k];
        [re, -im]
    }
}

#[inline(always)]
pub(super) fn conjugate<V: Register>(token: V::Token, z: Complex<V>) -> Complex<V> {
    Complex { re: z.re, im: V::splat(token, 0.0) - z.im }
}

#[inline(always)]
fn scaled<V: Register>(token: V::Token, factor: f32, z: Complex<V>) -> Complex<V> {
    let factor = V::splat(token, factor);
    Complex { re: z.re * factor, im: z.im * factor }
}

/// The factors of kernels whose spectra are `spectra`, divided by the points.
#[inline(always)]
pub(super) fn factors_of<V: Register>(
    token: V::Token,
    plan: &MixedRadixPlan,
    spectra: &[Complex<V>],
    factors: &mut [BinFactors<V>],
) {
    let points = plan.points;
    let half = 0.5 / points as f32;
    for (k, factors) in factors.iter_mut().enumerate() {
        let (p, q) = (spectra[k], conjugate(token, spectra[mirrored(k, points)]));
        let (he, difference) = (scaled(token, half, p.plus(q)), scaled(token, half, p.minus(q)));
        // He = (P + Q)/2 and w Ho = −i w (P − Q)/2, where −i w = −sin − i cos.
        let turn = half_turn(plan, k);
        let turned = difference.times(splat(token, turn));
        let [minus_sin, minus_cos] = [V::splat(token, turn[0]), V::splat(token, turn[1])];
        let zero = Complex::zero(token);
        *factors = [he.plus_scaled(minus_sin, turned), zero.minus_i_scaled(minus_cos, turned)];
    }
}

/// The spectra of convolutions, in the plan's places and with parts exchanged, which makes the forward transform the
/// inverse one; of convolutions with the reversed kernels where `REVERSED`.
#[inline(always)]
pub(super) fn convolve<V: Register, const REVERSED: bool>(
    token: V::Token,
    plan: &MixedRadixPlan,
    factors: &[BinFactors<V>],
    spectra: &[Complex<V>],
    into: &mut [Complex<V>],
) {
    let points = plan.points;
    for k in 0..points {
        let (z, mirrored) = (spectra[k], conjugate(token, spectra[mirrored(k, points)]));
        let [a, b] = factors[k];
        let value = if REVERSED {
            z.times(conjugate(token, a)).minus(mirrored.times(conjugate(token, b)))
        } else {
            z.times(a).plus(mirrored.times(b))
        };
        into[plan.places[k] as usize] = Complex { re: value.im, im: value.re };
    }
}

/// Adds the products of two rows' spectra to the sums.
#[inline(always)]
pub(super) fn add_products<V: Register>(
    token: V::Token,
    signal: &[Complex<V>],
    grad: &[Complex<V>],
    sums: &mut [BinSums<V>],
) {
    let points = grad.len();
    for (k, [direct, crossed]) in sums.iter_mut().enumerate() {
        let z = grad[k];
        *direct = direct.plus(z.times(conjugate(token, signal[k])));
        *crossed = crossed.plus(z.times(signal[mirrored(k, points)]));
    }
}

/// The spectra of correlations, from sums over the batch, over the points; in the plan's places, with parts exchanged.
#[inline(always)]
pub(super) fn correlate<V: Register>(
    token: V::Token,
    plan: &MixedRadixPlan,
    sums: &[BinSums<V>],
    into: &mut [Complex<V>],
) {
    let points = plan.points;
    let half = 0.5 / points as f32;
    for (k, &[direct, crossed]) in sums.iter().enumerate() {
        let [far_direct, far_crossed] = sums[mirrored(k, points)].map(|sum| conjugate(token, sum));
        // V = Σ A* Z[k] − Σ B* Z[N − k]*, with the factors A and B of the signal, in which Q is P[N − k]*. Written out,
        // both sums are combinations of the direct and the crossed sum at k and at its mirror image.
        let turn = half_turn(plan, k);
        let [minus_sin, minus_cos] = [V::splat(token, turn[0]), V::splat(token, turn[1])];
        let back = splat(token, [turn[0], -turn[1]]);
        let near = scaled(token, half, direct.minus(crossed)).times(back);
        let far = scaled(token, half, far_crossed.minus(far_direct)).times(back);
        let both = scaled(token, half, direct.plus(crossed));
        let value = both.plus_scaled(minus_sin, near).minus_i_scaled(minus_cos, far);
        into[plan.places[k] as usize] = Complex { re: value.im, im: value.re };
    }
}
