//! Transforms of complex rows in f32 that fit into registers, which hold them from load to store.
//!
//! Four registers are transformed at once: four rows of L values, L the lanes, or one row of 4 L. A row of twice as
//! many values is split into its values of even and of odd number first, and a last pass joins their two spectra
//! (decimation in time). A register with two rows transforms twice as many rows.
//!
//! Value j = L c + 4 h + l is lane l of quad h of register c. A pass joins values of different registers. Between
//! passes registers change places with quads, or with the lanes of quads, so that each of the digits c, h and l is the
//! number of the register once; the bins come out in natural order.

use std::sync::Arc;

use super::algorithm::Filled;
use super::plan::turn;
use crate::cache::Cache;
use crate::cpu::fft::prefetch::INPUT_DISTANCE;
use crate::cpu::fft::radix::radix;
use crate::cpu::isa::lines::{Line, RegisterShape, complexes};
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{InstructionSet, Kernel, simd_enabled};
use crate::cpu::runtime::tasks::Tasks;

const GROUP: usize = 4;
const MAX_REGISTERS: usize = 2 * GROUP;
const MAX_GROUP: usize = MAX_REGISTERS * MAX_LANES;

/// Values of a call's output from which on it prefetches: fewer, read and written, are in the caches.
const MIN_PREFETCHED: usize = 1 << 19;

/// Twiddles of rows of n values, a register of lanes each.
struct ShortPlan {
    /// Before the last pass over the L values of a row of registers: see [`four_rows`] and [`lane_digits`].
    within: Vec<Line>,
    /// After the pass over the four registers of a row: exp(-2πi k j / 4 L) for k from 1 to 3, j the lane.
    across: Vec<Line>,
    /// On the spectrum of values of odd number: exp(-2πi k / n) for each of its bins k. None if a row is not split.
    joining: Vec<Line>,
}

/// The registers that short rows of `n` values fill on this thread, if they are short enough.
pub(super) fn filled_by(n: usize) -> Option<Filled> {
    if !simd_enabled() || !n.is_power_of_two() {
        return None;
    }
    let fills = |filled: &Filled| (1..=MAX_REGISTERS).contains(&(n / filled.shape().lanes));
    [Filled::Sixteen, Filled::Eight].into_iter().find(fills)
}

impl ShortPlan {
    fn of(n: usize, shape: RegisterShape) -> Arc<Self> {
        static PLANS: Cache<(usize, RegisterShape), Arc<ShortPlan>> = Cache::new();
        PLANS.get((n, shape), || Arc::new(Self::new(n, shape)))
    }

    fn new(n: usize, shape: RegisterShape) -> Self {
        let lanes = shape.lanes;
        let registers = n / lanes;
        // Values that the passes over four registers transform, and how many such transforms a row is split into.
        let (len, parts) = if registers < GROUP { (lanes, registers) } else { (GROUP * lanes, registers / GROUP) };
        let within = match lanes {
            // Bin digit k of register k, value digit l of lane l or, where rows are the lanes, of quad l.
            16 if len == lanes => shape.lines(1..4, |k, lane| turn(k * (lane % 4), 16)),
            16 => shape.lines(1..4, |k, lane| turn(k * (lane / 4), 16)),
            // Bin 2 k + h of values of odd number.
            8 => shape.lines(0..2, |k, lane| turn(2 * k + lane / 4, 8)),
            _ => Vec::new(),
        };
        let across = shape.lines(1..4, |k, lane| turn(k * lane, GROUP * lanes));
        let joining = shape.lines(0..(parts - 1) * len / lanes, |register, lane| turn(register * lanes + lane, n));
        Self { within, across, joining }
    }
}

