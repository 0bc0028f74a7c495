//! The discrete Fourier transform of rows of complex values.

use std::sync::Arc;

use crate::cpu::ButterflyTransform;
use crate::cpu::fft::passes::Put;
use crate::cpu::fft::passes::enter;
use crate::cpu::fft::passes::over_columns;
use crate::cpu::fft::passes::over_lanes;
use crate::cpu::fft::plan::MIN_N;
use crate::cpu::fft::plan::Plan;
use crate::cpu::fft::prefetch::Ahead;
use crate::cpu::fft::prefetch::ask_outputs;
use crate::cpu::fft::source::Source;
use crate::cpu::isa::InstructionSet;
use crate::cpu::isa::Task;
use crate::cpu::isa::USUAL_N;
use crate::cpu::isa::dispatch;
use crate::cpu::isa::lines::Line;
use crate::cpu::isa::lines::lines_for;
use crate::cpu::isa::lines::take_complexes;
use crate::cpu::isa::lines::with_lines;
use crate::cpu::isa::register::Complex;
use crate::cpu::isa::register::Lanes;
use crate::cpu::runtime::keyed_cache::KeyedCache;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::Direction;
use crate::twiddles::exact_twiddle_values;

/// How far twiddles may be from those of [`forward_twiddles`] and count as exact: by their own rounding, at 1.
const ROUNDING: f32 = f32::EPSILON / 2.0;

/// The direction of the discrete Fourier transform that a network is: its twiddles are as exact as f32 has them, and no
/// gate is other than 1. None also if it is too short for a transform inside a row.
pub(in crate::cpu) fn direction(network: &ButterflyTransform<'_, f32>) -> Option<Direction> {
    if network.n < MIN_N || network.gates.is_some_and(|gates| gates.iter().any(|&gate| gate != 1.0)) {
        return None;
    }
    let forward = forward_twiddles(network.n);
    let (twiddles, exact) = (network.twiddles, forward.as_flattened());
    let near = |a: f32, b: f32| (a - b).abs() <= ROUNDING;
    if all_pairs(twiddles, exact, |[re, im], [exact_re, exact_im]| near(re, exact_re) & near(im, exact_im)) {
        Some(Direction::Forward)
    } else if all_pairs(twiddles, exact, |[re, im], [exact_re, exact_im]| near(re, exact_re) & near(im, -exact_im)) {
        Some(Direction::Inverse)
    } else {
        None
    }
}

/// Whether `holds` is true of all pairs of `a` and `b`, several at a time.
fn all_pairs(a: &[f32], b: &[f32], holds: impl Fn([f32; 2], [f32; 2]) -> bool) -> bool {
    const AT_ONCE: usize = 64;
    let whole = |a: &[[f32; 2]], b: &[[f32; 2]]| a.iter().zip(b).fold(true, |all, (&a, &b)| all & holds(a, b));
    a.chunks(AT_ONCE).zip(b.chunks(AT_ONCE)).all(|(a, b)| whole(a.as_chunks().0, b.as_chunks().0))
}

/// The exact twiddles of the forward transform. Made once per process for each n.
pub(in crate::cpu) fn forward_twiddles(n: usize) -> Arc<[[f32; 2]]> {
    static TABLES: KeyedCache<usize, [[f32; 2]]> = KeyedCache::new();
    let rounded = |&[re, im]: &[f64; 2]| [re as f32, im as f32];
    TABLES.get(n, || exact_twiddle_values(n, Direction::Forward).as_chunks().0.iter().map(rounded).collect())
}

/// The unnormalised forward transform of every row, for lengths that the kernels [take](super::takes): `re`, `im` `[rows, n]` →
/// `out_re`, `out_im` `[rows, n]`.
pub(in crate::cpu) fn fourier(re: &[f32], im: &[f32], n: usize, out_re: &mut [f32], out_im: &mut [f32]) {
    let set = InstructionSet::current();
    let tasks = Tasks::independent(re.len() / n, n * n.ilog2() as usize / 16);
    let len = tasks.rows * n;
    let pieces = (re.chunks(len).zip(im.chunks(len))).zip(out_re.chunks_mut(len).zip(out_im.chunks_mut(len)));
    tasks.run(pieces, |((re, im), (out_re, out_im))| {
        with_lines(2 * lines_for(n), |memory| {
            dispatch(set, n, Fourier { n, memory, re, im, out_re, out_im });
        });
    });
}

