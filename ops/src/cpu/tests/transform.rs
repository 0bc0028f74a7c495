//! Fourier transforms of rows, by every instruction set and algorithm.

use firefly_reference::dct;
use rayon::ThreadPoolBuilder;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::{lengths, noise, reduced, single};
use crate::cpu::{InstructionSet, complex_fft, complex_fft_in_place, cosine, inverse_real_fft, real_fft};
use crate::options::{Direction, FftOptions};
use crate::rustfft_plans::Planned;

/// Lengths for every algorithm of complex rows, and of real ones.
const COMPLEX: [usize; 23] = [
    8,
    1,
    4,
    16,
    32,
    64,
    128,
    256,
    512,
    1024,
    2048,
    4096,
    8192,
    16_384,
    32_768,
    1 << 17,
    96,
    100,
    360,
    251,
    502,
    1031,
    2003,
];
const REAL: [usize; 16] = [8, 2, 15, 16, 64, 100, 360, 500, 512, 1024, 4096, 16_384, 251, 502, 1009, 2006];
/// Numbers of rows: below what lanes take, and a group with some left over.
const ROWS: [usize; 3] = [1, 3, 11];

/// Runs `body` with an instruction set, on one thread: it is that of a thread.
fn with(set: InstructionSet, body: impl FnOnce() + Send) {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    pool.install(|| set.force(body));
}

/// The transform of `values` in double precision.
fn expected(values: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let mut values = values.to_vec();
    f64::plan(values.len(), FftDirection::Forward).process(&mut values);
    values
}

/// Fails unless `got` is within the tolerance of the numeric contract, twice that of a transform without a convolution.
fn assert_close(got: impl Iterator<Item = Complex<f64>>, expected: &[Complex<f64>], case: &str) {
    let greatest = expected.iter().map(|z| z.norm()).fold(0.0, f64::max);
    let tolerance = 2.0 * (2e-6 + 5e-7 * (expected.len() as f64).log10());
    for (k, (got, expected)) in got.zip(expected).enumerate() {
        assert!((got - expected).norm() <= tolerance * greatest, "{case}, bin {k}: {got} for {expected}");
    }
}

fn complex(re: &[f32], im: &[f32]) -> Vec<Complex<f64>> {
    re.iter().zip(im).map(|(&re, &im)| Complex::new(re.into(), im.into())).collect()
}

