use proptest::prelude::*;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use super::*;
use crate::cpu::{ButterflyTransform, Real, butterfly, butterfly_backward};
use crate::rustfft_plans::Planned;

fn output<T: Real>(re: &[T], im: &[T], transform: &ButterflyTransform<'_, T>) -> (Vec<T>, Vec<T>) {
    let (mut out_re, mut out_im) = (vec![T::nan(); re.len()], vec![T::nan(); re.len()]);
    butterfly([re, im], transform, [&mut out_re, &mut out_im]);
    (out_re, out_im)
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn with_exact_twiddles_it_is_the_dft() {
    for n in (3..=16).map(|stages| 1 << stages) {
        let rows = 2;
        let (re, im) = (noise(rows * n, 10), noise(rows * n, 11));
        let mut expected: Vec<_> = re.iter().zip(&im).map(|(&re, &im)| Complex { re, im }).collect();
        f64::plan(n, FftDirection::Forward).process(&mut expected);
        let expected: Vec<f64> = expected.iter().map(|z| z.re).chain(expected.iter().map(|z| z.im)).collect();
        let twiddles = exact_twiddles(n);
        let open = vec![1.0; twiddles.len() / 2];
        for gates in [None, Some(&open[..])] {
            let (out_re, out_im) = output(&re, &im, &ButterflyTransform { n, twiddles: &twiddles, gates });
            assert!(relative_error(&[out_re, out_im].concat(), &expected) < 1e-14, "n {n}");

            let (twiddles, gates) = (single(&twiddles), gates.map(single));
            let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
            let (out_re, out_im) = output(&single(&re), &single(&im), &transform);
            let output: Vec<f64> = [out_re, out_im].concat().into_iter().map(f64::from).collect();
            assert!(relative_error(&output, &expected) < single_tolerance(n), "n {n}");
        }
    }
}

#[test]
fn closed_gates_leave_the_bit_reversed_input() {
    let n = 16;
    let (re, im) = (noise(n, 12), noise(n, 13));
    let (twiddles, closed) = (perturbed_twiddles(n, 14), vec![0.0; 4 * n / 2]);
    let (out_re, out_im) = output(&re, &im, &ButterflyTransform { n, twiddles: &twiddles, gates: Some(&closed) });
    for i in 0..n {
        let from = i.reverse_bits() >> (usize::BITS - 4);
        assert_eq!((out_re[i], out_im[i]), (re[from], im[from]));
    }
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
    fn output_is_that_of_the_definition(stages in 2u32..11, seed: u64, gated: bool) {
        let n = 1 << stages;
        let (re, im) = (noise(n, seed), noise(n, !seed));
        let (twiddles, gates) = (perturbed_twiddles(n, seed ^ 1), random_gates(n, seed ^ 2));
        let gates = gated.then_some(&gates[..]);
        let (expected_re, expected_im) = defined_butterfly(&re, &im, &twiddles, gates);
        let (out_re, out_im) = output(&re, &im, &ButterflyTransform { n, twiddles: &twiddles, gates });
        // The same operations in another order: not a bit may differ.
        prop_assert_eq!(out_re, expected_re);
        prop_assert_eq!(out_im, expected_im);
    }
}

#[test]
#[cfg_attr(miri, ignore = "plain loops in safe code, too slow under Miri")]
fn gradients_match_differences_of_the_loss() {
    for n in [8, 16, 32, 64] {
        let gates = random_gates(n, 15);
        for twiddles in [exact_twiddles(n), perturbed_twiddles(n, 16)] {
            for gates in [None, Some(&gates[..])] {
                check_gradients(n, &twiddles, gates);
            }
        }
    }
}

fn check_gradients(n: usize, twiddles: &[f64], gates: Option<&[f64]>) {
    let rows = 3;
    let (re, im) = (noise(rows * n, 17), noise(rows * n, 18));
    let (grad_out_re, grad_out_im) = (noise(rows * n, 19), noise(rows * n, 20));
    let transform = ButterflyTransform { n, twiddles, gates };
    let loss = |re: &[f64], im: &[f64], transform: ButterflyTransform<'_, f64>| {
        let (out_re, out_im) = output(re, im, &transform);
        dot(&out_re, &grad_out_re) + dot(&out_im, &grad_out_im)
    };
    let nan = |len| vec![f64::NAN; len];
    let (mut grad_re, mut grad_im, mut grad_twiddles) = (nan(re.len()), nan(im.len()), nan(twiddles.len()));
    let mut grad_gates = gates.map(|gates| nan(gates.len()));
    let backward = |into: [Option<&mut [f64]>; 4]| {
        butterfly_backward([&re, &im], &transform, [&grad_out_re, &grad_out_im], into);
    };
    backward([Some(&mut grad_re), Some(&mut grad_im), Some(&mut grad_twiddles), grad_gates.as_deref_mut()]);
    assert_gradient("re", &grad_re, &re, |re| loss(re, &im, transform));
    assert_gradient("im", &grad_im, &im, |im| loss(&re, im, transform));
    assert_gradient("twiddles", &grad_twiddles, twiddles, |twiddles| {
        loss(&re, &im, ButterflyTransform { twiddles, ..transform })
    });
    if let (Some(gates), Some(grad)) = (gates, &grad_gates) {
        assert_gradient("gates", grad, gates, |gates| {
            loss(&re, &im, ButterflyTransform { gates: Some(gates), ..transform })
        });
    }

    // Each gradient alone is the same.
    let (mut alone_re, mut alone_im, mut alone_twiddles) = (nan(re.len()), nan(im.len()), nan(twiddles.len()));
    backward([Some(&mut alone_re), None, None, None]);
    backward([None, Some(&mut alone_im), None, None]);
    backward([None, None, Some(&mut alone_twiddles), None]);
    assert_eq!((alone_re, alone_im, alone_twiddles), (grad_re, grad_im, grad_twiddles));
    if let (Some(gates), Some(grad)) = (gates, grad_gates) {
        let mut alone = nan(gates.len());
        backward([None, None, None, Some(&mut alone)]);
        assert_eq!(alone, grad);
    }
}