/// The forward transform of every row of `input` `[rows, n]`, or of the rows that `output` has, times `factor`.
pub(super) fn transform_short_rows(
    input: Option<[&[f32]; 2]>,
    n: usize,
    filled: Filled,
    factor: f32,
    output: [&mut [f32]; 2],
) {
    let shape = filled.shape();
    let plan = ShortPlan::of(n, shape);
    let rows_at_once = shape.rows * (GROUP * shape.lanes / n).max(1);
    let tasks = Tasks::independent_groups(output[0].len() / n, n * n.ilog2() as usize / 16, rows_at_once);
    // In place, the processor foresees the few streams of memory.
    let prefetches = input.is_some() && n <= GROUP * shape.lanes && output[0].len() >= MIN_PREFETCHED;
    let set = InstructionSet::current();
    tasks.run(tasks.pieces(input, n, output, n), |(input, output)| {
        filled.dispatch(set, ShortRowsKernel { n, plan: &plan, factor, prefetches, input, output });
    });
}

struct ShortRowsKernel<'a> {
    n: usize,
    plan: &'a ShortPlan,
    factor: f32,
    prefetches: bool,
    input: Option<[&'a [f32]; 2]>,
    output: [&'a mut [f32]; 2],
}

impl Kernel for ShortRowsKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        match self.n / V::LANES {
            1 => self.groups::<V, 1, 4>(token),
            2 => self.groups::<V, 2, 4>(token),
            4 => self.groups::<V, 4, 4>(token),
            _ => self.groups::<V, 8, 8>(token),
        }
    }
}

impl ShortRowsKernel<'_> {
    /// Transforms `ALL` registers at once, `REGISTERS` of them per row.
    #[inline(always)]
    fn groups<V: Register, const REGISTERS: usize, const ALL: usize>(self, token: V::Token) {
        let Self { plan, factor, prefetches, input, output: [out_re, out_im], .. } = self;
        let twiddles = ShortTwiddles {
            within: complexes::<V>(token, &plan.within),
            across: complexes::<V>(token, &plan.across),
            joining: complexes::<V>(token, &plan.joining),
        };
        let factor = V::splat(token, factor);
        let len = ALL * V::LANES * V::ROWS;
        let (mut out_re, mut out_im) = (out_re.chunks_exact_mut(len), out_im.chunks_exact_mut(len));
        for (i, (out_re, out_im)) in out_re.by_ref().zip(out_im.by_ref()).enumerate() {
            let [re, im] = match input {
                Some([re, im]) => [&re[i * len..(i + 1) * len], &im[i * len..(i + 1) * len]],
                None => [&*out_re, &*out_im],
            };
            // Lines of later groups, of both arrays: four streams are more than the processor foresees.
            if prefetches {
                for line in (0..len).step_by(Line::LEN) {
                    V::prefetch(re.as_ptr().wrapping_add(INPUT_DISTANCE + line));
                    V::prefetch(im.as_ptr().wrapping_add(INPUT_DISTANCE + line));
                    V::prefetch(out_re.as_ptr().wrapping_add(INPUT_DISTANCE + line));
                    V::prefetch(out_im.as_ptr().wrapping_add(INPUT_DISTANCE + line));
                }
            }
            let values = load::<V, REGISTERS, ALL>(token, re, im);
            store::<V, REGISTERS, ALL>(transform::<V, REGISTERS, ALL>(values, &twiddles), factor, out_re, out_im);
        }
        // The rows left over, in a group filled up with zeros.
        let (out_re, out_im) = (out_re.into_remainder(), out_im.into_remainder());
        if !out_re.is_empty() {
            let mut group = [[0.0; MAX_GROUP]; 2];
            let [group_re, group_im] = &mut group;
            let [re, im] = match input {
                Some([re, im]) => [&re[re.len() - out_re.len()..], &im[im.len() - out_im.len()..]],
                None => [&*out_re, &*out_im],
            };
            group_re[..re.len()].copy_from_slice(re);
            group_im[..im.len()].copy_from_slice(im);
            let values = load::<V, REGISTERS, ALL>(token, group_re, group_im);
            let values = transform::<V, REGISTERS, ALL>(values, &twiddles);
            store::<V, REGISTERS, ALL>(values, factor, group_re, group_im);
            out_re.copy_from_slice(&group_re[..out_re.len()]);
            out_im.copy_from_slice(&group_im[..out_im.len()]);
        }
    }
}

