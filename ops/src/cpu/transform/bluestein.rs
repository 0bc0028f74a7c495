//! Transforms in f32 of lengths with large prime factors, as convolutions with a chirp.
//!
//! Since jk = (j² + k² - (k - j)²) / 2, X_k = c_k Σ_j (x_j c_j) c*_(k - j) with c_j = exp(-πi j² / n): a convolution,
//! by transforms of a length from 2 n - 1 on that has small factors only (L. Bluestein, "A linear filtering approach to
//! the computation of discrete Fourier transform", 1970).

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::FftDirection;
use rustfft::num_complex::Complex as Value;

use super::OneSidedFactors;
use super::plan::{largest_prime, turn};
use crate::cache::Cache;
use crate::cpu::isa::register::{Complex, Register};
use crate::cpu::isa::{Kernel, dispatch_widest, simd_enabled};
use crate::cpu::runtime::tasks::Tasks;
use crate::cpu::runtime::with_vector;
use crate::options::{Direction, FftOptions};
use crate::rustfft_plans::Planned;

/// The smallest prime factor that makes a length one of these.
const MIN_PRIME: usize = 37;
/// The most values per value of that factor: longer rows are faster as transforms of so many values each.
const MAX_COFACTOR: usize = 4;
/// The longest convolutions whose length may have factors of 3 and 5.
const MAX_SMOOTH: usize = 1 << 16;
/// Lengths of convolutions are multiples of this, so that they fill registers.
const MULTIPLE: usize = 64;
/// Values of the convolutions that are computed at a time: few enough for the caches of a core.
const BLOCK: usize = 8192;

/// Chirp of n values, and the spectrum that a convolution with it multiplies by.
pub(super) struct ChirpPlan {
    n: usize,
    /// exp(-πi j² / n), real and imaginary parts.
    chirp: [Vec<f32>; 2],
    /// The transform of exp(πi j² / n), j from 1 - n to n - 1, divided by its length.
    spectrum: [Vec<f32>; 2],
}

impl ChirpPlan {
    /// The plan of `n` values, if this is the way for them on this thread.
    pub fn of(n: usize) -> Option<Arc<Self>> {
        static PLANS: Cache<usize, Arc<ChirpPlan>> = Cache::new();
        (simd_enabled() && is_faster(n)).then(|| PLANS.get(n, || Arc::new(Self::new(n))))
    }

    fn new(n: usize) -> Self {
        // j² modulo 2 n, so that angles are exact.
        let chirp: Vec<_> = (0..n as u64).map(|j| turn((j * j % (2 * n as u64)) as usize, 2 * n)).collect();
        let length = convolution_length(2 * n - 1);
        let mut values = vec![Value::new(0.0, 0.0); length];
        for j in 0..n {
            let angle = PI * (j as u64 * j as u64 % (2 * n as u64)) as f64 / n as f64;
            let value = Value::from_polar(1.0 / length as f64, angle);
            values[j] = value;
            values[(length - j) % length] = value;
        }
        f64::plan(length, FftDirection::Forward).process(&mut values);
        Self {
            n,
            chirp: [0, 1].map(|part| chirp.iter().map(|value| value[part]).collect()),
            spectrum: [values.iter().map(|z| z.re as f32).collect(), values.iter().map(|z| z.im as f32).collect()],
        }
    }

    /// Work of a row in the unit of [`Tasks`], a radix-2 butterfly.
    fn work(&self) -> usize {
        let length = self.spectrum[0].len();
        length * length.ilog2() as usize / 8
    }

    /// Transforms `rows` rows of `arrays`. `load` puts the n values of a row, times the chirp, into two buffers, or
    /// fewer and zeros after them; `store` gets the spectrum of a row before it is multiplied by the chirp.
    fn run<A>(
        &self,
        rows: usize,
        arrays: &mut A,
        load: impl Fn(&A, usize, [&mut [f32]; 2]),
        store: impl Fn(&mut A, usize, [&mut [f32]; 2]),
    ) {
        let (n, length) = (self.n, self.spectrum[0].len());
        let (at_once, transform) = ((BLOCK / length).max(1), FftOptions::new(length, Direction::Forward));
        let spectrum = self.spectrum.each_ref().map(Vec::as_slice);
        with_vector(|memory| {
            memory.resize(2 * at_once.min(rows) * length, 0.0);
            for first in (0..rows).step_by(at_once) {
                // Rows times the chirp, padded with zeros to the length of the convolution.
                let count = at_once.min(rows - first);
                let (re, im) = memory[..2 * count * length].split_at_mut(count * length);
                for (row, (re, im)) in re.chunks_exact_mut(length).zip(im.chunks_exact_mut(length)).enumerate() {
                    re[n..].fill(0.0);
                    im[n..].fill(0.0);
                    load(arrays, first + row, [&mut re[..n], &mut im[..n]]);
                }
                // The convolution with the conjugate chirp: a product of spectra.
                super::complex_fft_in_place(&transform, [&mut *re, &mut *im]);
                for (re, im) in re.chunks_exact_mut(length).zip(im.chunks_exact_mut(length)) {
                    multiply(None, spectrum, 1.0, [re, im]);
                }
                // With real and imaginary parts exchanged, the inverse transform.
                super::complex_fft_in_place(&transform, [&mut *im, &mut *re]);
                for (row, (re, im)) in re.chunks_exact_mut(length).zip(im.chunks_exact_mut(length)).enumerate() {
                    store(arrays, first + row, [&mut re[..n], &mut im[..n]]);
                }
            }
        });
    }

