//! Every instruction set this processor has, against definitions in double precision and against itself.

use std::ops::Range;

use rayon::ThreadPoolBuilder;

use crate::cpu::isa::lines::with_lines;
use crate::cpu::isa::portable::{Portable, PortableToken};
use crate::cpu::isa::register::Register;
use crate::cpu::isa::{InstructionSet, Kernel};
use crate::cpu::tests::{
    lengths, naive_factor, naive_windowed, noise, reduced, relative_error, single, single_tolerance, window,
};
use crate::cpu::top_k::{top_k_of_bins, top_k_row};
use crate::cpu::welch::estimate::Estimate;
use crate::cpu::welch::forward::{PeakRows, WelchCall, WelchKernel, WelchOutputs};
use crate::cpu::{welch_peaks, welch_psd};
use crate::options::{Band, Detrend, Scaling, WelchOptions};
use crate::rustfft_plans::Planned;

const LENGTHS: [usize; 12] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 65536];

/// Power by the definition, with a transform in double precision.
fn expected_power(frame: &[f64], window: &[f64], options: &WelchOptions) -> Vec<f64> {
    let transform = f64::plan(options.n_fft, rustfft::FftDirection::Forward);
    let mut power = vec![0.0; options.bins()];
    // Bins 0 and n / 2 have one factor, the others another.
    let [edge, interior] = [0, 1].map(|k| naive_factor(window, options, k) / options.segments as f64);
    for segment in 0..options.segments {
        let mut spectrum: Vec<_> = naive_windowed(frame, window, options, segment)
            .into_iter()
            .map(rustfft::num_complex::Complex::from)
            .collect();
        transform.process(&mut spectrum);
        for (k, power) in power.iter_mut().enumerate() {
            let factor = if k % (options.n_fft / 2) == 0 { edge } else { interior };
            *power += factor * spectrum[k].norm_sqr();
        }
    }
    power
}

fn psd(signal: &[f32], frame_len: usize, window: &[f32], options: &WelchOptions) -> Vec<f32> {
    let mut power = vec![f32::NAN; signal.len() / frame_len * options.bins()];
    welch_psd(signal, frame_len, &Estimate::new(window, None, options), &mut power);
    power
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn power_is_that_of_the_definition() {
    for n in lengths(&LENGTHS) {
        // The longest are slow in double precision.
        let segments = if n <= 4096 { &[1, 2, 3, 8][..] } else { &[1, 2] };
        for (case, &segments) in segments.iter().enumerate() {
            for (hop, detrend) in [(n / 2, Detrend::None), (n / 4 + 1, Detrend::Constant), (n + 3, Detrend::Constant)] {
                let scaling = [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }][case % 3];
                let options = WelchOptions { hop, scaling, detrend, ..WelchOptions::new(n, segments) };
                // An odd length, so that rows have every alignment; 0.4 for detrending to take off.
                let frame_len = options.frame() | 1;
                let signal: Vec<f64> = noise(3 * frame_len, 11).iter().map(|x| x + 0.4).collect();
                let window = [window(n), vec![1.0; n]][case % 2].clone();
                let expected: Vec<f64> =
                    signal.chunks(frame_len).flat_map(|frame| expected_power(frame, &window, &options)).collect();
                for set in InstructionSet::available() {
                    let power = set.force(|| psd(&single(&signal), frame_len, &single(&window), &options));
                    for (row, (power, expected)) in
                        power.chunks(options.bins()).zip(expected.chunks(options.bins())).enumerate()
                    {
                        let power: Vec<f64> = power.iter().copied().map(f64::from).collect();
                        let error = relative_error(&power, expected);
                        assert!(error < single_tolerance(n), "{set}, row {row}, {options:?}: {error:e}");
                    }
                }
            }
        }
    }
}

