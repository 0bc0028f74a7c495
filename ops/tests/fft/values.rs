//! Values of the transforms along one dimension, for any length and any number of rows.

use burn::tensor::{DType, Device, Tensor, TensorData};
use firefly_ops::fft::{
    ComplexTensor, fft, fft_with, frames, ifft, ifft_with, irfft, irfft_with, istft, overlap_add, rfft, rfft_with, stft,
};
use firefly_ops::resampling::{resample, resample_poly};
use firefly_ops::rustfft_plans::Planned;
use firefly_ops::{Norm, StftOptions};
use firefly_reference::Complex;
use firefly_reference::dft::dft_bins;
use firefly_reference::fft::FftDefinition;
use rustfft::FftDirection;

use crate::common::devices::{computed, is_software};
use crate::common::{relative_error, same, values};
use crate::rows::{FftRows, both, check, flat, largest_factor, tolerance};

/// The four kinds of transforms of `rows` rows of `n` values against the definition, in the rows `checked`.
fn check_kinds(device: &Device, dtype: DType, rows: usize, n: usize, checked: &[usize]) {
    let full = FftRows::noise(rows, n);
    let half = FftRows::noise(rows, n / 2 + 1);
    let definition =
        |forward| FftDefinition { n, forward, scale: if forward { 1.0 } else { 1.0 / n as f64 }, interior: 1.0 };
    let tolerance = tolerance(n, dtype);
    let input = full.tensor(device, dtype);
    let forward = both(fft(input.clone()).unwrap());
    let inverse = both(ifft(input.clone()).unwrap());
    let real = both(rfft(input.re.clone()).unwrap());
    let inverse_real = irfft(half.tensor(device, dtype), n).unwrap();
    assert_eq!(inverse_real.dtype(), dtype);
    let inverse_real = vec![values(inverse_real)];
    for &row in checked {
        let label = |kind: &str| format!("{kind} of {n} in {dtype:?}, {rows} rows");
        check(&label("fft"), &forward, row, &flat(&definition(true).complex(&full.row(row))), tolerance);
        check(&label("ifft"), &inverse, row, &flat(&definition(false).complex(&full.row(row))), tolerance);
        check(&label("rfft"), &real, row, &flat(&definition(true).real(full.real(row))), tolerance);
        check(&label("irfft"), &inverse_real, row, &definition(false).inverse_real(&half.row(row)), tolerance);
    }
}

pub fn lengths_up_to_512_match_the_definition(device: &Device) {
    for &dtype in computed(device) {
        for n in (1..=512).filter(|n| !is_software(device) || [1, 2, 15, 16, 97, 360].contains(n)) {
            check_kinds(device, dtype, 3, n, &[0, 2]);
        }
    }
}

/// One that is given away may be overwritten: the spectrum is the same.
pub fn an_input_that_is_kept_stays_as_it_is(device: &Device) {
    let lengths = [8, 64, 72, 100, 128, 240, 251, 256, 360, 456, 2048, 10_000];
    for &dtype in computed(device) {
        for n in lengths.into_iter().filter(|n| !is_software(device) || [64, 251].contains(n)) {
            for rows in [1, 2, 3, 40] {
                let label = format!("{device:?}, {dtype:?}, {rows} rows of {n}");
                let input = FftRows::noise(rows, n);
                let kept = input.tensor(device, dtype);
                for forward in [true, false] {
                    let spectrum = |input: ComplexTensor<2>| {
                        let transformed = if forward {
                            fft_with(input, None, 1, Norm::Ortho)
                        } else {
                            ifft_with(input, None, 1, Norm::Ortho)
                        };
                        both(transformed.unwrap()).concat()
                    };
                    let (of_kept, of_given) = (spectrum(kept.clone()), spectrum(input.tensor(device, dtype)));
                    assert!(same(&of_kept, &of_given), "{label}");
                    let [now, before] = [kept.clone(), input.tensor(device, dtype)].map(|parts| both(parts).concat());
                    assert!(same(&now, &before), "{label}");
                }
            }
        }
    }
}

pub fn any_number_of_rows_is_right_to_the_last(device: &Device) {
    for &dtype in computed(device) {
        for rows in [1, 2, 7, 8, 9, 16, 17, 33, 70] {
            for n in [1, 2, 3, 6, 14, 35, 60, 121, 128, 210, 360, 1000, 1024] {
                if !is_software(device) || (rows, n) == (9, 60) {
                    check_kinds(device, dtype, rows, n, &[0, rows / 2, rows - 1]);
                }
            }
        }
    }
}

pub fn primes_match_the_definition() {
    for n in (513..=2011).filter(|&n| largest_factor(n) == n) {
        for dtype in [DType::F32, DType::F64] {
            check_kinds(&Device::flex(), dtype, 2, n, &[1]);
        }
    }
}

