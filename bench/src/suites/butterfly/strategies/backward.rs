//! Gradients of a transform.

use burn::tensor::{Tensor, TensorData};
use firefly_ops::{InstructionSet, butterfly};
use firefly_reference::Complex;
use firefly_reference::butterfly_gradient::gated_butterfly_gradients;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use thiserror::Error;

use crate::harness::any_tensor::RankedTensor;
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::routine::{RoutineError, RoutineOutput};
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{Verification, Verified, relative_error, run_and_check, tolerance};
use crate::suites::butterfly::coefficients::Coefficients;
use crate::suites::butterfly::expected::wide;
use crate::suites::butterfly::inputs::ButterflyInputs;
use crate::suites::butterfly::problem::ButterflyProblem;

/// Gradients are sums over the batch and through every stage twice: they may be off by this many times the tolerance of
/// a transform, relative to the largest of their tensor.
const TOLERANCES: f64 = 8.0;

/// [`butterfly`] with learned twiddles and soft gates, and the gradients of a weighted sum of its output in the
/// input, twiddles and gates, which stay on the device.
pub fn backward() -> BenchStrategy<ButterflyProblem> {
    BenchStrategy::new(
        "firefly-backward",
        "as firefly-soft, then all gradients of a weighted sum",
        |problem: &ButterflyProblem, inputs, _| {
            let mut routine = routine(problem, inputs);
            let mut found =
                Verification { rows: 0, tolerance: TOLERANCES * tolerance(problem.n), error: 0.0, ranking: None };
            let checksums = run_and_check(&mut routine, inputs.count(), |set, gradients: &Vec<Vec<f32>>| {
                // The gradients in twiddles and gates are sums over every row: a set is checked whole, and one is
                // enough.
                if set > 0 {
                    return Ok(());
                }
                found.error = check_gradients(gradients, &expected(problem, inputs), found.tolerance)?;
                found.rows = problem.batch;
                Ok::<_, GradientMismatch>(())
            })?;
            Ok(Verified::exact(Box::new(routine), checksums, found))
        },
    )
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
    .without_competing()
}

/// Gradient that is out of tolerance.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the gradient in {name} is off by {error:.1e} of its maximum, {tolerance:.1e} is allowed")]
struct GradientMismatch {
    name: &'static str,
    error: f64,
    tolerance: f64,
}

/// The greatest error of all gradients.
fn check_gradients(computed: &[Vec<f32>], expected: &[Vec<f64>; 4], tolerance: f64) -> Result<f64, GradientMismatch> {
    let mut worst: f64 = 0.0;
    for ((&name, computed), expected) in NAMES.iter().zip(computed).zip(expected) {
        let error = relative_error(computed, expected);
        if error.is_nan() || error > tolerance {
            return Err(GradientMismatch { name, error, tolerance });
        }
        worst = worst.max(error);
    }
    Ok(worst)
}

/// Names of the tensors that gradients are in, in their order.
const NAMES: [&str; 4] = ["real parts", "imaginary parts", "twiddles", "gates"];

/// Calls that give the gradients in the tensors of [`NAMES`].
fn routine<'a>(problem: &ButterflyProblem, inputs: &'a ButterflyInputs) -> impl RoutineOutput<Vec<Vec<f32>>> + use<'a> {
    let device = inputs.device();
    let (twiddles, gates) = inputs.coefficients().tensors(Coefficients::Soft, device);
    let shape = [problem.batch, problem.n];
    let weights = weights(problem).map(|part| Tensor::<2>::from_data(TensorData::new(part, shape), device));
    let gradients = move |parts: [Tensor<2>; 2]| {
        let [re, im] = parts.map(|part| part.autodiff().require_grad());
        let twiddles = twiddles.clone().autodiff().require_grad();
        let gates = gates.clone().map(|gates| gates.autodiff().require_grad());
        let (out_re, out_im) = butterfly(re.clone(), im.clone(), twiddles.clone(), gates.clone())?;
        let [of_re, of_im] = weights.clone().map(Tensor::autodiff);
        // The gradients of a tensor are those of the sum of its values.
        let gradients = (out_re * of_re + out_im * of_im).backward();
        let of_gates = gates.and_then(|gates| gates.grad(&gradients));
        let all = (re.grad(&gradients), im.grad(&gradients), twiddles.grad(&gradients), of_gates);
        let (Some(re), Some(im), Some(twiddles), Some(gates)) = all else {
            return Err(RoutineError::MissingGradient);
        };
        Ok(vec![RankedTensor::from(re), im.into(), twiddles.into(), gates.into()])
    };
    DeviceRoutine::new(inputs.tensors().to_vec(), device, gradients)
}

/// Weights of the outputs in the loss.
fn weights(problem: &ButterflyProblem) -> [Vec<f32>; 2] {
    let mut random = ChaCha8Rng::seed_from_u64(problem.n as u64);
    [0, 1].map(|_| (0..problem.batch * problem.n).map(|_| 2.0 * random.random::<f32>() - 1.0).collect())
}

/// The gradients of the first input set in float64.
fn expected(problem: &ButterflyProblem, inputs: &ButterflyInputs) -> [Vec<f64>; 4] {
    let (twiddles, gates) = inputs.coefficients().values(Coefficients::Soft);
    let (twiddles, gates) = (wide(&twiddles), gates.map(|gates| wide(&gates)));
    let [of_re, of_im] = weights(problem);
    let of_row = |row: usize| {
        let input: Vec<Complex> = inputs.row(0, row).map(|(re, im)| Complex::new(re.into(), im.into())).collect();
        let places = row * problem.n..(row + 1) * problem.n;
        let weights = of_re[places.clone()].iter().zip(&of_im[places]);
        let output: Vec<Complex> = weights.map(|(&re, &im)| Complex::new(re.into(), im.into())).collect();
        gated_butterfly_gradients(&input, &twiddles, gates.as_deref(), &output)
    };
    let pairs = twiddles.len() / 2;
    let nothing = || [Vec::new(), Vec::new(), vec![0.0; 2 * pairs], vec![0.0; pairs]];
    let add = |sums: &mut [f64], terms: &[f64]| sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    // Rows stay in their order, since chunks do.
    let chunk = problem.batch.div_ceil(4 * rayon::current_num_threads());
    let rows: Vec<usize> = (0..problem.batch).collect();
    let parts: Vec<[Vec<f64>; 4]> = rows
        .par_chunks(chunk)
        .map(|rows| {
            rows.iter().fold(nothing(), |[mut re, mut im, mut twiddles, mut gates], &row| {
                let gradients = of_row(row);
                re.extend(gradients.input.iter().map(|z| z.re));
                im.extend(gradients.input.iter().map(|z| z.im));
                add(&mut twiddles, &gradients.twiddles);
                add(&mut gates, &gradients.gates);
                [re, im, twiddles, gates]
            })
        })
        .collect();
    parts.into_iter().fold(nothing(), |[mut re, mut im, mut twiddles, mut gates], part| {
        re.extend_from_slice(&part[0]);
        im.extend_from_slice(&part[1]);
        add(&mut twiddles, &part[2]);
        add(&mut gates, &part[3]);
        [re, im, twiddles, gates]
    })
}
