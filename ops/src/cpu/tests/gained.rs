//! Estimates with a gain of the bins, from all segments or from chosen ones.

use firefly_reference::learned::{LearnedValues, apply_gain, learned_welch_power};

use super::*;
use crate::cpu::{Estimate, InstructionSet, welch_peaks, welch_psd, welch_psd_backward};
use crate::options::SegmentSet;

/// An estimate with all its numbers.
#[derive(Debug, Clone)]
pub(in crate::cpu) struct GainedEstimate<T> {
    pub window: Vec<T>,
    pub gain: Vec<T>,
    pub options: WelchOptions,
}

impl GainedEstimate<f64> {
    /// An estimate of three or five factors per bin.
    pub fn new(options: WelchOptions, taps: usize) -> Self {
        let gain = match taps {
            3 => uniform(3 * options.bins(), 34, 0.2, 1.5),
            _ => uniform(5 * options.bins(), 36, -0.3, 0.9),
        };
        Self { window: window(options.n_fft), gain, options }
    }

    pub fn single(&self) -> GainedEstimate<f32> {
        GainedEstimate { window: single(&self.window), gain: single(&self.gain), options: self.options }
    }

    /// The same numbers as f32 has them.
    fn rounded(&self) -> Self {
        let rounded = |values: &[f64]| single(values).into_iter().map(f64::from).collect();
        Self { window: rounded(&self.window), gain: rounded(&self.gain), options: self.options }
    }

    /// Power of every row by the definition.
    fn defined(&self, signal: &[f64], frame_len: usize) -> Vec<f64> {
        let options = &self.options;
        if !options.n_fft.is_power_of_two() {
            // Of all segments, without products.
            let power = firefly_reference::welch::welch_psd(signal, frame_len, &self.window, &definition(options));
            return apply_gain(&power, &[], options.bins(), &self.gain);
        }
        let twiddles = exact_twiddles(options.n_fft);
        let is_chosen = |segment: usize| options.chosen.is_none_or(|set| set.indices().any(|index| index == segment));
        let weights: Vec<f64> = (0..options.segments)
            .map(|segment| if is_chosen(segment) { 1.0 / options.averaged() as f64 } else { 0.0 })
            .collect();
        let learned = LearnedValues {
            twiddles: &twiddles,
            gates: &vec![1.0; twiddles.len() / 2],
            segment_weights: &weights,
            gain: &self.gain,
        };
        learned_welch_power(signal, frame_len, &self.window, &definition(options), &learned)
    }
}

impl<T: Real> GainedEstimate<T> {
    pub fn borrow(&self) -> Estimate<'_, T> {
        Estimate::new(&self.window, Some(&self.gain), &self.options)
    }

    fn psd(&self, signal: &[T], frame_len: usize) -> Vec<T> {
        let mut power = vec![T::nan(); signal.len() / frame_len * self.options.bins()];
        welch_psd(signal, frame_len, &self.borrow(), &mut power);
        power
    }

    /// The gradients of signal, window and gain.
    fn gradients(&self, signal: &[T], frame_len: usize, grad_power: &[T]) -> [Vec<T>; 3] {
        let mut gradients = [signal.len(), self.window.len(), self.gain.len()].map(|len| vec![T::nan(); len]);
        let into = gradients.each_mut().map(|values| Some(&mut values[..]));
        welch_psd_backward(signal, frame_len, &self.borrow(), grad_power, into);
        gradients
    }
}

/// The options with segments of their frame chosen, or all.
fn choices(options: WelchOptions) -> impl Iterator<Item = WelchOptions> {
    let sets: [&[usize]; 6] = [&[], &[3], &[0, 1], &[1, 4], &[0, 2, 3], &[0, 1, 2, 4]];
    sets.into_iter().map(move |indices| match indices {
        [] => options,
        _ => options.with_chosen(Some(SegmentSet::new(indices.iter().copied()).unwrap())),
    })
}