#[test]
fn complex_rows_match_double_precision_on_every_set() {
    for (n, rows) in lengths(&COMPLEX).flat_map(|n| ROWS.map(|rows| (n, rows))) {
        let (re, im) = (single(&noise(rows * n, n as u64)), single(&noise(rows * n, 7)));
        for set in InstructionSet::available() {
            let case = format!("{set}, {rows} rows of {n}");
            let forward = FftOptions::new(n, Direction::Forward);
            let (mut out_re, mut out_im) = (vec![0.0; rows * n], vec![0.0; rows * n]);
            with(set, || complex_fft([&re[..], &im[..]], n, &forward, [&mut out_re[..], &mut out_im[..]]));
            for row in 0..rows {
                let range = row * n..(row + 1) * n;
                let got = complex(&out_re[range.clone()], &out_im[range.clone()]);
                assert_close(got.into_iter(), &expected(&complex(&re[range.clone()], &im[range])), &case);
            }

            let (mut in_re, mut in_im) = (re.clone(), im.clone());
            with(set, || complex_fft_in_place(&forward, [&mut in_re[..], &mut in_im[..]]));
            assert!(in_re == out_re && in_im == out_im, "{case}, in place");

            let inverse = FftOptions::new(n, Direction::Inverse).with_scale(1.0 / n as f64);
            with(set, || complex_fft_in_place(&inverse, [&mut in_re[..], &mut in_im[..]]));
            let scaled: Vec<_> = complex(&re, &im);
            assert_close(complex(&in_re, &in_im).into_iter(), &scaled, &format!("{case}, back"));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "as many rows as take Miri hours")]
fn rows_of_large_calls_have_the_bits_of_a_row_alone() {
    // Calls as large as those that prefetch the next row.
    for n in [256, 512, 1024, 2048, 4096] {
        let rows = (1 << 16) / n + 1;
        let (re, im) = (single(&noise(rows * n, n as u64)), single(&noise(rows * n, 3)));
        let forward = FftOptions::new(n, Direction::Forward);
        for set in InstructionSet::available() {
            let (mut out_re, mut out_im) = (vec![0.0; rows * n], vec![0.0; rows * n]);
            with(set, || complex_fft([&re[..], &im[..]], n, &forward, [&mut out_re[..], &mut out_im[..]]));
            let (mut in_re, mut in_im) = (re.clone(), im.clone());
            with(set, || complex_fft_in_place(&forward, [&mut in_re[..], &mut in_im[..]]));
            assert!(in_re == out_re && in_im == out_im, "{set}, {n}: in place");
            for row in 0..rows {
                let of_row = row * n..(row + 1) * n;
                let (mut alone_re, mut alone_im) = (re[of_row.clone()].to_vec(), im[of_row.clone()].to_vec());
                with(set, || complex_fft_in_place(&forward, [&mut alone_re[..], &mut alone_im[..]]));
                assert!(alone_re == out_re[of_row.clone()] && alone_im == out_im[of_row], "{set}, row {row} of {n}");
            }
        }
    }
}

#[test]
fn real_rows_match_double_precision_on_every_set() {
    for (n, rows) in lengths(&REAL).flat_map(|n| ROWS.map(|rows| (n, rows))) {
        let signal = single(&noise(rows * n, n as u64));
        for set in InstructionSet::available() {
            let case = format!("{set}, {rows} rows of {n}");
            let forward = FftOptions::new(n, Direction::Forward);
            let bins = forward.bins();
            let (mut re, mut im) = (vec![0.0; rows * bins], vec![0.0; rows * bins]);
            with(set, || real_fft(&signal, n, &forward, [&mut re[..], &mut im[..]]));
            for row in 0..rows {
                let range = row * bins..(row + 1) * bins;
                let samples = &signal[row * n..(row + 1) * n];
                let all = expected(&complex(samples, &vec![0.0; n]));
                let got = complex(&re[range.clone()], &im[range]);
                assert_close(got.into_iter(), &all[..bins], &case);
            }

            let inverse = FftOptions::new(n, Direction::Inverse).with_scale(1.0 / n as f64);
            let mut back = vec![0.0; rows * n];
            with(set, || inverse_real_fft([&re[..], &im[..]], bins, &inverse, &mut back[..]));
            let none = vec![0.0; rows * n];
            assert_close(complex(&back, &none).into_iter(), &complex(&signal, &none), &format!("{case}, back"));
        }
    }
}

#[test]
fn cosine_and_sine_transforms_match_the_definition_on_every_set() {
    // Values in registers, by passes, by mixed radices in a row or in lanes, by a chirp, and by rustfft; more rows than
    // a block, whose last one is not full.
    const ROWS: usize = reduced(37, 3);
    for (n, kind) in lengths(&[16, 2, 4, 6, 30, 64, 256, 720, 1500, 2062]).flat_map(|n| [2, 3, 4].map(|kind| (n, kind)))
    {
        // A quarter of the definition, which has a factor of 2 on all but the first value of type 3.
        let factors = [0.5, if kind == 3 { 0.5 } else { 1.0 }];
        let mut values = noise(ROWS * n, n as u64);
        values.copy_within(..n, (ROWS - 1) * n);
        let signal = single(&values);
        for (sines, definition) in [(false, dct::dct as fn(usize, &[f64]) -> Vec<f64>), (true, dct::dst)] {
            let expected = |row: usize| {
                let row: Vec<f64> = signal[row * n..(row + 1) * n].iter().map(|&value| value.into()).collect();
                definition(kind, &row).into_iter().map(|value| Complex::new(value / 4.0, 0.0)).collect::<Vec<_>>()
            };
            let expected = [0, ROWS - 2].map(|row| (row, expected(row)));
            for set in InstructionSet::available() {
                let case = format!("{set}, type {kind} of {n}, sines: {sines}");
                let mut got = vec![0.0; ROWS * n];
                with(set, || cosine(&signal[..], n, (kind, sines), factors, &mut got[..]));
                for (row, expected) in &expected {
                    let got = got[row * n..(row + 1) * n].iter().map(|&value| Complex::new(value.into(), 0.0));
                    assert_close(got, expected, &case);
                }
                assert_eq!(got[..n], got[(ROWS - 1) * n..], "{case}: the same row twice");
            }
            let (signal, mut got) = (signal.iter().map(|&x| x.into()).collect::<Vec<f64>>(), vec![0.0f64; ROWS * n]);
            cosine(&signal[..], n, (kind, sines), factors, &mut got[..]);
            for (row, expected) in &expected {
                let largest = expected.iter().map(|z| z.re.abs()).fold(0.0, f64::max);
                let errors = got[row * n..].iter().zip(expected).map(|(got, expected)| (got - expected.re).abs());
                assert!(errors.fold(0.0, f64::max) < 1e-13 * largest, "type {kind} of {n} in f64, sines: {sines}");
            }
        }
    }
}

#[test]
fn real_rows_are_cut_and_padded_and_have_factors_on_bins() {
    for n in lengths(&[8, 15, 100, 251, 512, 1024, 1500]) {
        for width in [n - 3, n, n + 5] {
            let signal = single(&noise(3 * width, n as u64));
            let whole: Vec<f32> =
                signal.chunks(width).flat_map(|row| (0..n).map(|j| row.get(j).copied().unwrap_or(0.0))).collect();
            let options = FftOptions::new(n, Direction::Forward).with_scale(0.5).with_interior(3.0);
            let bins = options.bins();
            let transform = |signal: &[f32], width, options: &FftOptions| {
                let (mut re, mut im) = (vec![0.0; 3 * bins], vec![0.0; 3 * bins]);
                real_fft(signal, width, options, [&mut re[..], &mut im[..]]);
                [re, im]
            };
            let (got, plain) = (
                transform(&signal, width, &options),
                transform(&whole, n, &FftOptions { scale: 1.0, interior: 1.0, ..options }),
            );
            for (got, plain) in got.iter().flatten().zip(plain.iter().flatten()).enumerate().map(|(at, pair)| {
                let interior = options.interior_bins().contains(&(at % bins));
                (*pair.0, pair.1 * if interior { 1.5 } else { 0.5 })
            }) {
                assert!((got - plain).abs() <= 1e-4 * (n as f32).sqrt(), "{n} of {width}: {got} for {plain}");
            }

            // Spectra likewise: cut or padded with zeros.
            let options = FftOptions::new(n, Direction::Inverse).with_interior(2.0);
            let width = (width / 2 + 1).max(2);
            let (re, im) = (single(&noise(3 * width, 1)), single(&noise(3 * width, 2)));
            let whole = |part: &[f32], factor: f32| -> Vec<f32> {
                let bin = |row: &[f32], k: usize| {
                    let factor = if options.interior_bins().contains(&k) { factor } else { 1.0 };
                    row.get(k).map_or(0.0, |value| value * factor)
                };
                part.chunks(width).flat_map(|row| (0..bins).map(move |k| bin(row, k))).collect()
            };
            let (mut got, mut plain) = (vec![0.0; 3 * n], vec![0.0; 3 * n]);
            inverse_real_fft([&re[..], &im[..]], width, &options, &mut got[..]);
            let parts = [whole(&re, 2.0), whole(&im, 2.0)];
            let options = FftOptions::new(n, Direction::Inverse);
            inverse_real_fft(parts.each_ref().map(|part| &part[..]), bins, &options, &mut plain[..]);
            for (got, plain) in got.iter().zip(&plain) {
                assert!((got - plain).abs() <= 1e-4 * (n as f32).sqrt(), "{n} from {width} bins: {got} for {plain}");
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_wherever_it_is() {
    // Algorithms that take a row at a time, or some side by side; none of them depends on the number of rows.
    for n in lengths(&[8, 16, 32, 128, 512, 8192, 96, 360, 251, 1031]) {
        let (re, im) = (single(&noise(n, 5)), single(&noise(n, 6)));
        let transform = |re: &[f32], im: &[f32]| {
            let (mut re, mut im) = (re.to_vec(), im.to_vec());
            complex_fft_in_place(&FftOptions::new(n, Direction::Forward), [&mut re[..], &mut im[..]]);
            [re, im]
        };
        let alone = transform(&re, &im);
        let mut others = [single(&noise(9 * n, 8)), single(&noise(9 * n, 9))];
        others[0][n..2 * n].fill(f32::NAN);
        for at in [0, 2, 3, 8] {
            let [mut all_re, mut all_im] = others.clone();
            all_re[at * n..(at + 1) * n].copy_from_slice(&re);
            all_im[at * n..(at + 1) * n].copy_from_slice(&im);
            let together = transform(&all_re, &all_im);
            for (alone, together) in alone.iter().zip(&together) {
                assert!(*alone == together[at * n..(at + 1) * n], "row {at} of {n}");
            }
        }
    }
}
