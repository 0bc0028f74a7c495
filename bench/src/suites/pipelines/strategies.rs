//! Strategies of the pipelines suite.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::WelchPeaks;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_ops::{InstructionSet, welch_instruction_set};
use firefly_reference::mel::{MelDefinition, Scale};
use thiserror::Error;

use super::mel::filterbank;
use super::problem::{Pipeline, PipelineProblem};
use crate::harness::routine::RoutineError;
use crate::harness::strategy::{BenchStrategy, MemoryNeed};
use crate::harness::verification::{CaseError, Verification, Verified, run_and_check, tolerance};
use crate::suites::peaks::{
    ExpectedPeaks, FrameInputs, LearnedSource, MemorySpace, TensorRoutine, TrainedModels, check_peaks, config,
    exact_model, from_host, learned_rows, memory,
};

/// Tolerances of a sum over the filters, which rounds once more per term.
const MEL_TOLERANCES: f64 = 2.0;

/// Every strategy, in the order of the table's rows, with learned models of `source`.
pub fn catalogue(source: LearnedSource) -> Vec<BenchStrategy<PipelineProblem>> {
    vec![firefly(), burn_stock(), learned(source)]
}

/// Firefly's operations.
fn firefly() -> BenchStrategy<PipelineProblem> {
    let chunked = from_host(false);
    BenchStrategy::new(
        "firefly",
        "frames to the device, Firefly's welch_psd (mel: a matrix product after it), results read back; peaks in \
         chunks that overlap",
        move |problem: &PipelineProblem, inputs, expected| {
            let model = exact_model(&problem.peaks, inputs.device())?;
            let power = |model: &WelchPeaks, signal| Ok::<_, RoutineError>(model.try_psd(signal)?);
            match problem.pipeline {
                Pipeline::Psd => check_values(problem, inputs, expected, move |signal| power(&model, signal)),
                Pipeline::Mel => {
                    let filters = filters(problem, inputs.device())?;
                    let mel = move |signal| Ok(power(&model, signal)?.matmul(filters.clone()));
                    check_values(problem, inputs, expected, mel)
                }
                Pipeline::Peaks => chunked.verify(&problem.peaks, inputs, expected),
            }
        },
    )
    .with_forced_sets(|problem| welch_instruction_set(problem.peaks.options.n_fft).map(InstructionSet::name))
    .with_memory(memory_of_values)
}

/// Burn's own operations.
fn burn_stock() -> BenchStrategy<PipelineProblem> {
    BenchStrategy::new(
        "burn-stock",
        "frames to the device, Burn's own unfold, rfft and topk_with_indices (mel: a matrix product), results read \
         back",
        |problem: &PipelineProblem, inputs, expected| {
            let stock = StockWelchPeaks::new(&config(&problem.peaks), Formulation::Unfold, inputs.device())?;
            match problem.pipeline {
                Pipeline::Psd => check_values(problem, inputs, expected, move |signal| Ok(stock.psd(signal))),
                Pipeline::Mel => {
                    let filters = filters(problem, inputs.device())?;
                    let mel = move |signal| Ok(stock.psd(signal).matmul(filters.clone()));
                    check_values(problem, inputs, expected, mel)
                }
                Pipeline::Peaks => {
                    let routine =
                        TensorRoutine::new(inputs, MemorySpace::Host, move |signal| Ok(stock.forward(signal)));
                    // Burn's sort leaves the order of equal powers open.
                    check_peaks(routine, &problem.peaks, inputs, expected, false)
                }
            }
        },
    )
    .with_memory(memory_of_stock)
}

/// A learned model in place of the exact estimate, trained towards the peaks of the reference tier.
fn learned(source: LearnedSource) -> BenchStrategy<PipelineProblem> {
    let models = TrainedModels::new(source);
    BenchStrategy::new(
        "learned",
        "as firefly, by a LearnedWelchPeaks: that of --run, or one trained for --train-steps on synthetic signals; \
         runs with one of these options or by name",
        move |problem: &PipelineProblem, inputs, expected| {
            let device = inputs.device();
            let (model, accuracy) = models.model(&problem.peaks, device)?;
            let expected = learned_rows(&model, inputs, expected);
            let gates = model.hard_gates();
            let filters = filters(problem, device)?;
            let verified = match problem.pipeline {
                Pipeline::Psd => {
                    let power = move |signal| Ok(model.try_psd(signal, &gates)?);
                    check_values(problem, inputs, &expected, power)?
                }
                Pipeline::Mel => {
                    let mel = move |signal| Ok(model.try_psd(signal, &gates)?.matmul(filters.clone()));
                    check_values(problem, inputs, &expected, mel)?
                }
                Pipeline::Peaks => {
                    let peaks = move |signal| Ok(model.try_forward(signal, &gates)?);
                    let routine = TensorRoutine::new(inputs, MemorySpace::Host, peaks);
                    check_peaks(routine, &problem.peaks, inputs, &expected, true)?
                }
            };
            Ok(Verified { accuracy: Some(accuracy), ..verified })
        },
    )
    .without_competing()
    .with_memory(memory_of_values)
    .by_name()
    .also_called(&["learned_compiled"])
}

