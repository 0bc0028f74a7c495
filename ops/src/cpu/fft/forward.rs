//! Forward transform of rows of complex values.

use crate::cpu::fft::SPECIALISED_N;
use crate::cpu::fft::passes::{column_passes, lane_pass, load_pass};
use crate::cpu::fft::plan::{Plan, width};
use crate::cpu::fft::prefetch::Prefetcher;
use crate::cpu::fft::sink::StoreParts;
use crate::cpu::fft::source::Parts;
use crate::cpu::isa::lines::{Line, lines_for, take_complexes, with_lines};
use crate::cpu::isa::register::Register;
use crate::cpu::isa::{InstructionSet, Kernel, dispatch};
use crate::cpu::runtime::tasks::Tasks;

/// The forward transform of every row, times `factor`: `re`, `im` `[rows, n]` → `out_re`, `out_im` `[rows, n]`, for n from
/// [`MIN_N`](super::plan::MIN_N).
pub(in crate::cpu) fn fourier([re, im]: [&[f32]; 2], n: usize, factor: f32, [out_re, out_im]: [&mut [f32]; 2]) {
    let set = InstructionSet::current();
    let tasks = Tasks::independent(re.len() / n, n * n.ilog2() as usize / 16);
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
    tasks.run(pieces, |((re, im), (out_re, out_im))| {
        with_lines(2 * lines_for(n), |memory| {
            let (out_re, out_im) = (&mut *out_re, &mut *out_im);
            dispatch(set, width(n), FourierKernel { n, memory, re, im, out_re, out_im });
        });
        if factor != 1.0 {
            out_re.iter_mut().chain(out_im).for_each(|value| *value *= factor);
        }
    });
}

/// The rows of one task.
struct FourierKernel<'a> {
    n: usize,
    memory: &'a mut [Line],
    re: &'a [f32],
    im: &'a [f32],
    out_re: &'a mut [f32],
    out_im: &'a mut [f32],
}

impl Kernel for FourierKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        if self.n == SPECIALISED_N && V::LANES > 4 {
            self.rows::<V, SPECIALISED_N>(token);
        } else {
            self.rows::<V, 0>(token);
        }
    }
}

impl FourierKernel<'_> {
    /// `N` is the length, if the code is compiled for that alone, or 0.
    #[inline(always)]
    fn rows<V: Register, const N: usize>(self, token: V::Token) {
        let Self { n, mut memory, re, im, out_re, out_im } = self;
        let (n, plan) = (if N > 0 { N } else { n }, Plan::of::<V>(n));
        let work = take_complexes::<V>(token, &mut memory, n / V::LANES);
        let inputs = re.chunks_exact(n).zip(im.chunks_exact(n));
        let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
        for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
            let inputs = [re, im];
            let mut prefetcher = Prefetcher::new(&inputs, 0, n);
            prefetcher.advance::<V>();
            load_pass(token, plan, Parts { token, re: V::arrays(re), im: V::arrays(im) }, work);
            prefetcher.advance::<V>();
            column_passes(token, plan, work);
            prefetcher.advance::<V>();
            lane_pass(token, plan, work, StoreParts { re: V::arrays_mut(out_re), im: V::arrays_mut(out_im) });
        }
    }
}
