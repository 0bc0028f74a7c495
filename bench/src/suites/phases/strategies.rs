//! Phases as strategies: run, verified, and their read-back counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::tensor::{Tensor, TensorData, Transaction};
use firefly_framework::profile::DeviceProfile;
use firefly_ops::{InstructionSet, welch_instruction_set};

use super::host_tail::host_tail;
use super::plan::{Phase, PhasePlan, interleaved, narrow_bins, separate_model};
use super::replay::replay;
use crate::harness::routine::RoutineError;
use crate::harness::strategy::BenchStrategy;
use crate::harness::verification::{CaseError, Selected, Unsupported, Verified};
use crate::suites::peaks::{
    DeviceOutput, ExpectedPeaks, FrameInputs, HostPeaksOutput, MemorySpace, PeaksProblem, TensorRoutine, check_peaks,
    exact_model, memory,
};

/// Every phase, in order, decided on and predicted by the costs of a device.
pub fn catalogue(costs: DeviceProfile) -> Vec<BenchStrategy<PeaksProblem>> {
    let costs = Arc::new(costs);
    Phase::ALL.map(|phase| strategy(phase, costs.clone())).into()
}

fn strategy(phase: Phase, costs: Arc<DeviceProfile>) -> BenchStrategy<PeaksProblem> {
    let summary = match phase {
        Phase::Baseline => {
            "window and complex FFT on the device, the spectrum read back interleaved, peaks on the host"
        }
        Phase::Blocks => "the same, real and imaginary parts in blocks of their own",
        Phase::DevicePeaks => "the same FFT, then power, mean and top-k on the device; only peaks are read back",
        Phase::Compiled => {
            "the traced graph of phase-2, spectrum outputs dropped, rewritten if the gate says so, replayed"
        }
        Phase::Native => "one native operation: Firefly's welch_peaks",
    };
    let strategy = BenchStrategy::new(phase.name(), summary, move |problem: &PeaksProblem, inputs, expected| {
        verify(phase, &costs, problem, inputs, expected)
    })
    .after(phase.before().map(Phase::name))
    .with_memory(match phase {
        Phase::Native => memory::of_operation,
        _ => memory::of_read_spectra,
    });
    match phase {
        Phase::Native => {
            strategy.with_forced_sets(|problem| welch_instruction_set(problem.options.n_fft).map(InstructionSet::name))
        }
        _ => strategy,
    }
}

fn verify<'a>(
    phase: Phase,
    costs: &DeviceProfile,
    problem: &PeaksProblem,
    inputs: &'a FrameInputs,
    expected: &[ExpectedPeaks],
) -> Result<Verified<'a>, CaseError> {
    let plan = PhasePlan::new(phase, problem, costs).map_err(Unsupported::Graph)?;
    let run = runner(phase, problem, inputs, &plan)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let counter = bytes_read.clone();
    let routine = TensorRoutine::new(inputs, MemorySpace::DeviceToHost, move |signal| {
        let (peaks, bytes) = run(signal)?;
        counter.store(bytes, Ordering::Relaxed);
        Ok(peaks)
    });
    // Burn's top-k leaves the order of equal powers open.
    let orders_ties = phase.has_host_tail() || plan.is_native;
    let verified = check_peaks(routine, problem, inputs, expected, orders_ties)?;
    let selected = (phase == Phase::Compiled).then(|| match plan.is_native {
        true => Selected { choice: "rewritten".into(), same_as: Some(Phase::Native.name().into()) },
        false => Selected { choice: "as traced".into(), same_as: None },
    });
    let traffic = plan.traffic(problem, costs, bytes_read.load(Ordering::Relaxed));
    Ok(Verified { traffic: Some(Box::new(traffic)), selected, ..verified })
}

/// Function from frames to peaks in host memory and the bytes that were read back.
type PhaseRunner = Box<dyn Fn(Tensor<2>) -> Result<(HostPeaksOutput, u64), RoutineError> + Send>;

/// The function of a phase, with what it needs prepared.
fn runner(
    phase: Phase,
    problem: &PeaksProblem,
    inputs: &FrameInputs,
    plan: &PhasePlan,
) -> Result<PhaseRunner, CaseError> {
    let problem = *problem;
    let separate = || separate_model(&problem, inputs.device());
    Ok(match phase {
        Phase::Baseline => {
            let model = separate()?;
            Box::new(move |signal| {
                let spectrum = model.spectra(signal).and_then(interleaved)?;
                let [spectrum] = read([spectrum])?;
                let values = floats(&spectrum)?;
                let found = host_tail(&problem, |place| squared(values[2 * place], values[2 * place + 1]));
                Ok((found.into(), bytes([&spectrum])))
            })
        }
        Phase::Blocks => {
            let model = separate()?;
            Box::new(move |signal| {
                let (re, im) = model.spectra(signal)?;
                let parts = read([re, im])?;
                let (re, im) = (floats(&parts[0])?, floats(&parts[1])?);
                let found = host_tail(&problem, |place| squared(re[place], im[place]));
                Ok((found.into(), bytes(&parts)))
            })
        }
        Phase::DevicePeaks => {
            let model = separate()?;
            Box::new(move |signal| {
                let spectra = model.spectra(signal)?;
                counted(narrow_bins(model.peaks(spectra)).read()?)
            })
        }
        Phase::Compiled => {
            let replay = replay(&plan.graph, inputs.device())?;
            Box::new(move |signal| {
                let outputs = <[TensorData; 2]>::try_from(replay(signal)?);
                let [bins, power] =
                    outputs.map_err(|outputs| RoutineError::OutputCount { got: outputs.len(), expected: 2 })?;
                counted((bins, power).into())
            })
        }
        Phase::Native => {
            let model = exact_model(&problem, inputs.device())?;
            Box::new(move |signal| {
                let peaks = model.try_forward(signal)?;
                counted(narrow_bins(peaks).read()?)
            })
        }
    })
}

/// Tensors read back in one transaction.
fn read<const D: usize, const N: usize>(tensors: [Tensor<D>; N]) -> Result<[TensorData; N], RoutineError> {
    let reads = tensors.into_iter().fold(Transaction::default(), Transaction::register);
    let data = reads.try_execute().map_err(RoutineError::burn)?;
    data.try_into().map_err(|data: Vec<_>| RoutineError::OutputCount { got: data.len(), expected: N })
}

fn floats(data: &TensorData) -> Result<&[f32], RoutineError> {
    data.as_slice().map_err(RoutineError::burn)
}

fn squared(re: f32, im: f32) -> f32 {
    re * re + im * im
}

fn bytes<'a>(data: impl IntoIterator<Item = &'a TensorData>) -> u64 {
    data.into_iter().map(|data| data.as_bytes().len() as u64).sum()
}

fn counted(peaks: HostPeaksOutput) -> Result<(HostPeaksOutput, u64), RoutineError> {
    let bytes = peaks.bytes();
    Ok((peaks, bytes))
}
