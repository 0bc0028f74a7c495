//! Ways to run pipelines.

use burn::tensor::{Device, Tensor, TensorData};
use firefly_models::WelchPeaks;
use firefly_models::testing::{Formulation, StockWelchPeaks};
use firefly_ops::{InstructionSet, welch_instruction_set};

use super::mel::filterbank;
use super::problem::{Pipeline, PipelineProblem};
use crate::harness::strategy::Strategy;
use crate::harness::verification::Verification;
use crate::harness::verification::{Refusal, Verified, run_and_check, tolerance};
use crate::suites::peaks::{ExpectedRow, FromHost, Inputs, Memory, Program, check_peaks, config, exact_model};

/// A sum over the filters rounds once more for each of its terms.
const MEL_TOLERANCES: f64 = 2.0;

/// Every strategy, in the order of the table's rows.
pub fn catalogue() -> Vec<Box<dyn Strategy<PipelineProblem>>> {
    vec![Box::new(Firefly), Box::new(BurnStock)]
}

/// Firefly's operations.
pub struct Firefly;

/// Burn's own operations.
pub struct BurnStock;

impl Strategy<PipelineProblem> for Firefly {
    fn name(&self) -> &'static str {
        "firefly"
    }

    fn summary(&self) -> &'static str {
        "frames to the device, Firefly's welch_psd (mel: a matrix product after it), results read back; peaks in chunks that overlap"
    }

    fn takes_instruction_sets(&self) -> bool {
        true
    }

    fn instruction_set(&self, problem: &PipelineProblem) -> Option<&'static str> {
        welch_instruction_set(problem.peaks.options.n_fft).map(InstructionSet::name)
    }

    fn verify<'a>(
        &self,
        problem: &PipelineProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let model = exact_model(&problem.peaks, inputs.device())?;
        let power = |model: &WelchPeaks, signal| model.try_psd(signal).map_err(|error| error.to_string());
        match problem.pipeline {
            Pipeline::Psd => check_values(problem, inputs, expected, move |signal| power(&model, signal)),
            Pipeline::Mel => {
                let filters = filters(problem, inputs.device());
                check_values(
                    problem,
                    inputs,
                    expected,
                    move |signal| Ok(power(&model, signal)?.matmul(filters.clone())),
                )
            }
            Pipeline::Peaks => FromHost { pinned: false }.verify(&problem.peaks, inputs, expected),
        }
    }
}

impl Strategy<PipelineProblem> for BurnStock {
    fn name(&self) -> &'static str {
        "burn-stock"
    }

    fn summary(&self) -> &'static str {
        "frames to the device, Burn's own unfold, rfft and topk_with_indices (mel: a matrix product), results read back"
    }

    fn verify<'a>(
        &self,
        problem: &PipelineProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let stock = StockWelchPeaks::new(&config(&problem.peaks), Formulation::Unfold, inputs.device())?;
        match problem.pipeline {
            Pipeline::Psd => check_values(problem, inputs, expected, move |signal| Ok(stock.psd(signal))),
            Pipeline::Mel => {
                let filters = filters(problem, inputs.device());
                check_values(problem, inputs, expected, move |signal| Ok(stock.psd(signal).matmul(filters.clone())))
            }
            Pipeline::Peaks => {
                let run = Program::new(inputs, Memory::Host, move |signal| Ok(stock.forward(signal)));
                check_peaks(run, &problem.peaks, inputs, expected, false)
            }
        }
    }
}

/// The mel filters as a tensor `[bins, mels]`.
fn filters(problem: &PipelineProblem, device: &Device) -> Tensor<2> {
    let bins = problem.peaks.options.bins();
    let weights = filterbank(bins, problem.mels, problem.sample_rate);
    Tensor::from_data(TensorData::new(weights, [bins, problem.mels]).convert::<f32>(), device)
}

/// Runs a program from frames in host memory on every input set, and compares what comes back, `[batch, width]`, with the
/// expected power, through the filters where there are some.
fn check_values<'a>(
    problem: &PipelineProblem,
    inputs: &'a Inputs,
    expected: &[ExpectedRow],
    program: impl Fn(Tensor<2>) -> Result<Tensor<2>, String> + Send + 'a,
) -> Result<Verified<'a>, Refusal> {
    let width = problem.width();
    let expected: Vec<(usize, usize, Vec<f64>)> =
        expected.iter().map(|row| (row.set, row.row, values(problem, &row.power))).collect();
    let factor = if problem.pipeline == Pipeline::Mel { MEL_TOLERANCES } else { 1.0 };
    let tolerance = factor * tolerance(problem.peaks.options.n_fft);
    let mut found = Verification { rows: 0, tolerance, error: 0.0, ranking: None };
    let mut workload = Program::new(inputs, Memory::Host, program);
    let checksums = run_and_check(workload.as_mut(), inputs.count(), |set, computed: &Vec<f32>| {
        let wanted = problem.peaks.batch * width;
        if computed.len() != wanted {
            return Err(format!("{} values came back instead of {wanted}", computed.len()));
        }
        for (_, row, reference) in expected.iter().filter(|(other, ..)| *other == set) {
            let largest = reference.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            for (place, (&computed, reference)) in computed[row * width..][..width].iter().zip(reference).enumerate() {
                let error = (f64::from(computed) - reference).abs() / largest;
                if error.is_nan() || error > tolerance {
                    return Err(format!(
                        "set {set}, row {row}: {computed} at {place} is {reference} in the reference: off by {error:.1e} of \
                         the row's maximum, {tolerance:.1e} is allowed"
                    ));
                }
                found.error = found.error.max(error);
            }
            found.rows += 1;
        }
        Ok(())
    })?;
    Ok(Verified::exact(workload, checksums, found))
}

/// What the pipeline makes of a row's power, in float64.
fn values(problem: &PipelineProblem, power: &[f64]) -> Vec<f64> {
    match problem.pipeline {
        Pipeline::Mel => {
            let filters = filterbank(power.len(), problem.mels, problem.sample_rate);
            let sum = |filter: usize| {
                power.iter().zip(filters[filter..].iter().step_by(problem.mels)).map(|(p, w)| p * w).sum()
            };
            (0..problem.mels).map(sum).collect()
        }
        Pipeline::Psd | Pipeline::Peaks => power.to_vec(),
    }
}
