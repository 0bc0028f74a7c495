use super::*;
use crate::cpu::{Estimate, welch_peaks, welch_psd, welch_psd_backward};

fn every_option(n_fft: usize) -> impl Iterator<Item = WelchOptions> {
    (1..=3).flat_map(move |segments| {
        [n_fft / 2, n_fft / 4 + 1, n_fft + 3].into_iter().flat_map(move |hop| {
            SCALINGS.into_iter().flat_map(move |scaling| {
                let options = WelchOptions::new(n_fft, segments).with_hop(hop).with_scaling(scaling);
                DETRENDS.into_iter().map(move |detrend| options.with_detrend(detrend))
            })
        })
    })
}

fn psd(signal: &[f64], frame_len: usize, window: &[f64], options: &WelchOptions) -> Vec<f64> {
    let mut power = vec![f64::NAN; signal.len() / frame_len * options.bins()];
    welch_psd(signal, frame_len, &Estimate::new(window, None, options), &mut power);
    power
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn power_is_that_of_the_definition() {
    for n in [8, 16, 64, 256] {
        for options in every_option(n) {
            let frame_len = options.frame() + 5;
            let signal: Vec<f64> = noise(3 * frame_len, 1).iter().map(|x| x + 0.5).collect();
            let window = window(n);
            let expected = firefly_reference::welch::welch_psd(&signal, frame_len, &window, &definition(&options));
            let double = psd(&signal, frame_len, &window, &options);
            assert!(relative_error(&double, &expected) < 1e-13, "{options:?}");

            let mut power = vec![f32::NAN; expected.len()];
            welch_psd(&single(&signal), frame_len, &Estimate::new(&single(&window), None, &options), &mut power);
            let power: Vec<f64> = power.into_iter().map(f64::from).collect();
            assert!(relative_error(&power, &expected) < single_tolerance(n), "{options:?}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_match_differences_of_the_loss() {
    for n in [8, 16, 64] {
        for options in every_option(n) {
            let frame_len = options.frame() + 3;
            let rows = 2;
            let signal: Vec<f64> = noise(rows * frame_len, 2).iter().map(|x| x + 0.3).collect();
            let (window, grad_power) = (window(n), noise(rows * options.bins(), 3));
            let (mut grad_signal, mut grad_window) = (vec![f64::NAN; signal.len()], vec![f64::NAN; n]);
            welch_psd_backward(
                &signal,
                frame_len,
                &Estimate::new(&window, None, &options),
                &grad_power,
                [Some(&mut grad_signal), Some(&mut grad_window), None],
            );
            let loss = |signal: &[f64], window: &[f64]| dot(&psd(signal, frame_len, window, &options), &grad_power);
            assert_gradient("signal", &grad_signal, &signal, |signal| loss(signal, &window));
            assert_gradient("window", &grad_window, &window, |window| loss(&signal, window));
            for frame in grad_signal.chunks(frame_len) {
                assert_eq!(frame[options.frame()..], [0.0; 3]);
            }

            let (mut signal_alone, mut window_alone) = (grad_signal.clone(), grad_window.clone());
            welch_psd_backward(
                &signal,
                frame_len,
                &Estimate::new(&window, None, &options),
                &grad_power,
                [Some(&mut signal_alone), None, None],
            );
            welch_psd_backward(
                &signal,
                frame_len,
                &Estimate::new(&window, None, &options),
                &grad_power,
                [None, Some(&mut window_alone), None],
            );
            assert_eq!(signal_alone, grad_signal);
            assert_eq!(window_alone, grad_window);
        }
    }
}

#[test]
fn peaks_are_the_top_of_the_power() {
    let options = WelchOptions { segments: 3, ..every_option(64).next().expect("there are options") };
    let (frame_len, bins, rows) = (options.frame(), options.bins(), 4);
    let (signal, window) = (single(&noise(rows * frame_len, 4)), single(&window(64)));
    let mut power = vec![0.0; rows * bins];
    welch_psd(&signal, frame_len, &Estimate::new(&window, None, &options), &mut power);
    for k in [1, 5, bins] {
        let (expected_bins, expected_power) = top_k_of(&power, bins, k);
        let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
        welch_peaks(&signal, frame_len, &Estimate::new(&window, None, &options), k, &mut peak_bins, &mut peak_power);
        assert_eq!(peak_bins, expected_bins);
        assert_eq!(peak_power, expected_power);
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_of_peaks_match_differences_of_the_loss() {
    let options = WelchOptions { scaling: Scaling::Spectrum, detrend: Detrend::Constant, ..WelchOptions::new(32, 2) };
    let (frame_len, bins, rows) = (options.frame(), options.bins(), 3);
    let (signal, window) = (noise(rows * frame_len, 5), window(32));
    for k in [1, 4, bins] {
        let grad_peaks = noise(rows * k, 6);
        let peaks = |signal: &[f64]| {
            let (mut peak_bins, mut peak_power) = (vec![0; rows * k], vec![0.0; rows * k]);
            welch_peaks(signal, frame_len, &Estimate::new(&window, None, &options), k, &mut peak_bins, &mut peak_power);
            (peak_bins, peak_power)
        };
        let mut grad_power = vec![0.0; rows * bins];
        for (peak, (&bin, &grad)) in peaks(&signal).0.iter().zip(&grad_peaks).enumerate() {
            grad_power[peak / k * bins + bin as usize] += grad;
        }
        let mut grad_signal = vec![f64::NAN; signal.len()];
        welch_psd_backward(
            &signal,
            frame_len,
            &Estimate::new(&window, None, &options),
            &grad_power,
            [Some(&mut grad_signal), None, None],
        );
        assert_gradient("signal", &grad_signal, &signal, |signal| dot(&peaks(signal).1, &grad_peaks));
    }
}