/// Power of rows by registers of `V`, which this processor need not have.
fn psd_of<V: Register<Token = PortableToken>>(
    signal: &[f32],
    frame_len: usize,
    window: &[f32],
    options: &WelchOptions,
) -> Vec<f32> {
    let call = WelchCall::new(frame_len, &Estimate::new(window, None, options));
    let mut power = vec![f32::NAN; signal.len() / frame_len * options.bins()];
    with_lines(call.lines(), |memory| {
        WelchKernel { call, memory, frames: signal, outputs: WelchOutputs::Power(&mut power) }.run::<V>(PortableToken);
    });
    power
}

#[test]
fn every_width_of_register_gives_the_power_of_the_definition() {
    for n in lengths(&[256, 512, 1024, 2048, 4096, 16_384]) {
        for segments in [1, 2, 3] {
            let options = WelchOptions::new(n, segments);
            let frame = noise(options.frame(), 16);
            let window = window(n);
            let expected = expected_power(&frame, &window, &options);
            let (frame, window) = (single(&frame), single(&window));
            for power in [
                psd_of::<Portable<8>>(&frame, frame.len(), &window, &options),
                psd_of::<Portable<16>>(&frame, frame.len(), &window, &options),
            ] {
                let power: Vec<f64> = power.into_iter().map(f64::from).collect();
                let error = relative_error(&power, &expected);
                assert!(error < single_tolerance(n), "{options:?}: {error:e}");
            }
        }
    }
}

/// Two rows of a register.
type TwoRows = Portable<8, 2>;

#[test]
fn rows_side_by_side_have_the_power_of_the_definition_and_share_nothing() {
    for n in lengths(&[128, 256]) {
        for (segments, rows) in [(2, 3), (1, 5), (3, 1)].into_iter().take(reduced(3, 1)) {
            let options = WelchOptions { detrend: Detrend::Constant, ..WelchOptions::new(n, segments) };
            let (frame_len, bins) = (options.frame() + 1, options.bins());
            let (signal, window) = (noise(rows * frame_len, 17), window(n));
            let (frames, window_values) = (single(&signal), single(&window));
            let power = psd_of::<TwoRows>(&frames, frame_len, &window_values, &options);
            for (row, frame) in signal.chunks(frame_len).enumerate() {
                let expected = expected_power(frame, &window, &options);
                let of_row = &power[row * bins..][..bins];
                let error = relative_error(&of_row.iter().copied().map(f64::from).collect::<Vec<_>>(), &expected);
                assert!(error < single_tolerance(n), "row {row}, {options:?}: {error:e}");
                let alone =
                    psd_of::<TwoRows>(&frames[row * frame_len..][..frame_len], frame_len, &window_values, &options);
                assert_eq!(bits(&alone), bits(of_row), "row {row}, {options:?}");
                let mut dirty = frames.clone();
                dirty[row * frame_len + 3] = f32::NAN;
                let dirty = psd_of::<TwoRows>(&dirty, frame_len, &window_values, &options);
                for (other, (dirty, clean)) in dirty.chunks(bins).zip(power.chunks(bins)).enumerate() {
                    assert_eq!(bits(dirty) == bits(clean), other != row, "row {other} by row {row}, {options:?}");
                }
            }
            let k = 16;
            let call = WelchCall::new(frame_len, &Estimate::new(&window_values, None, &options));
            let (mut keys, mut peak_bins, mut peak_power) = (vec![0; bins], vec![0; rows * k], vec![0.0; rows * k]);
            with_lines(call.lines(), |memory| {
                let peaks = PeakRows { k, keys: &mut keys, bins: &mut peak_bins, power: &mut peak_power };
                WelchKernel { call, memory, frames: &frames, outputs: WelchOutputs::Peaks(peaks) }
                    .run::<TwoRows>(PortableToken);
            });
            for (row, power) in power.chunks(bins).enumerate() {
                let (mut expected_bins, mut expected_power) = (vec![0; k], vec![0.0; k]);
                top_k_row(power, &mut keys, &mut expected_bins, &mut expected_power);
                assert_eq!(peak_bins[row * k..][..k], expected_bins, "row {row}, {options:?}");
                assert_eq!(bits(&peak_power[row * k..][..k]), bits(&expected_power), "row {row}, {options:?}");
            }
        }
    }
}

