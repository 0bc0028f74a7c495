//! Discrete Fourier transforms in f32, a vector across registers.
//!
//! A transform of n values in registers of L lanes is one over n / L columns, then one over the L lanes: see
//! [`passes`]. The tables for it are a [`FftPlan`](plan::FftPlan).

pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
pub(in crate::cpu) mod prefetch;
pub(in crate::cpu) mod radix;
pub(in crate::cpu) mod source;
#[cfg(test)]
mod tests;
pub(in crate::cpu) mod unpack;

use self::passes::{column_passes, lane_pass, load_pass};
use self::plan::{FftPlan, width};
use self::prefetch::{NextRow, OUTPUT_DISTANCE, Prefetch, Prefetcher, RowArrays, next_row_pays};
use self::source::{SplitColumns, StoreParts};
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, with_lines};
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::runtime::tasks::Tasks;

/// Calls `$call` with the constant `$N`: the length `$n`, if there is code of its own for it in registers of `$lanes`
/// lanes, in which the compiler knows how long every loop and slice is; otherwise 0.
macro_rules! with_length {
    ($n:expr, $lanes:expr, |$N:ident| $call:expr) => {
        match $lanes {
            16 => with_length!(@one_of 256 512 1024 2048 4096: $n, $N, $call),
            8 => with_length!(@one_of 64 128 256: $n, $N, $call),
            _ => with_length!(@one_of: $n, $N, $call),
        }
    };
    (@one_of $($length:literal)*: $n:expr, $N:ident, $call:expr) => {
        match $n {
            $($length => {
                const $N: usize = $length;
                $call
            })*
            _ => {
                const $N: usize = 0;
                $call
            }
        }
    };
}
pub(in crate::cpu) use with_length;

/// The shortest rows after which the next row is prefetched. Of shorter ones, what is a fixed distance ahead.
const fn min_next_row<V: Register>() -> usize {
    if V::LANES == 16 { 512 } else { 2048 }
}

/// The forward transform of every row, times `factor`: `input` `[rows, n]`, real and imaginary parts, or the values
/// that `output` has → `output` `[rows, n]`, for n from [`MIN_N`](plan::MIN_N).
pub(in crate::cpu) fn fourier(input: Option<[&[f32]; 2]>, n: usize, factor: f32, output: [&mut [f32]; 2]) {
    let set = InstructionSet::current();
    let tasks = Tasks::independent(output[0].len() / n, n * n.ilog2() as usize / 16);
    let is_large = next_row_pays(output[0].len());
    tasks.run(tasks.pieces(input, n, output, n), |(input, output)| {
        with_lines(2 * lines_for(n), |memory| {
            dispatch(set, width(n), FourierKernel { n, factor, is_large, memory, input, output });
        });
    });
}

struct FourierKernel<'a> {
    n: usize,
    factor: f32,
    /// Whether the call's memory is more than the caches of a core hold.
    is_large: bool,
    memory: &'a mut [Line],
    input: Option<[&'a [f32]; 2]>,
    output: [&'a mut [f32]; 2],
}

impl Kernel for FourierKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        with_length!(self.n, V::LANES, |N| self.rows::<V, N>(token));
    }
}

impl FourierKernel<'_> {
    /// `N` is the length, if the code is compiled for that alone, or 0.
    #[inline(always)]
    fn rows<V: Register, const N: usize>(self, token: V::Token) {
        let Self { n, factor, is_large, mut memory, input, output: [out_re, out_im] } = self;
        let (n, plan) = (if N > 0 { N } else { n }, FftPlan::of::<V>(n));
        let work = take_complexes::<V>(token, &mut memory, n / V::LANES);
        let mut row = RowTransform { token, plan, work, factor: V::splat(token, factor) };
        let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
        for (at, (out_re, out_im)) in (0..).step_by(n).zip(outputs) {
            let input = input.map(|parts| parts.map(|part| &part[at..at + n]));
            let arrays = RowArrays::of(input, [out_re, out_im]);
            let output = [out_re, out_im];
            if n >= min_next_row::<V>() && is_large {
                // A sink that prefetches does so `OUTPUT_DISTANCE` values ahead. Where that is the length of a row, it is
                // the next row, in the order of the stores, and only inputs are left.
                let prefetches_outputs = n == OUTPUT_DISTANCE && input.is_some();
                let prefetched = if prefetches_outputs { arrays.read() } else { arrays.all() };
                let mut next = NextRow::new(prefetched, n, plan.prefetch_steps::<V>());
                row.run(input, output, &mut next, prefetches_outputs);
            } else {
                row.run(input, output, &mut Prefetcher::new(arrays.read(), 0, n), input.is_some());
            }
        }
    }
}

/// The transform of a row, times a factor.
pub(in crate::cpu) struct RowTransform<'a, V: Register> {
    pub token: V::Token,
    pub plan: &'a FftPlan,
    /// A register for each of the plan's columns.
    pub work: &'a mut [Complex<V>],
    pub factor: V,
}

impl<V: Register> RowTransform<'_, V> {
    /// Transforms `input`, or else the values that the output has.
    #[inline(always)]
    pub fn run(
        &mut self,
        input: Option<[&[f32]; 2]>,
        [out_re, out_im]: [&mut [f32]; 2],
        prefetcher: &mut impl Prefetch,
        prefetches_outputs: bool,
    ) {
        let &mut Self { token, plan, ref mut work, factor } = self;
        let [re, im] = input.unwrap_or([out_re, out_im]);
        load_pass(token, plan, SplitColumns { token, re: V::arrays(re), im: V::arrays(im) }, work, prefetcher);
        column_passes(token, plan, work, prefetcher);
        let (re, im) = (V::arrays_mut(out_re), V::arrays_mut(out_im));
        lane_pass(token, plan, work, StoreParts { re, im, factor, prefetches: prefetches_outputs }, prefetcher);
    }
}
