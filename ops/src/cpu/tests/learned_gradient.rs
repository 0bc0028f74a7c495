use super::*;
use crate::cpu::tests::learned::LearnedModel;
use crate::cpu::{LearnedGradients, Real, learned_welch_psd_backward};

/// All gradients, as [`LearnedGradients`] orders them; no gates, no gradient of theirs.
pub(in crate::cpu) fn gradients<T: Real>(
    model: &LearnedModel<T>,
    signal: &[T],
    frame_len: usize,
    grad_power: &[T],
) -> [Vec<T>; 6] {
    let lengths = [
        signal.len(),
        model.window.len(),
        model.twiddles.len(),
        model.gates.as_ref().map_or(0, Vec::len),
        model.weights.len(),
        model.gain.len(),
    ];
    let mut grads = lengths.map(|len| vec![T::nan(); len]);
    let [signal_grad, window, twiddles, gates, weights, gain] = &mut grads;
    let into = LearnedGradients {
        signal: Some(signal_grad),
        window: Some(window),
        twiddles: Some(twiddles),
        gates: model.gates.is_some().then_some(&mut gates[..]),
        weights: Some(weights),
        gain: Some(gain),
    };
    learned_welch_psd_backward(signal, frame_len, &model.borrow(), grad_power, into);
    grads
}