/// Peaks of the bins `searched` of rows of power.
fn peaks_of(power: &[f32], bins: usize, searched: Range<usize>, k: usize) -> (Vec<i64>, Vec<u32>) {
    let (mut found, mut strength) = (Vec::new(), Vec::new());
    for power in power.chunks(bins) {
        let (mut keys, mut of_row, mut power_of_row) = (vec![0; searched.len()], vec![0; k], vec![0.0; k]);
        top_k_of_bins(power, searched.clone(), &mut keys, &mut of_row, &mut power_of_row);
        found.extend(of_row);
        strength.extend(bits(&power_of_row));
    }
    (found, strength)
}

#[test]
fn peaks_of_a_band_are_the_strongest_of_its_bins() {
    // Every engine: transforms across registers, a row per lane, short segments, and planned transforms.
    for n in lengths(&[16, 64, 100, 256, 1024]) {
        for segments in [1, 2, 3] {
            let (bins, rows) = (n / 2 + 1, reduced(37, 9));
            for (first, end) in [(0, bins / 2), (1, bins), (bins / 3, bins / 3 + 5), (bins - 2, bins), (3, 4)] {
                let options = WelchOptions::new(n, segments).with_band(Some(Band::new(first..end)));
                let (frame_len, k) = (options.frame() + 1, (end - first).min(16));
                let mut signal = single(&noise(rows * frame_len, 12));
                // A row whose peaks are missing.
                signal[2 * frame_len + 5] = f32::NAN;
                let window = single(&window(n));
                for set in InstructionSet::available() {
                    set.force(|| {
                        let (mut found, mut power) = (vec![0; rows * k], vec![0.0; rows * k]);
                        welch_peaks(
                            &signal,
                            frame_len,
                            &Estimate::new(&window, None, &options),
                            k,
                            &mut found,
                            &mut power,
                        );
                        let expected = peaks_of(&psd(&signal, frame_len, &window, &options), bins, first..end, k);
                        assert_eq!(
                            (found, bits(&power)),
                            expected,
                            "{set}, n {n}, {segments} segments, {first}..{end}"
                        );
                    });
                }
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_wherever_it_is() {
    for n in lengths(&[64, 128, 256, 512, 1024]) {
        for segments in [1, 2, 3] {
            let options = WelchOptions { detrend: Detrend::Constant, ..WelchOptions::new(n, segments) };
            let (frame_len, bins, rows, k) = (options.frame() + 1, options.bins(), reduced(37, 9), 16);
            let (signal, window) = (single(&noise(rows * frame_len, 12)), single(&window(n)));
            for set in InstructionSet::available() {
                let peaks = |signal: &[f32]| {
                    let rows = signal.len() / frame_len;
                    let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                    welch_peaks(
                        signal,
                        frame_len,
                        &Estimate::new(&window, None, &options),
                        k,
                        &mut peak_bins,
                        &mut peak_power,
                    );
                    (peak_bins, bits(&peak_power))
                };
                set.force(|| {
                    let (power, (peak_bins, peak_power)) = (psd(&signal, frame_len, &window, &options), peaks(&signal));
                    for (row, frame) in signal.chunks(frame_len).enumerate() {
                        let alone = psd(frame, frame_len, &window, &options);
                        assert_eq!(bits(&alone), bits(&power[row * bins..][..bins]), "{set}, n {n}, row {row}");
                        let expected = (peak_bins[row * k..][..k].to_vec(), peak_power[row * k..][..k].to_vec());
                        assert_eq!(peaks(frame), expected, "{set}, n {n}, row {row}");
                    }
                    // A shorter batch, whose last tile is not full.
                    let tail = peaks(&signal[5 * frame_len..]);
                    assert_eq!((&tail.0[..], &tail.1[..]), (&peak_bins[5 * k..], &peak_power[5 * k..]));
                });
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let n = reduced(256, 16);
    let options = WelchOptions::new(n, 3);
    let (rows, k) = (reduced(3001, 9), reduced(16, 4));
    let (signal, window) = (single(&noise(rows * options.frame(), 13)), single(&window(n)));
    for set in InstructionSet::available() {
        let in_pool = |threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
            // The set is chosen on the calling thread.
            pool.install(|| {
                set.force(|| {
                    let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                    welch_peaks(
                        &signal,
                        options.frame(),
                        &Estimate::new(&window, None, &options),
                        k,
                        &mut peak_bins,
                        &mut peak_power,
                    );
                    (peak_bins, bits(&peak_power), bits(&psd(&signal, options.frame(), &window, &options)))
                })
            })
        };
        let one = in_pool(1);
        assert!([2, 3].into_iter().all(|threads| in_pool(threads) == one), "{set}");
    }
}

#[test]
fn a_row_that_is_not_finite_stays_alone() {
    let sizes = [(16, 3), (64, 3), (128, 3), (256, 1), (256, 3), (1024, 3)];
    for (n, segments) in sizes.into_iter().take(reduced(sizes.len(), 1)) {
        let options = WelchOptions::new(n, segments);
        let (frame_len, bins, rows, k) = (options.frame(), options.bins(), 21, 5);
        let (signal, window) = (single(&noise(rows * frame_len, 14)), single(&vec![1.0; n]));
        for set in InstructionSet::available() {
            set.force(|| {
                let clean = psd(&signal, frame_len, &window, &options);
                for (row, sample, value) in [(0, 3, f32::NAN), (9, n / 2, f32::INFINITY), (20, frame_len - 1, f32::NAN)]
                {
                    let mut signal = signal.to_vec();
                    signal[row * frame_len + sample] = value;
                    let dirty = psd(&signal, frame_len, &window, &options);
                    for other in 0..rows {
                        let of = |power: &[f32]| bits(&power[other * bins..][..bins]);
                        if other == row {
                            assert!(dirty[row * bins..][..bins].iter().all(|power| !power.is_finite()));
                        } else {
                            assert_eq!(of(&dirty), of(&clean), "{set}, row {other} by row {row}");
                        }
                    }
                    let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                    welch_peaks(
                        &signal,
                        frame_len,
                        &Estimate::new(&window, None, &options),
                        k,
                        &mut peak_bins,
                        &mut peak_power,
                    );
                    assert_eq!(peak_bins[row * k..][..k], [-1; 5]);
                    assert!(peak_power[row * k..][..k].iter().all(|power| power.is_nan()));
                    assert!(peak_power.iter().filter(|power| power.is_nan()).count() == k);
                }
            });
        }
    }
}

#[test]
fn peaks_are_the_top_of_the_power() {
    for n in lengths(&LENGTHS) {
        let options = WelchOptions::new(n, 2);
        let (frame_len, bins, rows) = (options.frame(), options.bins(), 19);
        let mut signal = single(&noise(rows * frame_len, 15));
        // A silent row, and one with a single line.
        signal[frame_len..2 * frame_len].fill(0.0);
        signal[2 * frame_len..3 * frame_len].fill(1.0);
        let window = single(&window(n));
        for set in InstructionSet::available() {
            set.force(|| {
                let power = psd(&signal, frame_len, &window, &options);
                for k in [1, 7, 16, 17, 40, bins].into_iter().filter(|&k| k <= bins) {
                    let (mut expected_bins, mut expected_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                    for (row, power) in power.chunks(bins).enumerate() {
                        let at = row * k..(row + 1) * k;
                        let (bins, peaks) = (&mut expected_bins[at.clone()], &mut expected_power[at]);
                        top_k_row(power, &mut vec![0; power.len()], bins, peaks);
                    }
                    let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                    welch_peaks(
                        &signal,
                        frame_len,
                        &Estimate::new(&window, None, &options),
                        k,
                        &mut peak_bins,
                        &mut peak_power,
                    );
                    assert_eq!(peak_bins, expected_bins, "{set}, n {n}, k {k}");
                    assert_eq!(bits(&peak_power), bits(&expected_power), "{set}, n {n}, k {k}");
                }
            });
        }
    }
}
