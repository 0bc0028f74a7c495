//! Transforms of complex rows in f32 that are too long for the first-level cache; lengths are powers of two.
//!
//! A row of n values is taken apart into P rows of n / P values, each every P-th value: the transposition of a matrix,
//! by squares of registers. Each is transformed in the cache by the passes of [`fft`](crate::cpu::fft), and four
//! neighbouring spectra at a time are joined by a pass of radix 4 in place, as soon as they are there, until one is
//! left. No pass reads or writes more than eight lines that are multiples of 4 KB apart: they would be in one set of
//! the cache, which has no more places.

use std::sync::Arc;

use super::algorithm::Filled;
use super::passes::splat;
use super::plan::turn;
use crate::cache::Cache;
use crate::cpu::fft::RowTransform;
use crate::cpu::fft::plan::FftPlan;
use crate::cpu::fft::prefetch::{NextRow, RowArrays};
use crate::cpu::fft::radix::{radix, transpose};
use crate::cpu::isa::lines::{Line, RegisterShape, complexes, lines_for, take_complexes, take_values, with_lines};
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::isa::{InstructionSet, Kernel, Width, dispatch, simd_enabled};
use crate::cpu::runtime::tasks::Tasks;

const MIN_VALUES: usize = 8192;
/// The longest parts: of each, all values that a pass reads and writes are in the first-level cache.
const MAX_PART: usize = 4096;

/// Whether rows of `n` values go this way on this thread.
pub(super) fn supports_length(n: usize) -> bool {
    simd_enabled() && n.is_power_of_two() && n >= MIN_VALUES
}

/// Plan of a transform of P parts.
struct LongPlan {
    part: usize,
    /// The place of each part's spectrum among the others: the reverse of its digits in base 4.
    places: Vec<usize>,
    /// The passes that join spectra, first to last.
    joins: Vec<Join>,
}

/// A pass that joins four spectra of `len` values.
struct Join {
    len: usize,
    /// exp(-2πi k p / 4 len) for the first value k of each register, p from 1 to 3.
    starts: Vec<[[f32; 2]; 3]>,
    /// exp(-2πi l p / 4 len) for lanes l, p from 1 to 3: factors on `starts`.
    lanes: Vec<Line>,
}

impl LongPlan {
    fn of(n: usize, lanes: usize) -> Arc<Self> {
        static PLANS: Cache<(usize, usize), Arc<LongPlan>> = Cache::new();
        PLANS.get((n, lanes), || Arc::new(Self::new(n, lanes)))
    }

    fn new(n: usize, lanes: usize) -> Self {
        let (mut parts, mut joins, mut places) = (1, Vec::new(), vec![0]);
        while n / parts > MAX_PART {
            parts *= 4;
            places = (0..parts).map(|part| part % 4 * (parts / 4) + places[part / 4]).collect();
        }
        let part = n / parts;
        let mut len = part;
        while len < n {
            let twiddle = |k: usize, p: usize| turn(k * p, 4 * len);
            let starts = (0..len).step_by(lanes).map(|k| [1, 2, 3].map(|p| twiddle(k, p))).collect();
            let lanes = RegisterShape { lanes, rows: 1 }.lines(1..4, |p, lane| twiddle(lane, p));
            joins.push(Join { len, starts, lanes });
            len *= 4;
        }
        Self { part, places, joins }
    }
}

/// The forward transform of every row of `input` `[rows, n]`, or of the rows that `output` has, times `factor`.
pub(super) fn transform_long_rows(input: Option<[&[f32]; 2]>, n: usize, factor: f32, output: [&mut [f32]; 2]) {
    let tasks = Tasks::independent(output[0].len() / n, n * n.ilog2() as usize / 16);
    let (set, plan) = (InstructionSet::current(), LongPlan::of(n, Filled::Sixteen.shape().lanes));
    tasks.run(tasks.pieces(input, n, output, n), |(input, output)| {
        // A line more after each part, at least of four values each.
        let parts = 2 * lines_for(n + n / MIN_VALUES * 4 * Line::LEN);
        with_lines(parts + 2 * lines_for(MAX_PART), |memory| {
            dispatch(set, Width::Sixteen, LongRowsKernel { n, plan: &plan, factor, memory, input, output });
        });
    });
}