/// Value at which register `i` of a group begins, in the first of its rows; the second row is the next one.
#[inline(always)]
fn start<V: Register, const REGISTERS: usize>(i: usize) -> usize {
    (i / REGISTERS * V::ROWS * REGISTERS + i % REGISTERS) * V::LANES
}

/// The registers of a group of rows.
#[inline(always)]
fn load<V: Register, const REGISTERS: usize, const ALL: usize>(
    token: V::Token,
    re: &[f32],
    im: &[f32],
) -> [Complex<V>; ALL] {
    // Slices of a length that the compiler knows: no access below is checked.
    let len = ALL * V::LANES * V::ROWS;
    let (re, im) = (&re[..len], &im[..len]);
    let mut values = [Complex::zero(token); ALL];
    for (i, value) in values.iter_mut().enumerate() {
        // A register with two rows has the same values of the row that follows.
        let first = start::<V, REGISTERS>(i);
        let second = first + (V::ROWS - 1) * REGISTERS * V::LANES;
        let rows = [first..first + V::LANES, second..second + V::LANES];
        *value = Complex {
            re: V::load_rows(
                token,
                rows.clone().map(
                    #[inline(always)]
                    |row| &V::arrays(&re[row])[0],
                ),
            ),
            im: V::load_rows(
                token,
                rows.map(
                    #[inline(always)]
                    |row| &V::arrays(&im[row])[0],
                ),
            ),
        };
    }
    values
}

/// Stores the registers of a group, times `factor`.
#[inline(always)]
fn store<V: Register, const REGISTERS: usize, const ALL: usize>(
    values: [Complex<V>; ALL],
    factor: V,
    re: &mut [f32],
    im: &mut [f32],
) {
    let len = ALL * V::LANES * V::ROWS;
    let (re, im) = (&mut re[..len], &mut im[..len]);
    for (i, value) in values.iter().enumerate() {
        let at = start::<V, REGISTERS>(i);
        store_register(value.re * factor, &mut re[at..], REGISTERS * V::LANES);
        store_register(value.im * factor, &mut im[at..], REGISTERS * V::LANES);
    }
}

/// Stores every row of a register, the second `n` values after the first.
#[inline(always)]
fn store_register<V: Register>(value: V, into: &mut [f32], n: usize) {
    if V::ROWS == 1 {
        return value.store(&mut V::arrays_mut(&mut into[..V::LANES])[0]);
    }
    let (first, second) = into.split_at_mut(n);
    let rows = [first, second].map(
        #[inline(always)]
        |row| &mut V::arrays_mut(&mut row[..V::LANES])[0],
    );
    value.store_rows(rows);
}

/// The registers of a [`ShortPlan`].
struct ShortTwiddles<'a, V> {
    within: &'a [Complex<V>],
    across: &'a [Complex<V>],
    joining: &'a [Complex<V>],
}

/// The transforms of the rows in `values`, `REGISTERS` registers each.
#[inline(always)]
fn transform<V: Register, const REGISTERS: usize, const ALL: usize>(
    mut values: [Complex<V>; ALL],
    twiddles: &ShortTwiddles<'_, V>,
) -> [Complex<V>; ALL] {
    let z = &mut values;
    match REGISTERS {
        // A row per register, four of them transposed, so that the passes over lanes are passes over registers.
        1 => [z[0], z[1], z[2], z[3]] = four_rows([z[0], z[1], z[2], z[3]], twiddles),
        // Two registers per row: values of even and of odd number are rows of one register, whose spectra are joined.
        2 => {
            let ([a, b], [c, d]) = (split(z[0], z[1]), split(z[2], z[3]));
            let [a, b, c, d] = four_rows([a, b, c, d], twiddles);
            [z[0], z[1]] = join([a], [b], twiddles.joining);
            [z[2], z[3]] = join([c], [d], twiddles.joining);
        }
        // Four registers per row: a pass over registers, then one over lanes.
        4 => [z[0], z[1], z[2], z[3]] = one_row([z[0], z[1], z[2], z[3]], twiddles),
        // Eight: values of even and of odd number are rows of four registers.
        _ => {
            let ([a, b], [c, d]) = (split(z[0], z[1]), split(z[2], z[3]));
            let ([e, f], [g, h]) = (split(z[4], z[5]), split(z[6], z[7]));
            let (even, odd) = (one_row([a, c, e, g], twiddles), one_row([b, d, f, h], twiddles));
            [z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]] = join(even, odd, twiddles.joining);
        }
    }
    values
}

