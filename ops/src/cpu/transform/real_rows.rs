//! Transforms of real rows in f32 of an even length n, each as one of n / 2 complex values: sample 2 j is the real part
//! of value j, sample 2 j + 1 its imaginary part.

use std::sync::Arc;

use super::OneSidedFactors;
use super::algorithm::ComplexAlgorithm;
use super::bluestein::load;
use super::plan::turn;
use crate::cache::Cache;
use crate::cpu::isa::register::{Complex, MAX_LANES, Register};
use crate::cpu::isa::{Kernel, dispatch_widest};
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::runtime::with_vector;
use crate::fast_length::next_fast_len;
use crate::options::{Direction, FftOptions};

/// Complex values that are transformed at a time, at least a row: few enough for the caches of a core.
const BLOCK: usize = 4096;

/// Real rows of `n` samples, as complex rows of half as many values.
pub(in crate::cpu) struct RealRows {
    n: usize,
    /// -i exp(-2πi k / n) for k up to n / 2, real and imaginary parts.
    half_turns: [Vec<f32>; 2],
}

impl RealRows {
    /// The rows of `n` samples, if complex rows of half the length fill registers on this thread.
    pub fn of(n: usize) -> Option<Arc<Self>> {
        static ROWS: Cache<usize, Arc<RealRows>> = Cache::new();
        let is_taken = n.is_multiple_of(2) && ComplexAlgorithm::of_whole_rows(n / 2).is_some();
        is_taken.then(|| ROWS.get(n, || Arc::new(Self::new(n))))
    }

    /// The rows of the fewest samples from `n` on that have no prime factor above 7 and are taken.
    pub fn from(n: usize) -> Option<Arc<Self>> {
        let registers = n.div_ceil(2 * MAX_LANES);
        // Where the next length does not fill registers, or is too long for mixed radices, a power of two may.
        let lengths = [next_fast_len(registers), registers.next_power_of_two()];
        lengths.into_iter().find_map(|registers| Self::of(2 * MAX_LANES * registers))
    }

    fn new(n: usize) -> Self {
        // -i is a quarter of a turn.
        let turns: Vec<_> = (0..=n / 2).map(|k| turn(4 * k + n, 4 * n)).collect();
        Self { n, half_turns: [0, 1].map(|part| turns.iter().map(|turn| turn[part]).collect()) }
    }

    /// Values of a complex row.
    pub fn points(&self) -> usize {
        self.n / 2
    }

    /// -i exp(-πi k / N) for the bins k of a complex row of N values, and for N: real and imaginary parts.
    pub fn half_turns(&self) -> [&[f32]; 2] {
        self.half_turns.each_ref().map(Vec::as_slice)
    }

    /// Work of a row in the unit of [`Tasks`], a radix-2 butterfly.
    fn work(&self) -> usize {
        self.n * self.n.ilog2() as usize / 16
    }

    /// The transform of as many complex values, and how many rows are transformed at a time.
    fn transform(&self) -> (FftOptions, usize) {
        let points = self.points();
        (FftOptions::new(points, Direction::Forward), (BLOCK / points).max(1))
    }

    /// As [`lowest_bins`](super::lowest_bins()).
    pub fn lowest_bins(
        &self,
        signal: &[f32],
        width: usize,
        options: &FftOptions,
        kept: usize,
        [out_re, out_im]: [&mut [f32]; 2],
    ) {
        let factors = OneSidedFactors::<f32>::of(options, Direction::Forward);
        let (transform, at_once) = self.transform();
        let points = transform.length;
        let tasks = Tasks::independent(out_re.len() / kept, self.work());
        let outputs = out_re.chunks_mut(tasks.rows * kept).zip(out_im.chunks_mut(tasks.rows * kept));
        tasks.run(signal.chunks(tasks.rows * width).zip(outputs), |(signal, (out_re, out_im))| {
            let rows = out_re.len() / kept;
            with_vector(|memory| {
                memory.resize(2 * points * at_once.min(rows), 0.0);
                let signals = signal.chunks(at_once * width);
                let outputs = out_re.chunks_mut(at_once * kept).zip(out_im.chunks_mut(at_once * kept));
                for (signal, (out_re, out_im)) in signals.zip(outputs) {
                    let count = out_re.len() / kept;
                    let (re, im) = memory[..2 * points * count].split_at_mut(points * count);
                    dispatch_widest(SplitKernel { signal, factors: None, width, points, values: [&mut *re, &mut *im] });
                    super::complex_fft_in_place(&transform, [&mut *re, &mut *im]);
                    dispatch_widest(UnpackKernel {
                        rows: self,
                        values: [re, im],
                        factors,
                        kept,
                        bins: [out_re, out_im],
                    });
                }
            });
        });
    }

