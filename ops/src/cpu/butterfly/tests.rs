//! Every instruction set this processor has, against plain loops in double precision, which is checked against
//! the definitions, and against itself.

use crate::cpu::tests::{
    defined_butterfly, exact_twiddles, lengths, noise, perturbed_twiddles, random_gates, reduced, relative_error,
    single, single_tolerance,
};
use crate::cpu::{ButterflyTransform, InstructionSet, Real, butterfly, butterfly_backward};

/// Gates of a kind, for a transform of length `n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::cpu) enum GatePattern {
    None,
    Soft,
    /// Each 0 or 1.
    Hard,
    /// Each 0, 1 or between.
    Mixed,
    AllClosed,
    AllOpen,
}

impl GatePattern {
    pub const ALL: [Self; 6] = [Self::None, Self::Soft, Self::Hard, Self::Mixed, Self::AllClosed, Self::AllOpen];

    pub fn values(self, n: usize) -> Option<Vec<f64>> {
        let soft = random_gates(n, 51);
        let map = |f: &dyn Fn(f64) -> f64| Some(soft.iter().map(|&gate| f64::from(f(gate) as f32)).collect());
        match self {
            Self::None => None,
            Self::Soft => map(&|gate| gate),
            Self::Hard => map(&|gate| gate.round()),
            Self::Mixed => map(&|gate| (2.0 * gate - 0.5).clamp(0.0, 1.0)),
            Self::AllClosed => map(&|_| 0.0),
            Self::AllOpen => map(&|_| 1.0),
        }
    }
}

/// The nearest f32 to each value.
pub(in crate::cpu) fn rounded(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|value| f64::from(value as f32)).collect()
}

