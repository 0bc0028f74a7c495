//! Transforms one row at a time, by the plans of rustfft and realfft.

use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::OneSidedFactors;
use crate::cpu::isa::{PlainKernel, dispatch_widest};
use crate::cpu::real::Real;
use crate::cpu::runtime::take;
use crate::cpu::runtime::tasks::Tasks;
use crate::options::{Direction, FftOptions};

/// Forward transforms, as [`complex_fft`](super::complex_fft()), of `input` or of the rows that the output has.
pub(super) fn complex_fft<T: Real>(
    input: Option<[&[T]; 2]>,
    width: usize,
    options: &FftOptions,
    output: [&mut [T]; 2],
) {
    let n = options.length;
    let (plan, scale) = (T::plan(n, FftDirection::Forward), T::of(options.scale));
    let tasks = Tasks::independent(output[0].len() / n, work(n));
    tasks.run(tasks.pieces(input, width, output, n), |(input, [out_re, out_im])| {
        T::with_scratch(|scratch| {
            let (buffer, _, _) = scratch.buffers(n + plan.get_inplace_scratch_len(), 0, 0);
            let (row, spare) = buffer.split_at_mut(n);
            let outputs = out_re.chunks_exact_mut(n).zip(out_im.chunks_exact_mut(n));
            for (at, (out_re, out_im)) in outputs.enumerate() {
                // The parts of a row are interleaved, as rustfft takes them, and cut or padded to n values.
                let [re, im] = match input {
                    Some(parts) => parts.map(|part| &part[at * width..][..width]),
                    None => [&*out_re, &*out_im],
                };
                dispatch_widest(PlainKernel(
                    #[inline(always)]
                    || load(row, re, im),
                ));
                plan.process_with_scratch(row, spare);
                // Taken apart again, times the factor.
                dispatch_widest(PlainKernel(
                    #[inline(always)]
                    || {
                        for ((z, re), im) in row.iter().zip(&mut *out_re).zip(&mut *out_im) {
                            (*re, *im) = (z.re * scale, z.im * scale);
                        }
                    },
                ));
            }
        });
    });
}

/// As [`lowest_bins`](super::lowest_bins()).
pub(super) fn lowest_bins<T: Real>(
    signal: &[T],
    width: usize,
    options: &FftOptions,
    kept: usize,
    [out_re, out_im]: [&mut [T]; 2],
) {
    let (n, bins) = (options.length, options.bins());
    let plan = T::real_plan(n);
    let factors = OneSidedFactors::<T>::of(options, Direction::Forward);
    let tasks = Tasks::independent(out_re.len() / kept, work(n) / 2);
    let outputs = out_re.chunks_mut(tasks.rows * kept).zip(out_im.chunks_mut(tasks.rows * kept));
    tasks.run(signal.chunks(tasks.rows * width).zip(outputs), |(signal, (out_re, out_im))| {
        T::with_scratch(|scratch| {
            let (mut buffer, samples, _) = scratch.buffers(bins + plan.get_scratch_len(), n, 0);
            let spectrum = take(&mut buffer, bins);
            let outputs = out_re.chunks_exact_mut(kept).zip(out_im.chunks_exact_mut(kept));
            for (signal, (out_re, out_im)) in signal.chunks_exact(width).zip(outputs) {
                // Cut or padded to n samples, which realfft overwrites.
                let used = width.min(n);
                samples[..used].copy_from_slice(&signal[..used]);
                samples[used..].fill(T::zero());
                plan.process_with_scratch(samples, spectrum, buffer).expect("the buffers have the plan's lengths");
                // The factor of interior bins on all that are kept, then that of DC and Nyquist, which are real.
                let ends = [0, bins - 1].map(|bin| spectrum[bin]);
                for ((z, re), im) in spectrum.iter().zip(&mut *out_re).zip(&mut *out_im) {
                    (*re, *im) = (z.re * factors.interior[0], z.im * factors.interior[1]);
                }
                for (bin, end) in [0, bins - 1].into_iter().zip(ends) {
                    if bin < kept && !options.interior_bins().contains(&bin) {
                        (out_re[bin], out_im[bin]) = (end.re * factors.ends, T::zero());
                    }
                }
            }
        });
    });
}

/// As [`inverse_real_fft`](super::inverse_real_fft()).
pub(super) fn inverse_real_fft<T: Real>([re, im]: [&[T]; 2], width: usize, options: &FftOptions, signal: &mut [T]) {
    let (n, bins) = (options.length, options.bins());
    let plan = T::inverse_real_plan(n);
    let factors = OneSidedFactors::<T>::of(options, Direction::Inverse);
    let tasks = Tasks::independent(signal.len() / n, work(n) / 2);
    let inputs = re.chunks(tasks.rows * width).zip(im.chunks(tasks.rows * width));
    tasks.run(inputs.zip(signal.chunks_mut(tasks.rows * n)), |((re, im), signal)| {
        T::with_scratch(|scratch| {
            let (mut buffer, _, _) = scratch.buffers(bins + plan.get_scratch_len(), 0, 0);
            let spectrum = take(&mut buffer, bins);
            let inputs = re.chunks_exact(width).zip(im.chunks_exact(width));
            for ((re, im), signal) in inputs.zip(signal.chunks_exact_mut(n)) {
                // The lower bins, cut or padded, times the factors of interior bins, and of DC and Nyquist, whose
                // imaginary parts do not count: realfft refuses them.
                load(spectrum, re, im);
                for z in &mut spectrum[options.interior_bins()] {
                    *z = Complex::new(z.re * factors.interior[0], z.im * factors.interior[1]);
                }
                for bin in [0, bins - 1] {
                    if !options.interior_bins().contains(&bin) {
                        spectrum[bin] = Complex::new(spectrum[bin].re * factors.ends, T::zero());
                    }
                }
                plan.process_with_scratch(spectrum, signal, buffer).expect("the buffers have the plan's lengths");
            }
        });
    });
}

/// Radix-2 butterflies of an `n`-point transform.
pub(super) fn work(n: usize) -> usize {
    n * n.max(2).ilog2() as usize / 2
}

/// Loads as many values of a row as `into` has, and zeros after them.
#[inline(always)]
fn load<T: Real>(into: &mut [Complex<T>], re: &[T], im: &[T]) {
    for (z, (&re, &im)) in into.iter_mut().zip(re.iter().zip(im)) {
        *z = Complex::new(re, im);
    }
    let used = re.len().min(into.len());
    into[used..].fill(Complex::new(T::zero(), T::zero()));
}
