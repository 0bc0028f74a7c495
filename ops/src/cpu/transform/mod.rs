//! Fourier transforms of rows, of any length.
//!
//! Which way rows in f32 go is chosen by `algorithm`; all rows of a call go the same way:
//!
//! | file | rows |
//! | --- | --- |
//! | `short_rows` | complex, powers of two up to a few registers, held in them from load to store |
//! | [`fft`](crate::cpu::fft) | complex, powers of two from 256 on, by passes within the first-level cache |
//! | `long_rows` | complex, longer powers of two, by those passes in parts |
//! | `mixed_radix_rows` | complex, multiples of the lanes with small prime factors |
//! | `lanes` | several rows, with small prime factors, a row per lane |
//! | `bluestein` | large prime factors, as convolutions with a chirp |
//! | `real_rows` | real, as complex rows of half the length |
//! | `planned` | all others, and f64: one at a time by rustfft and realfft |
//! | `cosine` | real, cosine and sine transforms, as complex rows of half the length |
//!
//! Families that go on with spectra in a tile take them from `lanes`. Columns of matrices are transformed with
//! a column per lane, or one at a time (`column_modes`).

mod algorithm;
pub(in crate::cpu) mod bluestein;
mod column_modes;
mod cosine;
mod lanes;
mod long_rows;
mod mixed_radix_rows;
pub(in crate::cpu) mod passes;
pub(in crate::cpu) mod plan;
mod planned;
pub(in crate::cpu) mod real_rows;
mod short_rows;
pub(in crate::cpu) mod transposition;

use algorithm::ComplexAlgorithm;
pub use column_modes::{columns_fill_lanes, columns_to_modes, complex_fft_columns, modes_to_columns};
pub use cosine::cosine;
use lanes::{LaneTransform, LaneTransformKind};
use long_rows::transform_long_rows;
use mixed_radix_rows::transform_rows;
pub(in crate::cpu) use plan::MixedRadixPlan;
use short_rows::transform_short_rows;

use self::algorithm::RealAlgorithm;
pub(in crate::cpu) use self::lanes::{FrameSpectra, frame_plan, lines_of_frames, plan_of_frames};
use crate::cpu::fft::fourier;
use crate::cpu::real::Real;
use crate::options::{Direction, FftOptions};

/// Factors on the bins of a one-sided spectrum.
#[derive(Debug, Clone, Copy)]
struct OneSidedFactors<T> {
    /// On DC and Nyquist.
    ends: T,
    /// On the real and imaginary parts of interior bins.
    interior: [T; 2],
}

impl<T: Real> OneSidedFactors<T> {
    /// The factors of a transform for an engine of the direction `computed`: in the other one it is the conjugate.
    fn of(options: &FftOptions, computed: Direction) -> Self {
        let interior = options.scale * options.interior;
        let sign = if options.direction == computed { 1.0 } else { -1.0 };
        Self { ends: T::of(options.scale), interior: [interior, sign * interior].map(T::of) }
    }
}

/// Transforms of complex rows: `input` `[rows, width]`, real and imaginary parts, cut or padded with zeros to n values
/// → `output` `[rows, n]`, `scale` Σ_j x_j exp(∓2πi jk/n).
pub fn complex_fft<T: Real>(input: [&[T]; 2], width: usize, options: &FftOptions, output: [&mut [T]; 2]) {
    debug_assert!(input.iter().all(|part| part.len() == output[0].len() / options.length * width));
    transform_complex(Some(input), width, options, output);
}

/// [`complex_fft`] of rows of n values, which take the place of `values` `[rows, n]`.
pub fn complex_fft_in_place<T: Real>(options: &FftOptions, values: [&mut [T]; 2]) {
    transform_complex(None, options.length, options, values);
}

/// Transforms `input`, or else the rows that `output` has.
fn transform_complex<T: Real>(
    input: Option<[&[T]; 2]>,
    width: usize,
    options: &FftOptions,
    [out_re, out_im]: [&mut [T]; 2],
) {
    let n = options.length;
    let rows = out_re.len() / n;
    debug_assert!(out_re.len() == rows * n && out_im.len() == rows * n);
    // An inverse transform is the forward one with real and imaginary parts exchanged.
    let (input, [out_re, out_im]) = match options.direction {
        Direction::Forward => (input, [out_re, out_im]),
        Direction::Inverse => (input.map(|[re, im]| [im, re]), [out_im, out_re]),
    };
    if let (Some(out_re), Some(out_im)) = (T::as_f32_mut(out_re), T::as_f32_mut(out_im)) {
        let input = input.and_then(T::parts_as_f32);
        let (factor, output) = (options.scale as f32, [&mut *out_re, &mut *out_im]);
        match ComplexAlgorithm::of(n, width, rows) {
            Some(ComplexAlgorithm::Short(filled)) => return transform_short_rows(input, n, filled, factor, output),
            Some(ComplexAlgorithm::Passes) => return fourier(input, n, factor, output),
            Some(ComplexAlgorithm::Long) => return transform_long_rows(input, n, factor, output),
            Some(ComplexAlgorithm::Rows(filled)) => return transform_rows(input, n, filled, factor, output),
            Some(ComplexAlgorithm::Lanes(plan)) => {
                let kind = LaneTransformKind::Complex(factor);
                return LaneTransform { kind, n, width, length: n, plan: &plan }.run(input, output);
            }
            Some(ComplexAlgorithm::Chirp(plan)) => return plan.complex_fft(input, width, factor, output),
            None => {}
        }
    }
    planned::complex_fft(input, width, options, [out_re, out_im]);
}

