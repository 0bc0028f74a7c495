//! Phases as strategies: run, checked, and seen to move what they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::tensor::{Tensor, TensorData, Transaction};
use firefly_framework::profile::DeviceProfile;
use firefly_ops::InstructionSet;

use super::host_tail::host_tail;
use super::plan::{Phase, Plan, interleaved, narrow_bins, separate_model};
use super::replay::replay;
use crate::harness::strategy::Strategy;
use crate::harness::verification::{Refusal, Verified};
use crate::suites::peaks::{
    ExpectedRow, Inputs, Memory, Output, PeaksProblem, PeaksReadBack, Program, check_peaks, exact_model,
};

/// A phase on a device of such costs.
pub struct PhaseStrategy {
    phase: Phase,
    costs: Arc<DeviceProfile>,
}

/// Frames to peaks in host memory, and the bytes that came there on the way.
type Run = Box<dyn Fn(Tensor<2>) -> Result<(PeaksReadBack, u64), String> + Send>;

impl PhaseStrategy {
    /// A phase, decided and predicted by what a device costs.
    pub const fn new(phase: Phase, costs: Arc<DeviceProfile>) -> Self {
        Self { phase, costs }
    }

    fn run(&self, problem: &PeaksProblem, inputs: &Inputs, plan: &Plan) -> Result<Run, Refusal> {
        let problem = *problem;
        let separate =
            || separate_model(&problem, inputs.device()).map_err(|error| Refusal::Unsupported(error.to_string()));
        Ok(match self.phase {
            Phase::Baseline => {
                let model = separate()?;
                Box::new(move |signal| {
                    let spectrum = model.spectra(signal).map(interleaved).map_err(|error| error.to_string())?;
                    let [spectrum] = read([spectrum])?;
                    let values = floats(&spectrum)?;
                    let found = host_tail(&problem, |place| squared(values[2 * place], values[2 * place + 1]));
                    Ok((found.into(), bytes([&spectrum])))
                })
            }
            Phase::Blocks => {
                let model = separate()?;
                Box::new(move |signal| {
                    let (re, im) = model.spectra(signal).map_err(|error| error.to_string())?;
                    let parts = read([re, im])?;
                    let (re, im) = (floats(&parts[0])?, floats(&parts[1])?);
                    let found = host_tail(&problem, |place| squared(re[place], im[place]));
                    Ok((found.into(), bytes(&parts)))
                })
            }
            Phase::DevicePeaks => {
                let model = separate()?;
                Box::new(move |signal| {
                    let spectra = model.spectra(signal).map_err(|error| error.to_string())?;
                    counted(narrow_bins(model.peaks(spectra)).read()?)
                })
            }
            Phase::Compiled => {
                let replay = replay(&plan.graph, inputs.device())?;
                Box::new(move |signal| {
                    let outputs = <[TensorData; 2]>::try_from(replay(signal)?);
                    let [bins, power] = outputs.map_err(|outputs| format!("{} outputs, not 2", outputs.len()))?;
                    counted((bins, power).into())
                })
            }
            Phase::Native => {
                let model =
                    exact_model(&problem, inputs.device()).map_err(|error| Refusal::Unsupported(error.to_string()))?;
                Box::new(move |signal| {
                    let peaks = model.try_forward(signal).map_err(|error| error.to_string())?;
                    counted(narrow_bins(peaks).read()?)
                })
            }
        })
    }
}

/// Tensors in host memory, read together.
fn read<const D: usize, const N: usize>(tensors: [Tensor<D>; N]) -> Result<[TensorData; N], String> {
    let reads = tensors.into_iter().fold(Transaction::default(), Transaction::register);
    let data = reads.try_execute().map_err(|error| error.to_string())?;
    data.try_into().map_err(|_| "a tensor was lost".to_string())
}

fn floats(data: &TensorData) -> Result<&[f32], String> {
    data.as_slice().map_err(|error| error.to_string())
}

fn squared(re: f32, im: f32) -> f32 {
    re * re + im * im
}

fn bytes<'a>(data: impl IntoIterator<Item = &'a TensorData>) -> u64 {
    data.into_iter().map(|data| data.as_bytes().len() as u64).sum()
}

fn counted(peaks: PeaksReadBack) -> Result<(PeaksReadBack, u64), String> {
    let bytes = peaks.bytes();
    Ok((peaks, bytes))
}

impl Strategy<PeaksProblem> for PhaseStrategy {
    fn name(&self) -> &'static str {
        self.phase.name()
    }

    fn summary(&self) -> &'static str {
        match self.phase {
            Phase::Baseline => {
                "window and complex FFT on the device, the spectrum read back interleaved, peaks on the host"
            }
            Phase::Blocks => "the same, real and imaginary parts in blocks of their own",
            Phase::DevicePeaks => "the same FFT, then power, mean and top-k on the device; only peaks are read back",
            Phase::Compiled => {
                "the traced graph of phase-2, spectrum outputs dropped, rewritten if the gate says so, replayed"
            }
            Phase::Native => "one native operation: Firefly's welch_peaks",
        }
    }

    fn takes_instruction_sets(&self) -> bool {
        self.phase == Phase::Native
    }

    fn instruction_set(&self, problem: &PeaksProblem) -> Option<&'static str> {
        let native = self.phase == Phase::Native;
        native.then(|| firefly_ops::welch_instruction_set(problem.options.n_fft)).flatten().map(InstructionSet::name)
    }

    fn step_from(&self) -> Option<&'static str> {
        self.phase.before().map(Phase::name)
    }

    fn verify<'a>(
        &self,
        problem: &PeaksProblem,
        inputs: &'a Inputs,
        expected: &Vec<ExpectedRow>,
    ) -> Result<Verified<'a>, Refusal> {
        let plan =
            Plan::new(self.phase, problem, &self.costs).map_err(|error| Refusal::Unsupported(error.to_string()))?;
        let run = self.run(problem, inputs, &plan)?;
        let seen = Arc::new(AtomicU64::new(0));
        let counter = seen.clone();
        let program = Program::new(inputs, Memory::Device, move |signal| {
            let (peaks, bytes) = run(signal)?;
            counter.store(bytes, Ordering::Relaxed);
            Ok(peaks)
        });
        // Burn's top-k leaves the order of equals open.
        let orders_ties = self.phase.has_host_tail() || plan.is_native;
        let verified = check_peaks(program, problem, inputs, expected, orders_ties)?;
        let movement = plan.movement(problem, &self.costs, seen.load(Ordering::Relaxed));
        Ok(Verified { movement: Some(Box::new(movement)), ..verified })
    }
}
