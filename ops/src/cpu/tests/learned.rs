use firefly_reference::learned::{LearnedValues, learned_welch_power};

use super::*;
use crate::cpu::welch::sums::sums_of_rows;
use crate::cpu::{
    ButterflyTransform, InstructionSet, LearnedWelch, Real, learned_welch_peaks, learned_welch_psd, welch_psd,
};
use crate::options::Band;

/// The tensors of a [`LearnedWelch`].
#[derive(Debug, Clone)]
pub(in crate::cpu) struct LearnedModel<T> {
    pub window: Vec<T>,
    pub twiddles: Vec<T>,
    pub gates: Option<Vec<T>>,
    pub weights: Vec<T>,
    pub gain: Vec<T>,
    pub options: WelchOptions,
}

impl LearnedModel<f64> {
    /// A model whose tensors are all away from the exact ones.
    pub fn perturbed(options: WelchOptions, gated: bool) -> Self {
        let (n, bins) = (options.n_fft, options.bins());
        Self {
            window: window(n),
            twiddles: perturbed_twiddles(n, 31),
            gates: gated.then(|| random_gates(n, 32)),
            weights: uniform(options.segments, 33, 0.2, 1.0),
            gain: uniform(3 * bins, 34, 0.2, 1.5),
            options,
        }
    }

    /// The model that computes the Welch power.
    pub fn exact(options: WelchOptions) -> Self {
        Self {
            window: window(options.n_fft),
            twiddles: exact_twiddles(options.n_fft),
            gates: None,
            weights: vec![1.0 / options.segments as f64; options.segments],
            gain: [0.0, 1.0, 0.0].repeat(options.bins()),
            options,
        }
    }

    /// A model with exact twiddles and open gates, whose window and gain are learned, of the segments `open`.
    pub fn windowed(options: WelchOptions, open: &[usize], weight: f64) -> Self {
        let mut model = Self { twiddles: exact_twiddles(options.n_fft), ..Self::perturbed(options, false) };
        model.gates = Some(vec![1.0; model.twiddles.len() / 2]);
        model.weights =
            (0..options.segments).map(|segment| if open.contains(&segment) { weight } else { 0.0 }).collect();
        model
    }

    /// The model with a gain that takes products of neighbours.
    pub fn with_products(self) -> Self {
        Self { gain: uniform(5 * self.options.bins(), 36, -0.3, 0.9), ..self }
    }

    /// The model with `change` made to every tensor.
    pub fn map(&self, change: impl Fn(Vec<f64>) -> Vec<f64>) -> Self {
        Self {
            window: change(self.window.clone()),
            twiddles: change(self.twiddles.clone()),
            gates: self.gates.clone().map(&change),
            weights: change(self.weights.clone()),
            gain: change(self.gain.clone()),
            options: self.options,
        }
    }

    pub fn single(&self) -> LearnedModel<f32> {
        LearnedModel {
            window: single(&self.window),
            twiddles: single(&self.twiddles),
            gates: self.gates.as_deref().map(single),
            weights: single(&self.weights),
            gain: single(&self.gain),
            options: self.options,
        }
    }

    /// Power of every row by the definition.
    fn defined(&self, signal: &[f64], frame_len: usize) -> Vec<f64> {
        let open = vec![1.0; self.twiddles.len() / 2];
        let learned = LearnedValues {
            twiddles: &self.twiddles,
            gates: self.gates.as_deref().unwrap_or(&open),
            segment_weights: &self.weights,
            gain: &self.gain,
        };
        learned_welch_power(signal, frame_len, &self.window, &definition(&self.options), &learned)
    }
}