#[test]
fn power_is_that_of_the_definition_and_peaks_are_its_strongest() {
    for n in lengths(&[16, 8, 32, 64, 128, 256, 512, 2048]) {
        for (scaling, detrend) in [(Scaling::Power, Detrend::None), (Scaling::Spectrum, Detrend::Constant)] {
            let options = WelchOptions { scaling, detrend, ..WelchOptions::new(n, 5) };
            let (frame_len, rows, k) = (options.frame() + 3, reduced(37, 5), 5.min(options.bins()));
            let signal: Vec<f64> = noise(rows * frame_len, 78).iter().map(|x| x + 0.3).collect();
            let signal: Vec<f64> = single(&signal).into_iter().map(f64::from).collect();
            for (options, taps) in choices(options).flat_map(|options| [(options, 3), (options, 5)]) {
                let estimate = GainedEstimate::new(options, taps).rounded();
                let expected = estimate.defined(&signal, frame_len);
                let error = relative_error(&estimate.psd(&signal, frame_len), &expected);
                assert!(error < 1e-13, "n {n}, {taps} taps, {options:?}: {error:e}");
                let (estimate, signal) = (estimate.single(), single(&signal));
                for set in InstructionSet::available() {
                    set.force(|| {
                        let power = estimate.psd(&signal, frame_len);
                        let double: Vec<f64> = power.iter().copied().map(f64::from).collect();
                        let error = relative_error(&double, &expected);
                        assert!(error < 2.0 * single_tolerance(n), "{set}, n {n}, {taps} taps: {error:e}");
                        let (mut bins, mut strength) = (vec![0; rows * k], vec![0.0; rows * k]);
                        welch_peaks(&signal, frame_len, &estimate.borrow(), k, &mut bins, &mut strength);
                        assert_eq!((bins, strength), top_k_of(&power, options.bins(), k), "{set}, n {n}, {taps} taps");
                    });
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn lengths_that_are_no_powers_of_two_have_gains_too() {
    for n in [4, 6, 100, 194] {
        let options = WelchOptions::new(n, 3);
        let (frame_len, rows) = (options.frame() + 1, 19);
        let estimate = GainedEstimate::new(options, 3).rounded();
        let signal = noise(rows * frame_len, 79);
        let expected = estimate.defined(&signal, frame_len);
        assert!(relative_error(&estimate.psd(&signal, frame_len), &expected) < 1e-13, "n {n}");
        let estimate = estimate.single();
        for set in InstructionSet::available() {
            let power = set.force(|| estimate.psd(&single(&signal), frame_len));
            let power: Vec<f64> = power.into_iter().map(f64::from).collect();
            let error = relative_error(&power, &expected);
            assert!(error < 4.0 * single_tolerance(n), "{set}, n {n}: {error:e}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_match_differences_of_the_loss() {
    for n in [8, 12, 32] {
        for (scaling, detrend) in SCALINGS.into_iter().flat_map(|s| DETRENDS.map(|d| (s, d))) {
            let hop = if detrend == Detrend::None { n / 2 } else { n / 4 + 1 };
            let options = WelchOptions { hop, scaling, detrend, ..WelchOptions::new(n, 5) };
            for (options, taps) in choices(options).flat_map(|options| [(options, 3), (options, 5)]) {
                let (frame_len, rows) = (options.frame() + 2, 2);
                let estimate = GainedEstimate::new(options, taps);
                let signal: Vec<f64> = noise(rows * frame_len, 40).iter().map(|x| x + 0.2).collect();
                let grad_power = noise(rows * options.bins(), 41);
                let [of_signal, window, gain] = estimate.gradients(&signal, frame_len, &grad_power);
                let loss =
                    |estimate: &GainedEstimate<f64>, signal: &[f64]| dot(&estimate.psd(signal, frame_len), &grad_power);
                assert_gradient("signal", &of_signal, &signal, |signal| loss(&estimate, signal));
                assert_gradient("window", &window, &estimate.window, |window| {
                    loss(&GainedEstimate { window: window.to_vec(), ..estimate.clone() }, &signal)
                });
                assert_gradient("gain", &gain, &estimate.gain, |gain| {
                    loss(&GainedEstimate { gain: gain.to_vec(), ..estimate.clone() }, &signal)
                });
                for frame in of_signal.chunks(frame_len) {
                    assert_eq!(frame[options.frame()..], [0.0; 2]);
                }
            }
        }
    }
}

#[test]
fn each_gradient_alone_is_the_same() {
    let options = WelchOptions { detrend: Detrend::Constant, ..WelchOptions::new(16, 2) };
    let (estimate, frame_len) = (GainedEstimate::new(options, 5), options.frame());
    let (signal, grad_power) = (noise(3 * frame_len, 42), noise(3 * options.bins(), 43));
    let together = estimate.gradients(&signal, frame_len, &grad_power);
    for (which, expected) in together.iter().enumerate() {
        let mut alone = vec![f64::NAN; expected.len()];
        let mut into = [None, None, None];
        into[which] = Some(&mut alone[..]);
        welch_psd_backward(&signal, frame_len, &estimate.borrow(), &grad_power, into);
        assert_eq!(&alone, expected);
    }
}

#[test]
fn segments_that_are_not_chosen_are_not_read() {
    let options = WelchOptions { hop: 32, ..WelchOptions::new(32, 3) };
    let options = options.with_chosen(Some(SegmentSet::new([0, 2]).unwrap()));
    let estimate = GainedEstimate::new(options, 3);
    let mut signal = noise(options.frame(), 38);
    let before = estimate.psd(&signal, options.frame());
    signal[40] = f64::NAN;
    assert_eq!(estimate.psd(&signal, options.frame()), before);
}

#[test]
fn the_spectrum_is_mirrored_at_its_ends() {
    let mut estimate = GainedEstimate::new(WelchOptions::new(8, 1), 3);
    let signal = noise(8, 39);
    let of = |estimate: &GainedEstimate<f64>| estimate.psd(&signal, 8);
    estimate.gain = [0.0, 1.0, 0.0].repeat(5);
    let power = of(&estimate);
    estimate.gain = [1.0, 0.0, 0.0].repeat(5);
    assert_eq!(of(&estimate), [power[1], power[0], power[1], power[2], power[3]]);
    estimate.gain = [0.0, 0.0, 1.0].repeat(5);
    assert_eq!(of(&estimate), [power[1], power[2], power[3], power[4], power[3]]);
}

#[test]
fn faint_signals_have_finite_power_and_gradients() {
    let options = WelchOptions { scaling: Scaling::Spectrum, detrend: Detrend::Constant, ..WelchOptions::new(16, 3) };
    let estimate = GainedEstimate::new(options, 5).single();
    let noise = single(&noise(options.frame(), 44));
    for scale in [0.0, 1e-45, 1e-40, 1e-30, 1e-20, 1e-15, 1.0, 1e15] {
        let signal: Vec<f32> = noise.iter().map(|x| x * scale).collect();
        let power = estimate.psd(&signal, signal.len());
        assert!(power.iter().all(|p| p.is_finite()), "{scale:e}");
        let grads = estimate.gradients(&signal, signal.len(), &vec![1.0; options.bins()]);
        assert!(grads.iter().flatten().all(|g| g.is_finite()), "{scale:e}");
    }
}
