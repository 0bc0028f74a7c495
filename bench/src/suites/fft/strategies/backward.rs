//! Gradients of a transform.

use burn::tensor::{Tensor, TensorData};
use firefly_ops::InstructionSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::firefly::transform;
use super::tensors::{TensorParts, sets};
use crate::harness::device_routine::DeviceRoutine;
use crate::harness::routine::RoutineError;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Verified, run_and_check};
use crate::suites::fft::expected::ExpectedRows;
use crate::suites::fft::inputs::FftInputs;
use crate::suites::fft::problem::FftProblem;
use crate::suites::fft::reference::gradient;
use crate::suites::fft::verify::RowCheck;

/// Firefly's transform, and the gradient of a weighted sum of its output in its input, which stays on the device.
pub fn backward() -> BenchStrategy<FftProblem> {
    BenchStrategy::new(
        "firefly-backward",
        "as firefly, then the gradient in the input of a weighted sum",
        |problem: &FftProblem, inputs, expected| match problem.shape.dims().len() {
            1 => verified::<2>(problem, inputs, expected),
            2 => verified::<3>(problem, inputs, expected),
            _ => verified::<4>(problem, inputs, expected),
        },
    )
    .with_forced_sets(|_| Some(InstructionSet::current().name()))
    .without_competing()
}

fn verified<'a, const D: usize>(
    problem: &FftProblem,
    inputs: &'a FftInputs,
    expected: &ExpectedRows,
) -> Result<Verified<'a>, CaseError> {
    let host = weights(problem);
    let mut dims = problem.input_dims();
    dims[D - 1] = problem.output().len / problem.shape.outer();
    let tensor = |part: &Vec<f32>| Tensor::<D>::from_data(TensorData::new(part.clone(), dims.clone()), inputs.device());
    let weights: TensorParts<D> = host.iter().map(tensor).collect();
    let forward = transform::<D>(problem);
    let gradients = move |parts: TensorParts<D>| {
        let inputs: TensorParts<D> = parts.into_iter().map(|part| part.autodiff().require_grad()).collect();
        let outputs = forward(inputs.clone())?;
        let terms = outputs.into_iter().zip(&weights).map(|(output, weight)| output * weight.clone().autodiff());
        let loss = terms.reduce(|sum, term| sum + term).ok_or(RoutineError::NotRun)?;
        // The gradients of a tensor are those of the sum of its values.
        let gradients = loss.backward();
        let of = |input: &Tensor<D>| input.grad(&gradients).ok_or(RoutineError::MissingGradient);
        inputs.iter().map(of).collect()
    };
    let mut routine = DeviceRoutine::new(sets(problem, inputs), inputs.device(), gradients);
    let mut check = RowCheck::new(problem, problem.input(), 1.0);
    // The transform is linear: its gradient does not depend on the input, and one set is enough.
    let checksums = run_and_check(&mut routine, inputs.count(), |set, output: &Vec<Vec<f32>>| {
        let len = problem.output().len;
        let mut rows = expected.first_set().filter(|_| set == 0);
        rows.try_for_each(|row| {
            let of_part =
                |part: &Vec<f32>| part[row * len..(row + 1) * len].iter().map(|&value| value.into()).collect();
            check.row(output, [0, row], &gradient(problem, &host.iter().map(of_part).collect()))
        })
    })?;
    Ok(Verified::exact(Box::new(routine), checksums, check.finish()))
}

/// Weights of the outputs in the loss: parts `[batch, values]`.
fn weights(problem: &FftProblem) -> Vec<Vec<f32>> {
    let output = problem.output();
    let mut random = ChaCha8Rng::seed_from_u64(problem.shape.points() as u64);
    (0..output.parts)
        .map(|_| (0..problem.batch * output.len).map(|_| 2.0 * random.random::<f32>() - 1.0).collect())
        .collect()
}