struct LongRowsKernel<'a> {
    n: usize,
    plan: &'a LongPlan,
    factor: f32,
    memory: &'a mut [Line],
    input: Option<[&'a [f32]; 2]>,
    output: [&'a mut [f32]; 2],
}

impl Kernel for LongRowsKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { n, plan: LongPlan { part, places, joins }, factor, mut memory, input, output: [out_re, out_im] } =
            self;
        // Values from one part to the next: a line more, so that their lines are in different sets of the cache.
        let stride = part + Line::LEN;
        let work = take_complexes::<V>(token, &mut memory, part / V::LANES);
        let parts = [take_values(&mut memory, places.len() * stride), take_values(&mut memory, places.len() * stride)];
        let mut transform =
            RowTransform { token, plan: FftPlan::of::<V>(*part), work, factor: V::splat(token, factor) };
        let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
        for (row, (out_re, out_im)) in outputs.enumerate() {
            let [re, im] = match input {
                Some(parts) => parts.map(|values| &values[row * n..(row + 1) * n]),
                None => [&*out_re, &*out_im],
            };
            take_apart::<V>(token, re, places, parts[0], stride);
            take_apart::<V>(token, im, places, parts[1], stride);
            for place in 0..places.len() {
                let values = [&parts[0][place * stride..][..*part], &parts[1][place * stride..][..*part]];
                let into = place * part..(place + 1) * part;
                let output = [&mut out_re[into.clone()], &mut out_im[into]];
                let arrays = RowArrays::of(Some(values), [output[0], output[1]]);
                let steps = transform.plan.prefetch_steps::<V>();
                transform.run(Some(values), output, &mut NextRow::new(arrays.all(), *part, steps), false);
                let end = (place + 1) * part;
                for join in joins.iter().take_while(|join| end.is_multiple_of(4 * join.len)) {
                    let spectra = end - 4 * join.len..end;
                    join.run::<V>(token, &mut out_re[spectra.clone()], &mut out_im[spectra]);
                }
            }
        }
    }
}

/// Every P-th value of `row`, from each of the first P on, into its part of `into`, of P parts `stride` values apart.
#[inline(always)]
fn take_apart<V: Register>(token: V::Token, row: &[f32], places: &[usize], into: &mut [f32], stride: usize) {
    match (places.len(), V::LANES) {
        (4, _) => take_apart_by_four::<V>(token, row, into, stride),
        (_, 16) => take_apart_by_squares::<V, 16>(token, row, places, into, stride),
        (_, 8) => take_apart_by_squares::<V, 8>(token, row, places, into, stride),
        _ => take_apart_by_squares::<V, 4>(token, row, places, into, stride),
    }
}

/// [`take_apart`] into four parts: four registers of consecutive values hold those of each part's next register.
#[inline(always)]
fn take_apart_by_four<V: Register>(token: V::Token, row: &[f32], into: &mut [f32], stride: usize) {
    for (i, registers) in V::arrays(row).as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = registers.each_ref().map(
            #[inline(always)]
            |values| V::load(token, values),
        );
        let ((even, odd), (even_after, odd_after)) = (a.deinterleave(b), c.deinterleave(d));
        let ((first, third), (second, fourth)) = (even.deinterleave(even_after), odd.deinterleave(odd_after));
        for (part, register) in [first, second, third, fourth].into_iter().enumerate() {
            register.store(&mut V::arrays_mut(&mut into[part * stride + i * V::LANES..])[0]);
        }
    }
}

/// [`take_apart`] into a multiple of the lanes `L`, by squares of as many values.
#[inline(always)]
fn take_apart_by_squares<V: Register, const L: usize>(
    token: V::Token,
    row: &[f32],
    places: &[usize],
    into: &mut [f32],
    stride: usize,
) {
    let count = places.len();
    for (i, values) in row.chunks_exact(L * count).enumerate() {
        for (block, places) in places.as_chunks::<L>().0.iter().enumerate() {
            let mut square = [V::splat(token, 0.0); L];
            for (j, register) in square.iter_mut().enumerate() {
                *register = V::load(token, &V::arrays(&values[j * count + block * L..])[0]);
            }
            for (place, register) in places.iter().zip(transpose::<V, L>(square)) {
                register.store(&mut V::arrays_mut(&mut into[place * stride + i * L..])[0]);
            }
        }
    }
}

impl Join {
    /// Joins four spectra, one after the other in the values, in place.
    #[inline(always)]
    fn run<V: Register>(&self, token: V::Token, re: &mut [f32], im: &mut [f32]) {
        let lanes = &complexes::<V>(token, &self.lanes)[..3];
        let (re, im) = (V::arrays_mut(re), V::arrays_mut(im));
        let registers = self.starts.len();
        let (re, im) = (&mut re[..4 * registers], &mut im[..4 * registers]);
        for (k, starts) in self.starts.iter().enumerate() {
            let mut values = [Complex::zero(token); 4];
            for (p, value) in values.iter_mut().enumerate() {
                let at = p * registers + k;
                *value = Complex { re: V::load(token, &re[at]), im: V::load(token, &im[at]) };
            }
            for p in 1..4 {
                values[p] = values[p].times(splat::<V>(token, starts[p - 1]).times(lanes[p - 1]));
            }
            for (p, value) in radix::<V, 4>(values).iter().enumerate() {
                value.re.store(&mut re[p * registers + k]);
                value.im.store(&mut im[p * registers + k]);
            }
        }
    }
}