/// Lengths whose definition takes too long: against rustfft in float64, which is checked against the definition at some
/// bins.
pub fn long_lengths_match_float64() {
    let smooth = (513..=20_000).filter(|&n| largest_factor(n) <= 7);
    let powers = (15..=20).map(|power| 1 << power);
    for (index, n) in smooth.chain(powers).chain([19_999, 65_537, 100_003]).enumerate() {
        let rows = if n > 2048 { 1 } else { [1, 18][index % 5 / 4] };
        let expected = LongRow::of(FftRows::noise(rows, n), FftRows::noise(rows, n / 2 + 1), n);
        for dtype in [DType::F32, DType::F64] {
            expected.check(dtype, rows - 1);
        }
    }
}

/// Rows of `n` values, rows of as many bins as a real row of `n` values has, and the transforms of the last ones.
struct LongRow {
    n: usize,
    full: FftRows,
    half: FftRows,
    forward: Vec<Complex>,
    inverse_real: Vec<f64>,
}

impl LongRow {
    fn of(full: FftRows, half: FftRows, n: usize) -> Self {
        let plan = f64::plan(n, FftDirection::Forward);
        let transform = |row: &[Complex]| {
            let mut row: Vec<_> = row.iter().map(|z| rustfft::num_complex::Complex::new(z.re, z.im)).collect();
            plan.process(&mut row);
            row.iter().map(|z| Complex::new(z.re, z.im)).collect::<Vec<_>>()
        };
        let last = full.re.len() / n - 1;
        let (row, bins) = (full.row(last), half.row(last));
        let forward = transform(&row);
        let picked = [0, 1, n / 3, n - 1];
        let of_picked: Vec<Complex> = picked.iter().map(|&bin| forward[bin]).collect();
        let error = relative_error(&flat(&of_picked), &flat(&dft_bins(&row, &picked)));
        assert!(error < 1e-12, "rustfft, {n}");
        // The inverse transform of a Hermitian spectrum is the forward one of its conjugate.
        let conjugate = |k: usize| match k {
            0 => Complex::new(bins[0].re, 0.0),
            k if 2 * k == n => Complex::new(bins[k].re, 0.0),
            k if 2 * k < n => Complex::new(bins[k].re, -bins[k].im),
            k => bins[n - k],
        };
        let samples = transform(&(0..n).map(conjugate).collect::<Vec<_>>());
        let inverse_real = samples.iter().map(|z| z.re / n as f64).collect();
        Self { n, full, half, forward, inverse_real }
    }

    /// The inverse transform, whose bins are those of the forward one in the other order.
    fn inverse(&self) -> Vec<Complex> {
        let scale = 1.0 / self.n as f64;
        (0..self.n).map(|k| self.forward[(self.n - k) % self.n]).map(|z| scale * z).collect()
    }

    /// The transform of the real part alone, up to Nyquist.
    fn real(&self) -> Vec<Complex> {
        let mirrored = |k: usize| {
            let (a, b) = (self.forward[k], self.forward[(self.n - k) % self.n]);
            0.5 * Complex::new(a.re + b.re, a.im - b.im)
        };
        (0..self.n / 2 + 1).map(mirrored).collect()
    }

    fn check(&self, dtype: DType, row: usize) {
        let (n, device) = (self.n, &Device::flex());
        let tolerance = tolerance(n, dtype);
        let label = |kind: &str| format!("{kind} of {n} in {dtype:?}");
        let input = self.full.tensor(device, dtype);
        let forward = both(fft(input.clone()).unwrap());
        check(&label("fft"), &forward, row, &flat(&self.forward), tolerance);
        let inverse = both(ifft(input.clone()).unwrap());
        check(&label("ifft"), &inverse, row, &flat(&self.inverse()), tolerance);
        let real = both(rfft(input.re).unwrap());
        check(&label("rfft"), &real, row, &flat(&self.real()), tolerance);
        let inverse_real = vec![values(irfft(self.half.tensor(device, dtype), n).unwrap())];
        check(&label("irfft"), &inverse_real, row, &self.inverse_real, tolerance);
    }
}

pub fn rows_are_cut_and_padded(device: &Device) {
    for &dtype in computed(device) {
        for (rows, width, n) in [(3, 10, 16), (3, 20, 12), (20, 50, 64), (20, 100, 60), (20, 9, 60), (17, 3, 128)] {
            if is_software(device) && n != 60 {
                continue;
            }
            let input = FftRows::noise(rows, width);
            let definition = |forward| FftDefinition { n, forward, scale: 1.0, interior: 1.0 };
            let tensor = input.tensor(device, dtype);
            let spectrum = both(fft_with(tensor.clone(), Some(n), -1, Norm::Backward).unwrap());
            let real = both(rfft_with(tensor.re.clone(), Some(n), -1, Norm::Backward).unwrap());
            let inverse = vec![values(irfft_with(tensor, Some(n), -1, Norm::Forward).unwrap())];
            for row in [0, rows - 1] {
                let label = format!("{width} values as {n}");
                let tolerance = tolerance(n, dtype);
                check(&label, &spectrum, row, &flat(&definition(true).complex(&input.row(row))), tolerance);
                check(&label, &real, row, &flat(&definition(true).real(input.real(row))), tolerance);
                check(&label, &inverse, row, &definition(false).inverse_real(&input.row(row)), tolerance);
            }
        }
    }
}