    /// As [`inverse_real_fft`](super::inverse_real_fft()).
    pub fn inverse(&self, [re, im]: [&[f32]; 2], width: usize, options: &FftOptions, signal: &mut [f32]) {
        let factors = OneSidedFactors::<f32>::of(options, Direction::Inverse);
        let (transform, at_once) = self.transform();
        let points = transform.length;
        let tasks = Tasks::independent(signal.len() / self.n, self.work());
        let inputs = re.chunks(tasks.rows * width).zip(im.chunks(tasks.rows * width));
        tasks.run(inputs.zip(signal.chunks_mut(tasks.rows * self.n)), |((re, im), signal)| {
            let rows = signal.len() / self.n;
            with_vector(|memory| {
                memory.resize((2 * points * at_once.min(rows)) + 2 * (points + 1), 0.0);
                let (spectrum, memory) = memory.split_at_mut(2 * (points + 1));
                let inputs = re.chunks(at_once * width).zip(im.chunks(at_once * width));
                for ((in_re, in_im), signal) in inputs.zip(signal.chunks_mut(at_once * self.n)) {
                    let count = signal.len() / self.n;
                    let (re, im) = memory[..2 * points * count].split_at_mut(points * count);
                    let values = [&mut *re, &mut *im];
                    dispatch_widest(PackKernel { rows: self, input: [in_re, in_im], width, factors, spectrum, values });
                    // With real and imaginary parts exchanged, the inverse transform.
                    super::complex_fft_in_place(&transform, [&mut *im, &mut *re]);
                    dispatch_widest(JoinKernel { values: [re, im], factors: None, points, length: self.n, signal });
                }
            });
        });
    }
}

/// Computes the lowest bins of rows from the transforms of their complex values, times the factors.
struct UnpackKernel<'a> {
    rows: &'a RealRows,
    values: [&'a [f32]; 2],
    factors: OneSidedFactors<f32>,
    kept: usize,
    bins: [&'a mut [f32]; 2],
}

impl Kernel for UnpackKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { rows, values: [re, im], factors, kept, bins: [out_re, out_im] } = self;
        let points = rows.n / 2;
        let [turns_re, turns_im] = rows.half_turns();
        let interior = factors.interior.map(|factor| 0.5 * factor);
        let [factor_re, factor_im] = interior.map(|factor| V::splat(token, factor));
        let rows = re.chunks_exact(points).zip(im.chunks_exact(points));
        let outputs = out_re.chunks_exact_mut(kept).zip(out_im.chunks_exact_mut(kept));
        for ((re, im), (out_re, out_im)) in rows.zip(outputs) {
            // With Z the transform of N = n / 2 values: 2 X[k] = S + T, where S = Z[k] + Z[N - k]*,
            // T = -i exp(-2πi k / n) (Z[k] - Z[N - k]*).
            let whole = (kept.min(points) - 1) / V::LANES;
            for k in (0..whole).map(|register| 1 + register * V::LANES) {
                let (a, b) = (load::<V>(token, re, im, k), mirrored::<V>(token, re, im, points - k));
                let s = Complex { re: a.re + b.re, im: a.im - b.im };
                let t = Complex { re: a.re - b.re, im: a.im + b.im };
                let x = s.plus(t.times(load(token, turns_re, turns_im, k)));
                (x.re * factor_re).store(&mut V::arrays_mut(&mut out_re[k..])[0]);
                (x.im * factor_im).store(&mut V::arrays_mut(&mut out_im[k..])[0]);
            }
            for k in 1 + whole * V::LANES..kept.min(points) {
                let (s_re, s_im) = (re[k] + re[points - k], im[k] - im[points - k]);
                let (t_re, t_im) = (re[k] - re[points - k], im[k] + im[points - k]);
                out_re[k] = (s_re + (t_re * turns_re[k] - t_im * turns_im[k])) * interior[0];
                out_im[k] = (s_im + (t_re * turns_im[k] + t_im * turns_re[k])) * interior[1];
            }
            (out_re[0], out_im[0]) = ((re[0] + im[0]) * factors.ends, 0.0);
            if kept > points {
                (out_re[points], out_im[points]) = ((re[0] - im[0]) * factors.ends, 0.0);
            }
        }
    }
}