    /// The lowest `count` values of the chirp.
    fn chirp(&self, count: usize) -> [&[f32]; 2] {
        self.chirp.each_ref().map(|part| &part[..count])
    }

    /// Forward transforms of complex rows, as [`complex_fft`](super::complex_fft()), of `input` or of the rows that the
    /// output has, times `factor`.
    pub fn complex_fft(&self, input: Option<[&[f32]; 2]>, width: usize, factor: f32, output: [&mut [f32]; 2]) {
        let (n, used) = (self.n, width.min(self.n));
        let tasks = Tasks::independent(output[0].len() / n, self.work());
        tasks.run(tasks.pieces(input, width, output, n), |(input, [out_re, out_im])| {
            self.run(
                out_re.len() / n,
                &mut [out_re, out_im],
                // A row, cut or padded, times the chirp; in place the row is that of the output.
                |outputs, row, [re, im]| {
                    let (parts, width) = match input {
                        Some(parts) => (parts, width),
                        None => (outputs.each_ref().map(|output| &**output), n),
                    };
                    let values = parts.map(|part| &part[row * width..][..used]);
                    multiply(Some(values), self.chirp(used), 1.0, [&mut re[..used], &mut im[..used]]);
                    re[used..].fill(0.0);
                    im[used..].fill(0.0);
                },
                // The bins: the convolution times the chirp and the factor.
                |outputs, row, [re, im]| {
                    let output = outputs.each_mut().map(|output| &mut output[row * n..][..n]);
                    multiply(Some([re, im]), self.chirp(n), factor, output);
                },
            );
        });
    }

    /// As [`lowest_bins`](super::lowest_bins()).
    pub fn lowest_bins(
        &self,
        signal: &[f32],
        width: usize,
        options: &FftOptions,
        kept: usize,
        output: [&mut [f32]; 2],
    ) {
        let factors = OneSidedFactors::<f32>::of(options, Direction::Forward);
        let (used, interior) = (width.min(self.n), options.interior_bins());
        let tasks = Tasks::independent(output[0].len() / kept, self.work());
        let pieces = signal.chunks(tasks.rows * width).zip(tasks.pieces(None, 0, output, kept));
        tasks.run(pieces, |(signal, (_, mut output))| {
            self.run(
                output[0].len() / kept,
                &mut output,
                // Samples, cut or padded, as complex values times the chirp.
                |_, row, [re, im]| {
                    re[..used].copy_from_slice(&signal[row * width..][..used]);
                    re[used..].fill(0.0);
                    im.fill(0.0);
                    multiply(None, self.chirp(used), 1.0, [&mut re[..used], &mut im[..used]]);
                },
                // The lowest bins: the convolution times the chirp, then the factors of DC and Nyquist, which are real,
                // and of interior bins.
                |outputs, row, [re, im]| {
                    let [out_re, out_im] = outputs.each_mut().map(|output| &mut output[row * kept..][..kept]);
                    multiply(Some([&re[..kept], &im[..kept]]), self.chirp(kept), 1.0, [&mut *out_re, &mut *out_im]);
                    for bin in [0, kept - 1] {
                        if !interior.contains(&bin) {
                            (out_re[bin], out_im[bin]) = (out_re[bin] * factors.ends, 0.0);
                        }
                    }
                    let interior = interior.start..interior.end.min(kept);
                    if !interior.is_empty() {
                        out_re[interior.clone()].iter_mut().for_each(|re| *re *= factors.interior[0]);
                        out_im[interior].iter_mut().for_each(|im| *im *= factors.interior[1]);
                    }
                },
            );
        });
    }