pub fn small_floats_compute_in_f32(device: &Device) {
    let rows = FftRows::noise(3, 60);
    for dtype in [DType::F16, DType::BF16].into_iter().filter(|&dtype| device.supports_dtype(dtype)) {
        let small = rows.tensor(device, dtype);
        let wide = small.clone().map(|part| part.cast(DType::F32));
        let (a, b) = (fft(small.clone()).unwrap(), fft(wide.clone()).unwrap());
        assert_eq!((a.re.dtype(), a.im.dtype()), (DType::F32, DType::F32));
        assert!(same(&both(a).concat(), &both(b).concat()), "{dtype:?}");
        let (a, b) = (rfft(small.re).unwrap(), rfft(wide.re).unwrap());
        assert!(same(&both(a).concat(), &both(b).concat()), "{dtype:?}");
        // Values that both types have.
        let exact = TensorData::new(vec![0.5f32; 4], [4]);
        let spectrum = rfft_with(Tensor::<1>::from_data(exact, (device, dtype)), None, 0, Norm::Backward).unwrap();
        assert_eq!(values(spectrum.re), [2.0, 0.0, 0.0], "{dtype:?}");
    }
}

pub fn a_row_that_is_not_finite_changes_no_other() {
    for n in [7, 60, 64, 97, 100] {
        for rows in [2, 20] {
            let clean = FftRows::noise(rows, n);
            let mut spoilt = FftRows::noise(rows, n);
            spoilt.re[n + 1] = f64::NAN;
            spoilt.im[n + 2] = f64::INFINITY;
            let run = |rows: &FftRows| {
                let input = rows.tensor(&Device::flex(), DType::F32);
                let half = input.clone().map(|part| part.narrow(1, 0, n / 2 + 1));
                let mut all = both(fft(input.clone()).unwrap());
                all.extend(both(rfft(input.re).unwrap()));
                all.push(values(irfft(half, n).unwrap()));
                all
            };
            for (clean, spoilt) in run(&clean).iter().zip(run(&spoilt)) {
                let length = clean.len() / rows;
                for row in (0..rows).filter(|&row| row != 1) {
                    let range = row * length..(row + 1) * length;
                    assert!(same(&clean[range.clone()], &spoilt[range]), "n {n}, {rows} rows, row {row}");
                }
                assert!(spoilt[length..2 * length].iter().any(|value| !value.is_finite()));
            }
        }
    }
}

pub fn transposed_input_is_the_same() {
    let rows = FftRows::noise(20, 36);
    let input = rows.tensor(&Device::flex(), DType::F32);
    let expected = both(fft(input.clone()).unwrap());
    let turned = input.map(|part| part.swap_dims(0, 1));
    let along_0 = fft_with(turned.clone(), None, 0, Norm::Backward).unwrap().map(|part| part.swap_dims(0, 1));
    assert!(same(&both(along_0).concat(), &expected.concat()));
    let view = fft(turned.map(|part| part.swap_dims(0, 1))).unwrap();
    assert!(same(&both(view).concat(), &expected.concat()));
}

pub fn no_rows_give_no_rows() {
    let none = Tensor::<2>::zeros([0, 12], &Device::flex());
    assert_eq!(rfft(none.clone()).unwrap().dims(), [0, 7]);
    assert_eq!(fft_with(none.clone(), Some(5), 1, Norm::Backward).unwrap().dims(), [0, 5]);
    assert_eq!(irfft(none.into(), 9).unwrap().dims(), [0, 9]);

    // A dimension in the middle that is empty.
    let none = Tensor::<3>::zeros([2, 0, 12], &Device::flex());
    assert_eq!(frames::<3, 4>(none.clone(), 4, 4).unwrap().dims(), [2, 0, 3, 4]);
    assert_eq!(overlap_add::<3, 2>(none.clone().swap_dims(0, 1), 6).unwrap().dims(), [0, 18]);
    let options = StftOptions::new(4).with_hop(2);
    let spectra = stft::<3, 4>(none.clone(), None, &options).unwrap();
    assert_eq!(spectra.dims(), [2, 0, 3, 7]);
    assert_eq!(istft::<4, 3>(spectra, None, &options, None).unwrap().dims(), [2, 0, 12]);
    assert_eq!(resample(none.clone(), 9, 2).unwrap().dims(), [2, 0, 9]);
    assert_eq!(resample_poly(none, 3, 2, 2, None).unwrap().dims(), [2, 0, 18]);
}
