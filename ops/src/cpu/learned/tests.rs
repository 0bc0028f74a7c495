//! Every instruction set this processor has, against the scalar engine in double precision, and against itself.

use rayon::ThreadPoolBuilder;

use crate::cpu::butterfly::tests::{GatePattern, bits, double, rounded};
use crate::cpu::tests::learned::LearnedModel;
use crate::cpu::tests::learned_gradient::gradients as learned_gradients;
use crate::cpu::tests::{noise, reduced, relative_error, single, single_tolerance};
use crate::cpu::{InstructionSet, learned_welch_peaks, learned_welch_psd, welch_peaks, welch_psd};
use crate::options::{Detrend, Scaling, WelchOptions};

/// Models with the gates of every kind, and one whose gain takes products.
fn models(options: WelchOptions) -> impl Iterator<Item = LearnedModel<f64>> {
    let models = GatePattern::ALL.into_iter().map(move |kind| {
        let mut model = LearnedModel::perturbed(options, false);
        model.gates = kind.values(options.n_fft);
        model.map(rounded)
    });
    models.chain([LearnedModel::perturbed(options, true).with_products().map(rounded)])
}

/// Exact transforms of an even and of an odd number of segments, by registers of one and of two rows.
#[test]
fn gains_on_products_are_those_in_double_precision() {
    for n in [64, 128, 256, 512, 2048].into_iter().take(reduced(5, 1)) {
        let options = WelchOptions::new(n, 5);
        let (frame_len, rows, k) = (options.frame() + 3, reduced(37, 5), 7);
        let signal = rounded(noise(rows * frame_len, 78).into_iter().map(|x| x + 0.3).collect());
        for open in [&[0, 1][..], &[3], &[0, 2, 4], &[0, 1, 2, 4]] {
            let model = LearnedModel::windowed(options, open, 1.0 / open.len() as f64).with_products().map(rounded);
            let expected = model.psd(&signal, frame_len);
            let (model, signal) = (model.single(), single(&signal));
            for set in InstructionSet::available() {
                let power = set.force(|| model.psd(&signal, frame_len));
                let error = relative_error(&double(&power), &expected);
                assert!(error < 2.0 * single_tolerance(n), "{set}, n {n}, {open:?}: {error:e}");
                // The peaks are those of the power, to the bit.
                let [mut peaks, mut strongest] = [0; 2].map(|_| (vec![0; rows * k], vec![0.0; rows * k]));
                set.force(|| {
                    learned_welch_peaks(&signal, frame_len, &model.borrow(), k, &mut peaks.0, &mut peaks.1);
                    crate::cpu::top_k(&power, options.bins(), k, &mut strongest.0, &mut strongest.1);
                });
                assert_eq!((peaks.0, bits(&peaks.1)), (strongest.0, bits(&strongest.1)), "{set}, n {n}, {open:?}");
            }
        }
    }
}