    /// As [`inverse_real_fft`](super::inverse_real_fft()).
    pub fn inverse_real_fft(&self, [re, im]: [&[f32]; 2], width: usize, options: &FftOptions, signal: &mut [f32]) {
        let factors = OneSidedFactors::<f32>::of(options, Direction::Inverse);
        let (n, interior) = (self.n, options.interior_bins());
        let tasks = Tasks::independent(signal.len() / n, self.work());
        let inputs = re.chunks(tasks.rows * width).zip(im.chunks(tasks.rows * width));
        tasks.run(inputs.zip(signal.chunks_mut(tasks.rows * n)), |((re, im), mut signal)| {
            self.run(
                signal.len() / n,
                &mut signal,
                // All bins, the upper ones the conjugates of the lower; parts exchanged, for the inverse transform.
                |_, row, [into_im, into_re]| {
                    into_re.fill(0.0);
                    into_im.fill(0.0);
                    let (re, im) = (&re[row * width..][..width], &im[row * width..][..width]);
                    for (bin, (re, im)) in re.iter().zip(im).enumerate().take(options.bins()) {
                        if interior.contains(&bin) {
                            let (re, im) = (re * factors.interior[0], im * factors.interior[1]);
                            (into_re[bin], into_im[bin]) = (re, im);
                            (into_re[n - bin], into_im[n - bin]) = (re, -im);
                        } else {
                            into_re[bin] = re * factors.ends;
                        }
                    }
                    multiply(None, self.chirp(n), 1.0, [into_im, into_re]);
                },
                // The samples: real parts of the convolution times the chirp.
                |signal, row, [im, re]| {
                    multiply(None, self.chirp(n), 1.0, [&mut *im, &mut *re]);
                    signal[row * n..][..n].copy_from_slice(re);
                },
            );
        });
    }
}

/// Whether a convolution with a chirp is faster than what rustfft plans for `n` values.
///
/// A transform of a prime number p of values is a convolution of p - 1 values, too (C. Rader, 1968), which is shorter,
/// and which rustfft plans where p - 1 has small factors.
fn is_faster(n: usize) -> bool {
    let prime = largest_prime(n);
    let is_short = || 10 * convolution_length(2 * n - 1) <= 21 * n;
    prime >= MIN_PRIME && n / prime <= MAX_COFACTOR && (largest_prime(prime - 1) > 7 || is_short())
}

/// The least length from `least` on that transforms are fast for.
fn convolution_length(least: usize) -> usize {
    let smooth = (least.div_ceil(MULTIPLE)..).find(|&n| largest_prime(n) <= 5).unwrap_or(1) * MULTIPLE;
    if smooth <= MAX_SMOOTH { smooth } else { least.next_power_of_two() }
}

/// Multiplies complex values, those of `input` or else those that `output` has, by `factors` and by `scale`.
fn multiply(input: Option<[&[f32]; 2]>, factors: [&[f32]; 2], scale: f32, output: [&mut [f32]; 2]) {
    dispatch_widest(ProductKernel { input, factors, scale, output });
}

struct ProductKernel<'a> {
    input: Option<[&'a [f32]; 2]>,
    factors: [&'a [f32]; 2],
    scale: f32,
    output: [&'a mut [f32]; 2],
}

impl Kernel for ProductKernel<'_> {
    #[inline(always)]
    fn run<V: Register>(self, token: V::Token) {
        let Self { input, factors: [by_re, by_im], scale, output: [out_re, out_im] } = self;
        // Whole registers, then the values left over, one by one.
        let whole = out_re.len() / V::LANES * V::LANES;
        let factor = V::splat(token, scale);
        for at in (0..whole).step_by(V::LANES) {
            let [re, im] = input.unwrap_or([&*out_re, &*out_im]);
            let z = load::<V>(token, re, im, at).times(load(token, by_re, by_im, at));
            (z.re * factor).store(&mut V::arrays_mut(&mut out_re[at..at + V::LANES])[0]);
            (z.im * factor).store(&mut V::arrays_mut(&mut out_im[at..at + V::LANES])[0]);
        }
        for at in whole..out_re.len() {
            let [re, im] = input.map_or([out_re[at], out_im[at]], |parts| parts.map(|part| part[at]));
            out_re[at] = (re * by_re[at] - im * by_im[at]) * scale;
            out_im[at] = (re * by_im[at] + im * by_re[at]) * scale;
        }
    }
}

/// The complex values from `at` on.
#[inline(always)]
pub(in crate::cpu) fn load<V: Register>(token: V::Token, re: &[f32], im: &[f32], at: usize) -> Complex<V> {
    Complex {
        re: V::load(token, &V::arrays(&re[at..at + V::LANES])[0]),
        im: V::load(token, &V::arrays(&im[at..at + V::LANES])[0]),
    }
}