/// Memory of a pipeline by Firefly's operations: its result on the device, read back, and as values.
fn memory_of_values(problem: &PipelineProblem) -> MemoryNeed {
    let result = problem.peaks.batch * problem.width() * size_of::<f32>();
    let peaks = memory::of_spectra(&problem.peaks);
    // The frames go to the device within a run.
    MemoryNeed { transient: peaks.transient + 4 * result + problem.peaks.input_bytes(), ..peaks }
}

/// Memory of a pipeline by Burn's own operations.
fn memory_of_stock(problem: &PipelineProblem) -> MemoryNeed {
    let values = memory_of_values(problem);
    MemoryNeed { transient: values.transient + memory::of_stock(&problem.peaks).transient, ..values }
}

/// Difference between computed and expected values.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
enum ValuesMismatch {
    #[error("{got} values came back instead of {expected}")]
    Count { got: usize, expected: usize },
    #[error(
        "set {set}, row {row}: {computed} at {position} is {expected} in the reference: off by {error:.1e} of the \
         row's maximum, {tolerance:.1e} is allowed"
    )]
    Value { set: usize, row: usize, position: usize, computed: f32, expected: f64, error: f64, tolerance: f64 },
}

/// The mel filters as a tensor `[bins, mels]`.
fn filters(problem: &PipelineProblem, device: &Device) -> Result<Tensor<2>, RoutineError> {
    let bins = problem.peaks.options.bins();
    let weights = filterbank(bins, problem.mels, problem.sample_rate)?;
    Ok(Tensor::from_data(TensorData::new(weights, [bins, problem.mels]).convert::<f32>(), device))
}

/// Runs operations from frames in host memory on every input set, and compares their result, `[batch, width]`, with the
/// expected power, through the filters where there are some.
fn check_values<'a>(
    problem: &PipelineProblem,
    inputs: &'a FrameInputs,
    expected: &[ExpectedPeaks],
    operations: impl Fn(Tensor<2>) -> Result<Tensor<2>, RoutineError> + Send + 'a,
) -> Result<Verified<'a>, CaseError> {
    let width = problem.width();
    let expected: Vec<(usize, usize, Vec<f64>)> =
        expected.iter().map(|row| (row.set, row.row, values(problem, &row.power))).collect();
    let factor = if problem.pipeline == Pipeline::Mel { MEL_TOLERANCES } else { 1.0 };
    let tolerance = factor * tolerance(problem.peaks.options.n_fft);
    let mut found = Verification { rows: 0, tolerance, error: 0.0, ranking: None };
    let mut routine = TensorRoutine::new(inputs, MemorySpace::Host, operations);
    let checksums = run_and_check(routine.as_mut(), inputs.count(), |set, computed: &Vec<f32>| {
        let count = problem.peaks.batch * width;
        if computed.len() != count {
            return Err(ValuesMismatch::Count { got: computed.len(), expected: count });
        }
        for &(_, row, ref reference) in expected.iter().filter(|(other, ..)| *other == set) {
            let largest = reference.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            for (position, (&computed, &expected)) in computed[row * width..][..width].iter().zip(reference).enumerate()
            {
                let error = (f64::from(computed) - expected).abs() / largest;
                if error.is_nan() || error > tolerance {
                    return Err(ValuesMismatch::Value { set, row, position, computed, expected, error, tolerance });
                }
                found.error = found.error.max(error);
            }
            found.rows += 1;
        }
        Ok(())
    })?;
    Ok(Verified::exact(routine, checksums, found))
}

/// The pipeline's result from a row's power, in float64.
fn values(problem: &PipelineProblem, power: &[f64]) -> Vec<f64> {
    match problem.pipeline {
        Pipeline::Mel => {
            let filters = definition(problem).filters();
            filters.iter().map(|filter| power.iter().zip(filter).map(|(p, w)| p * w).sum()).collect()
        }
        Pipeline::Psd | Pipeline::Peaks => power.to_vec(),
    }
}

/// The filters as their definition has them.
fn definition(problem: &PipelineProblem) -> MelDefinition {
    MelDefinition {
        n_fft: problem.peaks.options.n_fft,
        hop: problem.peaks.options.hop,
        padding: None,
        normalized: false,
        squared: true,
        sample_rate: problem.sample_rate,
        bands: problem.mels,
        edges: [0.0, problem.sample_rate / 2.0],
        scale: Scale::Htk,
        equal_area: false,
        log: None,
    }
}