#[test]
fn learned_power_and_gradients_are_those_in_double_precision() {
    let cases =
        [(8, 2, Detrend::Constant), (64, 3, Detrend::None), (256, 2, Detrend::Constant), (512, 1, Detrend::None)];
    for (n, segments, detrend) in cases.into_iter().take(reduced(cases.len(), 1)) {
        let options = WelchOptions { detrend, ..WelchOptions::new(n, segments) };
        let (frame_len, rows) = (options.frame() + 3, 21);
        let signal = rounded(noise(rows * frame_len, 73).into_iter().map(|x| x + 0.3).collect());
        let grad_power = rounded(noise(rows * options.bins(), 74));
        for mut model in models(options) {
            model.weights[segments / 2] *= f64::from(u8::from(segments < 3));
            let expected = model.psd(&signal, frame_len);
            let expected_gradients = learned_gradients(&model, &signal, frame_len, &grad_power);
            let model = model.single();
            for set in InstructionSet::available() {
                let (power, found) = set.force(|| {
                    let signal = single(&signal);
                    let gradients = learned_gradients(&model, &signal, frame_len, &single(&grad_power));
                    (model.psd(&signal, frame_len), gradients)
                });
                let error = relative_error(&double(&power), &expected);
                assert!(error < 2.0 * single_tolerance(n), "{set}, n {n}: {error:e}");
                for (what, (found, expected)) in found.iter().zip(&expected_gradients).enumerate() {
                    if expected.iter().all(|&value| value == 0.0) {
                        assert!(found.iter().all(|&value| value == 0.0), "{set}, n {n}, gradient {what}");
                        continue;
                    }
                    let error = relative_error(&double(found), expected);
                    assert!(error < 8.0 * single_tolerance(n), "{set}, n {n}, gradient {what}: {error:e}");
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn the_exact_model_has_the_bits_of_welch() {
    for (n, segments) in
        [(8, 2), (32, 3), (64, 1), (64, 2), (128, 1), (256, 1), (256, 2), (256, 3), (512, 8), (2048, 2)]
    {
        for detrend in [Detrend::None, Detrend::Constant] {
            for scaling in [Scaling::Power, Scaling::Spectrum, Scaling::Density { sample_rate: 2.5 }] {
                let options = WelchOptions { detrend, scaling, ..WelchOptions::new(n, segments) };
                let (frame_len, rows, k) = (options.frame() + 1, 37, 9.min(options.bins()));
                let signal = single(&noise(rows * frame_len, 77));
                let mut model = LearnedModel::exact(options);
                model.gates = Some(vec![1.0; model.twiddles.len() / 2]);
                let model = model.single();
                for set in InstructionSet::available() {
                    set.force(|| {
                        let mut expected = vec![0.0; rows * options.bins()];
                        welch_psd(&signal, frame_len, &model.window, &options, &mut expected);
                        assert_eq!(bits(&model.psd(&signal, frame_len)), bits(&expected), "{set}, {options:?}");
                        let [mut peaks, mut expected] = [0; 2].map(|_| (vec![0; rows * k], vec![0.0; rows * k]));
                        welch_peaks(&signal, frame_len, &model.window, &options, k, &mut expected.0, &mut expected.1);
                        learned_welch_peaks(&signal, frame_len, &model.borrow(), k, &mut peaks.0, &mut peaks.1);
                        assert_eq!((peaks.0, bits(&peaks.1)), (expected.0, bits(&expected.1)), "{set}, {options:?}");
                    });
                }
            }
        }
    }
}

#[test]
fn learned_results_depend_neither_on_threads_nor_on_neighbours() {
    let options = WelchOptions { detrend: Detrend::Constant, ..WelchOptions::new(reduced(64, 32), 2) };
    let (frame_len, rows, k) = (options.frame() + 1, reduced(601, 10), 16);
    let signal = single(&noise(rows * frame_len, 75));
    let grad_power = single(&noise(rows * options.bins(), 76));
    let exact = LearnedModel::windowed(options, &[0, 1], 0.5);
    let models = models(options).chain([exact]).collect::<Vec<_>>();
    // Under Miri the first kind of gates and the exact transform.
    for model in models.iter().step_by(reduced(1, models.len() - 1)).map(LearnedModel::single) {
        for set in InstructionSet::available() {
            let run = |signal: &[f32]| {
                let rows = signal.len() / frame_len;
                let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
                learned_welch_peaks(signal, frame_len, &model.borrow(), k, &mut peak_bins, &mut peak_power);
                let mut power = vec![0.0; rows * options.bins()];
                learned_welch_psd(signal, frame_len, &model.borrow(), &mut power);
                (peak_bins, bits(&peak_power), bits(&power))
            };
            let in_pool = |threads| {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
                pool.install(|| {
                    set.force(|| {
                        let gradients = learned_gradients(&model, &signal, frame_len, &grad_power);
                        (run(&signal), gradients.map(|gradient| bits(&gradient)))
                    })
                })
            };
            let ((peak_bins, peak_power, power), gradients) = in_pool(1);
            for threads in [2, 3] {
                let ((bins, peaks, all), found) = in_pool(threads);
                assert!((&bins, &peaks, &all, &found) == (&peak_bins, &peak_power, &power, &gradients), "{set}");
            }
            for row in [0, 7, 8, rows / 2, rows - 1] {
                let alone = set.force(|| run(&signal[row * frame_len..(row + 1) * frame_len]));
                assert_eq!(alone.0, peak_bins[row * k..][..k]);
                assert_eq!(alone.1, peak_power[row * k..][..k]);
                assert_eq!(alone.2, power[row * options.bins()..][..options.bins()]);
            }
        }
    }
}