pub(in crate::cpu) fn double(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

pub(in crate::cpu) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn output(re: &[f32], im: &[f32], transform: &ButterflyTransform<'_, f32>) -> [Vec<f32>; 2] {
    let mut out = [vec![f32::NAN; re.len()], vec![f32::NAN; re.len()]];
    let [out_re, out_im] = &mut out;
    butterfly([re, im], transform, [out_re, out_im]);
    out
}

/// Gradients of re, im, twiddles, and gates if `gates` asks for them.
fn gradients<T: Real>(
    input: [&[T]; 2],
    transform: &ButterflyTransform<'_, T>,
    grad: [&[T]; 2],
    gates: bool,
) -> [Vec<T>; 4] {
    let gate_count = if gates { transform.twiddles.len() / 2 } else { 0 };
    let mut into =
        [input[0].len(), input[1].len(), transform.twiddles.len(), gate_count].map(|len| vec![T::nan(); len]);
    let [re, im, twiddles, into_gates] = &mut into;
    let gradients: [Option<&mut [T]>; 4] = [Some(re), Some(im), Some(twiddles), gates.then_some(&mut into_gates[..])];
    butterfly_backward(input, transform, grad, gradients);
    into
}

#[test]
fn every_set_computes_the_transform_of_the_definition() {
    for n in lengths(&[8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]) {
        let rows = reduced(19, 9);
        let (re, im) = (rounded(noise(rows * n, 52)), rounded(noise(rows * n, 53)));
        for twiddles in [exact_twiddles(n), perturbed_twiddles(n, 54)].map(rounded) {
            for kind in GatePattern::ALL {
                let gates = kind.values(n);
                let expected: Vec<[f64; 2]> = re
                    .chunks(n)
                    .zip(im.chunks(n))
                    .flat_map(|(re, im)| {
                        let (re, im) = defined_butterfly(re, im, &twiddles, gates.as_deref());
                        re.into_iter().zip(im).map(|(re, im)| [re, im])
                    })
                    .collect();
                let (twiddles, gates) = (single(&twiddles), gates.as_deref().map(single));
                let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
                for set in InstructionSet::available() {
                    let [out_re, out_im] = set.force(|| output(&single(&re), &single(&im), &transform));
                    for row in 0..rows {
                        let at = row * n..(row + 1) * n;
                        let output = double(&[&out_re[at.clone()], &out_im[at.clone()]].concat());
                        let expected: Vec<f64> =
                            [0, 1].iter().flat_map(|&p| expected[at.clone()].iter().map(move |z| z[p])).collect();
                        let error = relative_error(&output, &expected);
                        assert!(error < single_tolerance(n), "{set}, n {n}, {kind:?}, row {row}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too slow under Miri")]
fn the_longest_transform_is_that_of_the_definition() {
    let n = 1 << 16;
    let (re, im) = (rounded(noise(n, 55)), rounded(noise(n, 56)));
    let twiddles = rounded(exact_twiddles(n));
    for kind in [GatePattern::None, GatePattern::Hard] {
        let gates = kind.values(n);
        let (expected_re, expected_im) = defined_butterfly(&re, &im, &twiddles, gates.as_deref());
        let (twiddles, gates) = (single(&twiddles), gates.as_deref().map(single));
        let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
        for set in InstructionSet::available() {
            let output = set.force(|| output(&single(&re), &single(&im), &transform)).concat();
            let error = relative_error(&double(&output), &[&expected_re[..], &expected_im].concat());
            assert!(error < single_tolerance(n), "{set}, {kind:?}: {error:e}");
        }
    }
}

#[test]
fn a_closed_butterfly_is_the_identity_whatever_goes_in() {
    let n = 32;
    let twiddles = single(&perturbed_twiddles(n, 57));
    let (mut re, im) = (single(&noise(n, 58)), single(&noise(n, 59)));
    (re[3], re[20]) = (f32::INFINITY, f32::NAN);
    for kind in [GatePattern::Hard, GatePattern::Mixed, GatePattern::AllClosed] {
        let gates = kind.values(n).expect("gates");
        let (expected_re, expected_im) =
            defined_butterfly(&double(&re), &double(&im), &double(&twiddles), Some(&gates));
        let gates = single(&gates);
        for set in InstructionSet::available() {
            let transform = ButterflyTransform { n, twiddles: &twiddles, gates: Some(&gates) };
            let [out_re, out_im] = set.force(|| output(&re, &im, &transform));
            for (k, (out, expected)) in
                [out_re, out_im].concat().iter().zip([&expected_re[..], &expected_im].concat()).enumerate()
            {
                assert_eq!(out.is_finite(), expected.is_finite(), "{set}, {kind:?}, value {k}");
            }
        }
    }
}

#[test]
fn a_row_has_the_same_bits_wherever_it_is() {
    for n in lengths(&[8, 64, 256, 512]) {
        let rows = reduced(37, 9);
        let (re, im) = (single(&noise(rows * n, 60)), single(&noise(rows * n, 61)));
        let twiddles = single(&perturbed_twiddles(n, 62));
        for kind in GatePattern::ALL {
            let gates = kind.values(n).map(|gates| single(&gates));
            let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
            for set in InstructionSet::available() {
                set.force(|| {
                    let [out_re, out_im] = output(&re, &im, &transform);
                    for row in 0..rows {
                        let at = row * n..(row + 1) * n;
                        let [alone_re, alone_im] = output(&re[at.clone()], &im[at.clone()], &transform);
                        assert_eq!(bits(&alone_re), bits(&out_re[at.clone()]), "{set}, n {n}, {kind:?}, row {row}");
                        assert_eq!(bits(&alone_im), bits(&out_im[at]), "{set}, n {n}, {kind:?}, row {row}");
                    }
                });
            }
        }
    }
}

#[test]
fn gradients_are_those_in_double_precision() {
    for n in lengths(&[8, 16, 32, 256, 512, 1024]) {
        let rows = reduced(21, 9);
        let [re, im, grad_re, grad_im] = [63, 64, 65, 66].map(|seed| rounded(noise(rows * n, seed)));
        let twiddles = rounded(perturbed_twiddles(n, 67));
        for kind in GatePattern::ALL {
            let gates = kind.values(n);
            for gates_require_grad in [false, true] {
                if gates_require_grad && gates.is_none() {
                    continue;
                }
                let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
                let expected = gradients([&re, &im], &transform, [&grad_re, &grad_im], gates_require_grad);
                let (twiddles, gates) = (single(&twiddles), gates.as_deref().map(single));
                let transform = ButterflyTransform { n, twiddles: &twiddles, gates: gates.as_deref() };
                let [re, im, grad_re, grad_im] = [&re, &im, &grad_re, &grad_im].map(|values| single(values));
                for set in InstructionSet::available() {
                    let found =
                        set.force(|| gradients([&re, &im], &transform, [&grad_re, &grad_im], gates_require_grad));
                    for (what, (found, expected)) in found.iter().zip(&expected).enumerate() {
                        if expected.iter().all(|&value| value == 0.0) {
                            assert!(found.iter().all(|&value| value == 0.0));
                            continue;
                        }
                        let error = relative_error(&double(found), expected);
                        let context = format!("{set}, n {n}, {kind:?}, gradient {what}");
                        assert!(error < 2.0 * single_tolerance(n), "{context}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_without_a_gradient_contribute_none() {
    let (n, rows) = (16, 11);
    let [mut re, im, mut grad_re, mut grad_im] = [68, 69, 70, 71].map(|seed| single(&noise(rows * n, seed)));
    let twiddles = single(&perturbed_twiddles(n, 72));
    let transform = ButterflyTransform { n, twiddles: &twiddles, gates: None };
    let silent = 4 * n..5 * n;
    grad_re[silent.clone()].fill(0.0);
    grad_im[silent.clone()].fill(0.0);
    for set in InstructionSet::available() {
        set.force(|| {
            let before = gradients([&re, &im], &transform, [&grad_re, &grad_im], false);
            re[silent.clone()].fill(f32::NAN);
            let after = gradients([&re, &im], &transform, [&grad_re, &grad_im], false);
            assert_eq!(after, before, "{set}");
            assert!(after[0][silent.clone()].iter().all(|&grad| grad == 0.0));
        });
        re[silent.clone()].fill(1.0);
    }
}