struct Fourier<'a> {
    n: usize,
    memory: &'a mut [Line],
    re: &'a [f32],
    im: &'a [f32],
    out_re: &'a mut [f32],
    out_im: &'a mut [f32],
}

impl Task for Fourier<'_> {
    #[inline(always)]
    fn run<V: Lanes>(self) {
        if self.n == USUAL_N && V::COUNT > 4 { self.rows::<V, USUAL_N>() } else { self.rows::<V, 0>() }
    }
}

impl Fourier<'_> {
    /// `N` is the length, if the code is to be made for that alone, or 0.
    #[inline(always)]
    fn rows<V: Lanes, const N: usize>(self) {
        let Self { n, mut memory, re, im, out_re, out_im } = self;
        let (n, plan) = (if N > 0 { N } else { n }, Plan::of::<V>(n));
        let work = take_complexes::<V>(&mut memory, n / V::COUNT);
        let inputs = re.chunks_exact(n).zip(im.chunks_exact(n));
        let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
        for ((re, im), (out_re, out_im)) in inputs.zip(outputs) {
            let inputs = [re, im];
            let mut ahead = Ahead::new(&inputs, 0, n);
            ahead.ask::<V>();
            enter(plan, Parts { re: V::arrays(re), im: V::arrays(im) }, work);
            ahead.ask::<V>();
            over_columns(plan, work);
            ahead.ask::<V>();
            over_lanes(plan, work, PutParts { re: V::arrays_mut(out_re), im: V::arrays_mut(out_im) });
        }
    }
}

/// Real and imaginary parts apart.
#[derive(Clone, Copy)]
struct Parts<'a, A> {
    re: &'a [A],
    im: &'a [A],
}

impl<V: Lanes> Source<V> for Parts<'_, V::Array> {
    #[inline(always)]
    fn column(&self, c: usize) -> Complex<V> {
        Complex { re: V::load(&self.re[c]), im: V::load(&self.im[c]) }
    }
}

/// Writes real and imaginary parts apart.
struct PutParts<'a, A> {
    re: &'a mut [A],
    im: &'a mut [A],
}

impl<V: Lanes> Put<V> for PutParts<'_, V::Array> {
    #[inline(always)]
    fn put(&mut self, at: usize, z: Complex<V>) {
        ask_outputs::<V>(self.re, self.im, at);
        z.re.store(&mut self.re[at]);
        z.im.store(&mut self.im[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_twiddles_are_known_and_others_are_not() {
        for n in (6..=16).map(|stages| 1 << stages) {
            let forward: Vec<f32> =
                firefly_reference::butterfly::exact_twiddles(n).iter().map(|&value| value as f32).collect();
            let of = |twiddles: &[f32], gates: Option<&[f32]>| direction(&ButterflyTransform { n, twiddles, gates });
            assert_eq!(of(&forward, None), Some(Direction::Forward));
            let inverse: Vec<f32> = forward.as_chunks::<2>().0.iter().flat_map(|&[re, im]| [re, -im]).collect();
            assert_eq!(of(&inverse, None), Some(Direction::Inverse));
            for (twiddles, found) in [(&forward, Direction::Forward), (&inverse, Direction::Inverse)] {
                let mut gates = vec![1.0; forward.len() / 2];
                assert_eq!(of(twiddles, Some(&gates)), Some(found));
                let last = gates.len() - 1;
                gates[last] = 0.0;
                assert_eq!(of(twiddles, Some(&gates)), None);
                for at in [0, n + 2, twiddles.len() - 1] {
                    let mut learned = twiddles.clone();
                    learned[at] += 1e-3;
                    assert_eq!(of(&learned, None), None, "n {n}, value {at}");
                }
            }
        }
        let short = [1.0; 3 * 8];
        assert_eq!(direction(&ButterflyTransform { n: 8, twiddles: &short, gates: None }), None);
    }
}