/// One-sided transforms of real rows: `signal` `[rows, width]`, cut or padded with zeros to n values → `output`
/// `[rows, n / 2 + 1]`, interior bins times `interior`.
pub fn real_fft<T: Real>(signal: &[T], width: usize, options: &FftOptions, output: [&mut [T]; 2]) {
    let all_rows = output[0].len() / options.bins();
    lowest_bins(signal, width, options, options.bins(), all_rows, output);
}

/// The lowest `kept` bins of [`real_fft`]: `output` `[rows, kept]`. `all_rows`, of which these may be a part, go one way.
pub fn lowest_bins<T: Real>(
    signal: &[T],
    width: usize,
    options: &FftOptions,
    kept: usize,
    all_rows: usize,
    [out_re, out_im]: [&mut [T]; 2],
) {
    let (n, rows) = (options.length, out_re.len() / kept);
    debug_assert!(kept <= options.bins() && signal.len() == rows * width);
    debug_assert!(out_re.len() == rows * kept && out_im.len() == out_re.len());
    if let (Some(signal), Some(out_re), Some(out_im)) =
        (T::as_f32(signal), T::as_f32_mut(out_re), T::as_f32_mut(out_im))
    {
        let output = [&mut *out_re, &mut *out_im];
        match RealAlgorithm::of(n, all_rows) {
            Some(RealAlgorithm::Lanes(plan)) => {
                let kind = LaneTransformKind::Real(OneSidedFactors::of(options, Direction::Forward));
                let transform = LaneTransform { kind, n, width, length: kept, plan: &plan };
                return transform.run(Some([signal, &[]]), output);
            }
            Some(RealAlgorithm::Pairs(rows)) => return rows.lowest_bins(signal, width, options, kept, output),
            Some(RealAlgorithm::Chirp(plan)) => return plan.lowest_bins(signal, width, options, kept, output),
            None => {}
        }
    }
    planned::lowest_bins(signal, width, options, kept, [out_re, out_im]);
}

/// Transforms of one-sided spectra `input` `[rows, width]`, cut or padded with zeros to n / 2 + 1 bins → `signal`
/// `[rows, n]`, real. Interior bins are multiplied by `interior` first; the imaginary parts of DC and Nyquist do not
/// count.
pub fn inverse_real_fft<T: Real>(input: [&[T]; 2], width: usize, options: &FftOptions, signal: &mut [T]) {
    let all_rows = signal.len() / options.length;
    inverse_real_part(input, width, options, all_rows, signal);
}

/// [`inverse_real_fft`] of rows that may be a part of `all_rows`, which all go the same way.
pub fn inverse_real_part<T: Real>(
    input: [&[T]; 2],
    width: usize,
    options: &FftOptions,
    all_rows: usize,
    signal: &mut [T],
) {
    let (n, rows) = (options.length, signal.len() / options.length);
    debug_assert!(input.iter().all(|part| part.len() == rows * width));
    debug_assert_eq!(signal.len(), rows * n);
    if let (Some(input), Some(signal)) = (T::parts_as_f32(input), T::as_f32_mut(signal)) {
        match RealAlgorithm::of(n, all_rows) {
            Some(RealAlgorithm::Lanes(plan)) => {
                let kind = LaneTransformKind::InverseReal(OneSidedFactors::of(options, Direction::Inverse));
                let transform = LaneTransform { kind, n, width, length: n, plan: &plan };
                return transform.run(Some(input), [signal, &mut []]);
            }
            Some(RealAlgorithm::Pairs(rows)) => return rows.inverse(input, width, options, signal),
            Some(RealAlgorithm::Chirp(plan)) => return plan.inverse_real_fft(input, width, options, signal),
            None => {}
        }
    }
    planned::inverse_real_fft(input, width, options, signal);
}