/// The values of even and of odd number in two registers.
#[inline(always)]
fn split<V: Register>(first: Complex<V>, second: Complex<V>) -> [Complex<V>; 2] {
    let (even_re, odd_re) = first.re.deinterleave(second.re);
    let (even_im, odd_im) = first.im.deinterleave(second.im);
    [Complex { re: even_re, im: even_im }, Complex { re: odd_re, im: odd_im }]
}

/// The spectrum of a row, of `ALL` registers, from those of its values of even and of odd number.
#[inline(always)]
fn join<V: Register, const HALF: usize, const ALL: usize>(
    even: [Complex<V>; HALF],
    odd: [Complex<V>; HALF],
    twiddles: &[Complex<V>],
) -> [Complex<V>; ALL] {
    let twiddles = &twiddles[..HALF];
    let mut joined = [even[0]; ALL];
    for k in 0..HALF {
        let odd = odd[k].times(twiddles[k]);
        (joined[k], joined[HALF + k]) = (even[k].plus(odd), even[k].minus(odd));
    }
    joined
}

/// Transforms of four rows of `LANES` values, a register each.
#[inline(always)]
fn four_rows<V: Register>(rows: [Complex<V>; 4], twiddles: &ShortTwiddles<'_, V>) -> [Complex<V>; 4] {
    match V::LANES {
        16 => {
            // Value digits h by quads, then l by lanes; rows are the quads meanwhile.
            let quads = radix(Complex::exchange_quads(rows));
            let lanes = Complex::transpose_quads(times_from_second(quads, twiddles.within));
            Complex::exchange_quads(radix(lanes))
        }
        8 => Complex::transpose_quads(Complex::exchange_quads(lane_digits(Complex::transpose_quads(rows), twiddles))),
        _ => Complex::transpose_quads(radix(Complex::transpose_quads(rows))),
    }
}

/// The transform of a row of `4 LANES` values.
#[inline(always)]
fn one_row<V: Register>(row: [Complex<V>; 4], twiddles: &ShortTwiddles<'_, V>) -> [Complex<V>; 4] {
    // The digit of registers, whose bins become the lanes.
    let columns = Complex::transpose_quads(times_from_second(radix(row), twiddles.across));
    match V::LANES {
        16 => {
            let quads = radix(Complex::exchange_quads(columns));
            radix(Complex::exchange_quads(times_from_second(quads, twiddles.within)))
        }
        8 => {
            let [a, b, c, d] = lane_digits(columns, twiddles);
            [a, c, b, d]
        }
        _ => radix(columns),
    }
}

/// With two quads: transforms over the values of quad h of register l, 4 h + l of 8. Quad s of register 2 k + q has bin
/// 2 k + s + 4 q.
#[inline(always)]
fn lane_digits<V: Register>(values: [Complex<V>; 4], twiddles: &ShortTwiddles<'_, V>) -> [Complex<V>; 4] {
    // Values 0, 4, 2 and 6, in the other quad the odd ones.
    let [a, b, c, d] = Complex::exchange_quads(values);
    let [even, odd, even_beyond, odd_beyond] = Complex::exchange_quads(radix([a, c, b, d]));
    let odd = odd.times(twiddles.within[0]);
    let odd_beyond = odd_beyond.times(twiddles.within[1]);
    [even.plus(odd), even.minus(odd), even_beyond.plus(odd_beyond), even_beyond.minus(odd_beyond)]
}

/// All registers but the first, times a twiddle each.
#[inline(always)]
fn times_from_second<V: Register>([a, b, c, d]: [Complex<V>; 4], twiddles: &[Complex<V>]) -> [Complex<V>; 4] {
    [a, b.times(twiddles[0]), c.times(twiddles[1]), d.times(twiddles[2])]
}