/// Complex values whose transforms are real rows, from the rows' lower bins, cut or padded, times the factors.
struct PackKernel<'a> {
    rows: &'a RealRows,
    input: [&'a [f32]; 2],
    width: usize,
    factors: OneSidedFactors<f32>,
    /// Room for the bins of a row, `[2, n / 2 + 1]`, that are 0 where the input has none.
    spectrum: &'a mut [f32],
    values: [&'a mut [f32]; 2],
}

impl Kernel for PackKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { rows, input: [in_re, in_im], width, factors, spectrum, values: [out_re, out_im] } = self;
        let points = rows.n / 2;
        let [turns_re, turns_im] = rows.half_turns();
        let interior = factors.interior;
        let [factor_re, factor_im] = interior.map(|factor| V::splat(token, factor));
        let (padded_re, padded_im) = spectrum.split_at_mut(points + 1);
        let inputs = in_re.chunks_exact(width).zip(in_im.chunks_exact(width));
        let outputs = out_re.chunks_exact_mut(points).zip(out_im.chunks_exact_mut(points));
        for ((mut re, mut im), (out_re, out_im)) in inputs.zip(outputs) {
            if width <= points {
                padded_re[..width].copy_from_slice(re);
                padded_im[..width].copy_from_slice(im);
                (re, im) = (&*padded_re, &*padded_im);
            }
            // Z[k] = S + U, where S = X[k] + X[N - k]*, U = i exp(2πi k / n) (X[k] - X[N - k]*).
            let whole = (points - 1) / V::LANES;
            for k in (0..whole).map(|register| 1 + register * V::LANES) {
                let (a, b) = (load::<V>(token, re, im, k), mirrored::<V>(token, re, im, points - k));
                let turn = load::<V>(token, turns_re, turns_im, k);
                let turn = Complex { re: turn.re, im: V::splat(token, 0.0) - turn.im };
                let s = Complex { re: (a.re + b.re) * factor_re, im: (a.im - b.im) * factor_im };
                let t = Complex { re: (a.re - b.re) * factor_re, im: (a.im + b.im) * factor_im };
                let z = s.plus(t.times(turn));
                z.re.store(&mut V::arrays_mut(&mut out_re[k..])[0]);
                z.im.store(&mut V::arrays_mut(&mut out_im[k..])[0]);
            }
            for k in 1 + whole * V::LANES..points {
                let (s_re, s_im) = ((re[k] + re[points - k]) * interior[0], (im[k] - im[points - k]) * interior[1]);
                let (t_re, t_im) = ((re[k] - re[points - k]) * interior[0], (im[k] + im[points - k]) * interior[1]);
                out_re[k] = s_re + (t_re * turns_re[k] + t_im * turns_im[k]);
                out_im[k] = s_im + (t_im * turns_re[k] - t_re * turns_im[k]);
            }
            // The imaginary parts of DC and Nyquist do not count.
            let (dc, nyquist) = (re[0] * factors.ends, re[points] * factors.ends);
            (out_re[0], out_im[0]) = (dc + nyquist, dc - nyquist);
        }
    }
}

