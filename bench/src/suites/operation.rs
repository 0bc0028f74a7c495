//! Strategies that every operation has: its result by one call, by calls in flight and by the clock of a device, and the
//! gradients in its operands.

use std::fmt::Debug;

use anyhow::{Context, Result};
use burn::tensor::Tensor;
use firefly_framework::graph::AnyTensor;
use firefly_ops::instruction_sets::InstructionSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::harness::{
    BenchStrategy, Calls, CaseError, CaseResult, Expectation, Inputs, Problem, TensorRoutine, check, floats, gradients,
    with_values,
};

/// Function of the operands of an input set.
pub type Function = Box<dyn Fn(Vec<AnyTensor>) -> Result<Vec<AnyTensor>> + Send>;

/// Problem whose result is a function of tensors.
pub trait Operation: Problem {
    /// Way to compute the result.
    type Form: Copy + Debug + Send + Sync + 'static;

    /// The result, of operands that are all on one device, of one type, and tracked or not.
    fn function(&self, form: Self::Form) -> Function;

    /// Operands that a form has besides the tensors of an input set, on the device of these.
    fn extra_operands(&self, _form: Self::Form, _inputs: &Inputs) -> Vec<AnyTensor> {
        Vec::new()
    }

    fn expected(&self, form: Self::Form, inputs: &Inputs) -> CaseResult<Expectation>;

    /// What is expected of the gradients of Σ `weights` · result in all operands of the first set.
    fn expected_gradients(&self, form: Self::Form, weights: &[Vec<f32>], inputs: &Inputs) -> CaseResult<Expectation>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    Forward,
    /// The result, and the gradients of a weighted sum of it in all operands.
    Backward,
}

/// Calls of Firefly's operation, or of what it is compared with, on tensors of the device.
pub fn calls<P: Operation>(
    name: &'static str,
    summary: &'static str,
    form: P::Form,
    pass: Pass,
    calls: Calls,
) -> BenchStrategy<P> {
    let strategy = BenchStrategy::new(name, summary, move |problem: &P, inputs| {
        let device = inputs.device();
        let extra = problem.extra_operands(form, inputs);
        let operands = |set| Ok([inputs.operands(set)?, extra.clone()].concat());
        let sets: Vec<Vec<AnyTensor>> = (0..inputs.count()).map(operands).collect::<Result<_, CaseError>>()?;
        if pass == Pass::Forward {
            let expectation = problem.expected(form, inputs)?;
            let routine = TensorRoutine::new(device, move |set: usize| Ok(sets[set].clone()), problem.function(form));
            return check(routine.with_calls(calls), &expectation, inputs);
        }
        let results = problem.function(form)(sets[0].clone())?;
        let values = weights(&results, inputs.seed);
        let expectation = problem.expected_gradients(form, &values, inputs)?;
        let weights = results.iter().zip(&values).map(|(result, values)| with_values(result, values, device));
        let (weights, forward) = (weights.collect::<Vec<_>>(), problem.function(form));
        let call = move |operands| gradients(operands, &weights, &forward);
        let routine = TensorRoutine::new(device, move |set: usize| Ok(sets[set].clone()), call);
        check(routine.with_calls(calls), &expectation, inputs)
    })
    .with_forced_sets(|_| Some(InstructionSet::current().name()));
    match (calls, pass) {
        (Calls::One, Pass::Forward) => strategy,
        (Calls::One, Pass::Backward) => strategy.without_competing(),
        _ => strategy.in_flight(),
    }
}

fn weights(results: &[AnyTensor], seed: u64) -> Vec<Vec<f32>> {
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    let mut of =
        |result: &AnyTensor| (0..result.dims().iter().product()).map(|_| 2.0 * random.random::<f32>() - 1.0).collect();
    results.iter().map(&mut of).collect()
}

pub fn next<const D: usize>(operands: &mut impl Iterator<Item = AnyTensor>) -> Result<Tensor<D>> {
    Ok(floats(operands.next().context("an operand is missing")?)?)
}