/// Compares all gradients with differences, each in every `step`-th value.
fn check(model: &LearnedModel<f64>, rows: usize, step: usize) {
    let frame_len = model.options.frame() + 2;
    let signal: Vec<f64> = noise(rows * frame_len, 40).iter().map(|x| x + 0.2).collect();
    let grad_power = noise(rows * model.options.bins(), 41);
    let [grad_signal, window, twiddles, gates, weights, gain] = gradients(model, &signal, frame_len, &grad_power);
    let every = |len: usize| (0..len).step_by(step.min(len.max(1)));
    let loss = |model: &LearnedModel<f64>, signal: &[f64]| dot(&model.psd(signal, frame_len), &grad_power);
    assert_gradient_at("signal", every(signal.len()), &grad_signal, &signal, |signal| loss(model, signal));
    let check = |what: &str, gradient: &[f64], of: fn(&mut LearnedModel<f64>) -> &mut Vec<f64>| {
        let values = of(&mut model.clone()).clone();
        assert_gradient_at(what, every(values.len()), gradient, &values, |values| {
            let mut moved = model.clone();
            *of(&mut moved) = values.to_vec();
            loss(&moved, &signal)
        });
    };
    check("window", &window, |model| &mut model.window);
    check("twiddles", &twiddles, |model| &mut model.twiddles);
    if model.gates.is_some() {
        check("gates", &gates, |model| model.gates.as_mut().expect("the model has gates"));
    }
    check("weights", &weights, |model| &mut model.weights);
    check("gain", &gain, |model| &mut model.gain);
    for frame in grad_signal.chunks(frame_len) {
        assert_eq!(frame[model.options.frame()..], [0.0; 2]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_match_differences_of_the_loss() {
    for n in [8, 16, 64] {
        for segments in 1..=3 {
            for (scaling, detrend) in SCALINGS.into_iter().flat_map(|s| DETRENDS.map(|d| (s, d))) {
                let hop = if detrend == Detrend::None { n / 2 } else { n / 4 + 1 };
                let options = WelchOptions { hop, scaling, detrend, ..WelchOptions::new(n, segments) };
                for gated in [false, true] {
                    check(&LearnedModel::perturbed(options, gated), 2, 1);
                    check(&LearnedModel::perturbed(options, gated).with_products(), 2, 1);
                }
                check(&LearnedModel::exact(options), 2, 1);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_with_a_skipped_segment_match_differences_of_the_loss() {
    let mut model = LearnedModel::perturbed(WelchOptions::new(16, 3), true);
    model.weights[1] = 0.0;
    check(&model, 2, 1);
    check(&model.with_products(), 2, 1);
}

/// More values than are stored: the stages of a segment are computed twice.
#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_of_long_segments_match_differences_of_the_loss() {
    // As density, because the loss itself must stay small for its differences to be exact.
    let scaling = Scaling::Density { sample_rate: 100.0 };
    check(&LearnedModel::perturbed(WelchOptions { scaling, ..WelchOptions::new(4096, 3) }, true), 1, 2999);
}

#[test]
fn each_gradient_alone_is_the_same() {
    let model = LearnedModel::perturbed(WelchOptions { detrend: Detrend::Constant, ..WelchOptions::new(16, 2) }, true);
    let frame_len = model.options.frame();
    let (signal, grad_power) = (noise(3 * frame_len, 42), noise(3 * model.options.bins(), 43));
    let together = gradients(&model, &signal, frame_len, &grad_power);
    for (which, expected) in together.iter().enumerate() {
        let mut alone = vec![f64::NAN; expected.len()];
        let mut into = LearnedGradients::default();
        let fields = [
            &mut into.signal,
            &mut into.window,
            &mut into.twiddles,
            &mut into.gates,
            &mut into.weights,
            &mut into.gain,
        ];
        *fields.into_iter().nth(which).expect("there are six") = Some(&mut alone);
        learned_welch_psd_backward(&signal, frame_len, &model.borrow(), &grad_power, into);
        assert_eq!(&alone, expected);
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_through_exact_transforms_are_those_through_butterflies() {
    for n in [8, 64, 256] {
        for (scaling, detrend) in SCALINGS.into_iter().flat_map(|s| DETRENDS.map(|d| (s, d))) {
            for (open, weight) in [(&[0, 1, 2][..], 1.0 / 3.0), (&[0, 2], 0.5), (&[1], 0.8)] {
                let hop = n / 2 + 1;
                let options = WelchOptions { hop, scaling, detrend, ..WelchOptions::new(n, 3) };
                let model = LearnedModel::windowed(options, open, weight);
                for model in [model.clone(), model.with_products()] {
                    let frame_len = options.frame() + 2;
                    let signal: Vec<f64> = noise(5 * frame_len, 62).iter().map(|x| x + 0.2).collect();
                    let mut grad_power = noise(5 * options.bins(), 63);
                    grad_power[options.bins()..2 * options.bins()].fill(0.0);
                    // With gradients of twiddles, gates and weights, butterflies run.
                    let [of_signal, window, _, _, _, gain] = gradients(&model, &signal, frame_len, &grad_power);
                    let mut alone = [&of_signal, &window, &gain].map(|gradient| vec![f64::NAN; gradient.len()]);
                    let [signal_alone, window_alone, gain_alone] = &mut alone;
                    let into = LearnedGradients {
                        signal: Some(signal_alone),
                        window: Some(window_alone),
                        gain: Some(gain_alone),
                        ..LearnedGradients::default()
                    };
                    learned_welch_psd_backward(&signal, frame_len, &model.borrow(), &grad_power, into);
                    for (found, expected) in alone.iter().zip([&of_signal, &window, &gain]) {
                        assert!(relative_error(found, expected) < 1e-12, "{open:?}, {options:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn faint_signals_have_finite_power_and_gradients() {
    let options = WelchOptions { scaling: Scaling::Spectrum, detrend: Detrend::Constant, ..WelchOptions::new(16, 3) };
    let model = LearnedModel::perturbed(options, true).single();
    let noise = single(&noise(options.frame(), 44));
    for scale in [0.0, 1e-45, 1e-40, 1e-30, 1e-20, 1e-15, 1.0, 1e15] {
        let signal: Vec<f32> = noise.iter().map(|x| x * scale).collect();
        let power = model.psd(&signal, signal.len());
        assert!(power.iter().all(|p| p.is_finite()), "{scale:e}");
        let grads = gradients(&model, &signal, signal.len(), &vec![1.0; options.bins()]);
        assert!(grads.iter().flatten().all(|g| g.is_finite()), "{scale:e}");
    }
}