/// The complex values from `at` down.
#[inline(always)]
pub(in crate::cpu) fn mirrored<V: Register>(token: V::Token, re: &[f32], im: &[f32], at: usize) -> Complex<V> {
    let z = load::<V>(token, re, im, at + 1 - V::LANES);
    Complex { re: z.re.reverse(), im: z.im.reverse() }
}

/// Takes rows apart, times factors where there are any, cut or padded with zeros to `points` complex values.
pub(in crate::cpu) struct SplitKernel<'a> {
    /// `[rows, width]`.
    pub signal: &'a [f32],
    /// `[rows, width]`.
    pub factors: Option<&'a [f32]>,
    pub width: usize,
    pub points: usize,
    /// `[rows, points]`, real and imaginary parts.
    pub values: [&'a mut [f32]; 2],
}

impl Kernel for SplitKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { signal, factors, width, points, values: [re, im] } = self;
        let used = width.min(2 * points);
        let outputs = re.chunks_exact_mut(points).zip(im.chunks_exact_mut(points));
        for (row, (signal, (re, im))) in signal.chunks_exact(width).zip(outputs).enumerate() {
            let factors = factors.map(
                #[inline(always)]
                |factors| &factors[row * width..(row + 1) * width],
            );
            // Whole registers of pairs.
            let registers = used / (2 * V::LANES);
            for (i, pair) in V::arrays(signal).as_chunks::<2>().0[..registers].iter().enumerate() {
                let (mut first, mut second) = (V::load(token, &pair[0]), V::load(token, &pair[1]));
                if let Some(factors) = factors {
                    let factors = V::arrays(&factors[2 * i * V::LANES..]);
                    (first, second) = (first * V::load(token, &factors[0]), second * V::load(token, &factors[1]));
                }
                let (even, odd) = first.deinterleave(second);
                even.store(&mut V::arrays_mut(&mut re[i * V::LANES..])[0]);
                odd.store(&mut V::arrays_mut(&mut im[i * V::LANES..])[0]);
            }
            // The samples that are left, and zeros.
            let start = registers * V::LANES;
            re[start..].fill(0.0);
            im[start..].fill(0.0);
            for (j, &sample) in signal[..used].iter().enumerate().skip(2 * start) {
                let sample = match factors {
                    Some(factors) => sample * factors[j],
                    None => sample,
                };
                *if j.is_multiple_of(2) { &mut re[j / 2] } else { &mut im[j / 2] } = sample;
            }
        }
    }
}

/// Joins rows of `points` complex values to rows of their first `length` samples, times factors where there are any.
pub(in crate::cpu) struct JoinKernel<'a> {
    /// `[rows, points]`, real and imaginary parts.
    pub values: [&'a [f32]; 2],
    /// `[rows, length]`.
    pub factors: Option<&'a [f32]>,
    pub points: usize,
    pub length: usize,
    /// `[rows, length]`.
    pub signal: &'a mut [f32],
}

impl Kernel for JoinKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, _token: V::Token) {
        let Self { values: [re, im], factors, points, length, signal } = self;
        let rows = re.chunks_exact(points).zip(im.chunks_exact(points));
        for (row, (signal, (re, im))) in signal.chunks_exact_mut(length).zip(rows).enumerate() {
            // Plain code, which the compiler turns into shuffles of the instruction set.
            for (pair, (re, im)) in signal.as_chunks_mut::<2>().0.iter_mut().zip(re.iter().zip(im)) {
                *pair = [*re, *im];
            }
            if length % 2 == 1 {
                signal[length - 1] = re[length / 2];
            }
            if let Some(factors) = factors {
                for (sample, factor) in signal.iter_mut().zip(&factors[row * length..]) {
                    *sample *= factor;
                }
            }
        }
    }
}