impl<T: Real> LearnedModel<T> {
    pub fn borrow(&self) -> LearnedWelch<'_, T> {
        LearnedWelch {
            window: &self.window,
            transform: ButterflyTransform {
                n: self.options.n_fft,
                twiddles: &self.twiddles,
                gates: self.gates.as_deref(),
            },
            weights: &self.weights,
            gain: Some(&self.gain),
            options: &self.options,
        }
    }

    pub fn psd(&self, signal: &[T], frame_len: usize) -> Vec<T> {
        let mut power = vec![T::nan(); signal.len() / frame_len * self.options.bins()];
        learned_welch_psd(signal, frame_len, &self.borrow(), &mut power);
        power
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn power_is_that_of_the_definition() {
    for n in [8, 16, 64, 256] {
        for (scaling, detrend) in SCALINGS.into_iter().flat_map(|s| DETRENDS.map(|d| (s, d))) {
            for (segments, gated) in [(1, false), (2, true), (3, true)] {
                let options = WelchOptions { scaling, detrend, ..WelchOptions::new(n, segments) };
                let model = LearnedModel::perturbed(options, gated);
                let exact = LearnedModel::windowed(options, &[0, segments - 1], 0.5);
                for model in [model.clone(), model.with_products(), exact.clone(), exact.with_products()] {
                    let frame_len = options.frame() + 2;
                    let signal: Vec<f64> = noise(3 * frame_len, 35).iter().map(|x| x + 0.2).collect();
                    let expected = model.defined(&signal, frame_len);
                    assert!(relative_error(&model.psd(&signal, frame_len), &expected) < 1e-13);
                    let power = model.single().psd(&single(&signal), frame_len);
                    let power: Vec<f64> = power.into_iter().map(f64::from).collect();
                    assert!(relative_error(&power, &expected) < 2.0 * single_tolerance(n));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn power_through_exact_transforms_is_that_of_the_definition() {
    for n in [8, 64, 128, 256, 1024] {
        for (scaling, detrend) in SCALINGS.into_iter().flat_map(|s| DETRENDS.map(|d| (s, d))) {
            for (open, weight) in [(&[0, 1, 2, 3][..], 0.25), (&[1, 3], 0.5), (&[2], 1.0), (&[0, 1, 3], 0.7)] {
                let options = WelchOptions { hop: n / 2 + 3, scaling, detrend, ..WelchOptions::new(n, 4) };
                let model = LearnedModel::windowed(options, open, weight);
                let frame_len = options.frame() + 2;
                let signal: Vec<f64> = noise(3 * frame_len, 61).iter().map(|x| x + 0.2).collect();
                let expected = model.defined(&signal, frame_len);
                assert!(relative_error(&model.psd(&signal, frame_len), &expected) < 1e-13, "{options:?}");
                for set in InstructionSet::available() {
                    let power = set.force(|| model.single().psd(&single(&signal), frame_len));
                    let power: Vec<f64> = power.into_iter().map(f64::from).collect();
                    let error = relative_error(&power, &expected);
                    assert!(error < 2.0 * single_tolerance(n), "{set}, {open:?}, {options:?}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn the_exact_model_is_welch() {
    let options = WelchOptions { scaling: Scaling::Spectrum, ..WelchOptions::new(128, 4) };
    let model = LearnedModel::exact(options);
    let signal = noise(2 * options.frame(), 36);
    let mut expected = vec![0.0; 2 * options.bins()];
    welch_psd(&signal, options.frame(), &model.window, &options, &mut expected);
    assert!(relative_error(&model.psd(&signal, options.frame()), &expected) < 1e-13);
}

#[test]
fn peaks_are_the_top_of_the_power() {
    let options = WelchOptions::new(64, 3);
    let model = LearnedModel::perturbed(options, true).single();
    let (rows, bins) = (4, options.bins());
    let signal = single(&noise(rows * options.frame(), 37));
    let power = model.psd(&signal, options.frame());
    for k in [1, 6, bins] {
        let (expected_bins, expected_power) = top_k_of(&power, bins, k);
        let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
        learned_welch_peaks(&signal, options.frame(), &model.borrow(), k, &mut peak_bins, &mut peak_power);
        assert_eq!(peak_bins, expected_bins);
        assert_eq!(peak_power, expected_power);
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn blocks_of_bins_whose_gain_is_0_are_not_searched() {
    fn assert_searched<T: Real + std::fmt::Debug>(model: &LearnedModel<T>, signal: &[T], k: usize, label: &str) {
        let (options, frame_len) = (&model.options, model.options.frame());
        let (bins, rows) = (options.bins(), signal.len() / frame_len);
        let searched = options.searched();
        let open = model.borrow().open_blocks(k);
        assert!(!open.is_all(), "{label}");
        // What is not searched is not found.
        let mut power = model.psd(signal, frame_len);
        for row in power.chunks_mut(bins) {
            for closed in open.closed(searched.len()) {
                let closed = &mut row[searched.start + closed.start..searched.start + closed.end];
                assert!(closed.iter().all(|power| power.is_zero() || power.is_nan()), "{label}");
                closed.fill(T::nan());
            }
            row[..searched.start].fill(T::nan());
            row[searched.end..].fill(T::nan());
        }
        let expected = top_k_of(&power, bins, k);
        let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![T::zero(); rows * k]);
        learned_welch_peaks(signal, frame_len, &model.borrow(), k, &mut peak_bins, &mut peak_power);
        assert_eq!(peak_bins, expected.0, "{label}");
        let is_same = |(a, b): (&T, &T)| a == b || (a.is_nan() && b.is_nan());
        assert!(peak_power.iter().zip(&expected.1).all(is_same), "{label}: {peak_power:?}");
    }
    for n in [64, 128, 256, 1024, 8192] {
        for band in [None, Some(Band::new(3..n / 2 - 2))] {
            let options = WelchOptions::new(n, 3).with_band(band).with_skip_closed_blocks(true);
            let mut signal = noise(19 * options.frame(), 70);
            // A silent row, all of whose power ties, and one whose power is not finite.
            signal[..options.frame()].fill(0.0);
            signal[2 * options.frame() + 7] = f64::NAN;
            for model in [LearnedModel::windowed(options, &[0, 2], 0.5), LearnedModel::perturbed(options, true)] {
                for mut model in [model.clone(), model.with_products()] {
                    // The first block, the one in the middle, or the last with what is behind it.
                    let (taps, searched) = (model.gain.len() / options.bins(), options.searched());
                    let gain = model.gain.clone();
                    for block in [0, options.blocks() / 2, options.blocks() - 1] {
                        let first = searched.start + block * options.block_len();
                        let is_last = block + 1 == options.blocks();
                        let end = if is_last { searched.end } else { first + options.block_len() };
                        model.gain.clone_from(&gain);
                        model.gain[first * taps..end * taps].fill(0.0);
                        let label = format!("n {n}, {band:?}, {taps} taps");
                        for k in [1, 10, 16].into_iter().filter(|&k| k <= searched.len() - (end - first)) {
                            assert_searched(&model, &signal, k, &label);
                            for set in InstructionSet::available() {
                                set.force(|| assert_searched(&model.single(), &single(&signal), k, &label));
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn peaks_of_sums_are_those_of_the_signal_of_sums() {
    fn peaks<T: Real>(model: &LearnedModel<T>, signal: &[T], frame_len: usize, k: usize) -> (Vec<i64>, Vec<T>) {
        let rows = signal.len() / frame_len;
        let (mut bins, mut power) = (vec![0; rows * k], vec![T::zero(); rows * k]);
        learned_welch_peaks(signal, frame_len, &model.borrow(), k, &mut bins, &mut power);
        (bins, power)
    }
    fn assert_peaks_of_sums<T: Real>(model: &LearnedModel<T>, signal: &[T], frame_len: usize, label: &str) {
        let (sums, sums_len) = sums_of_rows(signal, frame_len, model.options.halvings);
        let of_sums = LearnedModel { options: model.options.with_halvings(0), ..model.clone() };
        assert_eq!(peaks(model, signal, frame_len, 4), peaks(&of_sums, &sums, sums_len, 4), "{label}");
    }
    for n in [16, 64, 128, 256, 1024] {
        for (halvings, detrend) in [1, 2, 3].into_iter().flat_map(|h| DETRENDS.map(|d| (h, d))) {
            for segments in [1, 2, 5] {
                let options = WelchOptions { detrend, ..WelchOptions::new(n, segments) }.with_halvings(halvings);
                // A long rest of each frame, and a short one that makes no sum.
                for frame_len in [options.frame() + 3, 3 * options.frame()] {
                    let signal: Vec<f64> = noise(19 * frame_len, 80).iter().map(|x| x + 0.3).collect();
                    let exact = LearnedModel::windowed(options, &[0, segments - 1], 0.5);
                    for model in [exact.clone().with_products(), exact, LearnedModel::perturbed(options, true)] {
                        let label = format!("{options:?}, frames of {frame_len}");
                        assert_peaks_of_sums(&model, &signal, frame_len, &label);
                        for set in InstructionSet::available() {
                            set.force(|| {
                                assert_peaks_of_sums(&model.single(), &single(&signal), frame_len, &label);
                            });
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_segment_of_weight_zero_is_skipped() {
    let options = WelchOptions { hop: 32, ..WelchOptions::new(32, 3) };
    let mut model = LearnedModel::perturbed(options, true);
    model.weights[1] = 0.0;
    let mut signal = noise(options.frame(), 38);
    let before = model.psd(&signal, options.frame());
    signal[40] = f64::NAN;
    assert_eq!(model.psd(&signal, options.frame()), before);
}

#[test]
fn the_spectrum_is_mirrored_at_its_ends() {
    let options = WelchOptions::new(8, 1);
    let mut model = LearnedModel::exact(options);
    let signal = noise(options.frame(), 39);
    let power = model.psd(&signal, options.frame());
    model.gain = [1.0, 0.0, 0.0].repeat(5);
    assert_eq!(model.psd(&signal, options.frame()), [power[1], power[0], power[1], power[2], power[3]]);
    model.gain = [0.0, 0.0, 1.0].repeat(5);
    assert_eq!(model.psd(&signal, options.frame()), [power[1], power[2], power[3], power[4], power[3]]);
}
