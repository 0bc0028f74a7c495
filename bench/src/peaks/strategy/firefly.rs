//! Firefly's own peaks.

use burn::tensor::Tensor;
use firefly_models::{WelchPeaks, WelchPeaksConfig};

use super::{HostPeaks, ReadBack, Refusal, Strategy, Workload};
use crate::input::Inputs;
use crate::problem::{Problem, SYMMETRY, WINDOW};

/// [`WelchPeaks`] on tensors that are on the device already, the peaks read back.
pub struct Firefly;

struct Run<'a> {
    model: WelchPeaks,
    inputs: &'a [Tensor<2>],
    read_back: ReadBack,
}

impl Strategy for Firefly {
    fn name(&self) -> &'static str {
        "firefly"
    }

    fn summary(&self) -> &'static str {
        "Firefly's WelchPeaks module on the device, the peaks read back"
    }

    fn prepare<'a>(&self, problem: &Problem, inputs: &'a Inputs) -> Result<Box<dyn Workload + 'a>, Refusal> {
        let inputs = inputs.tensors();
        Ok(Box::new(Run { model: model(problem, inputs)?, inputs, read_back: ReadBack::default() }))
    }
}

impl Workload for Run<'_> {
    fn run(&mut self, set: usize) -> Result<u64, String> {
        let peaks = self.model.forward(self.inputs[set].clone()).map_err(|error| error.to_string())?;
        self.read_back.read(peaks.bins, peaks.power)
    }

    fn peaks(&self) -> Result<HostPeaks, String> {
        self.read_back.peaks()
    }
}

/// The module for a problem, on the device of its inputs.
pub(super) fn model(problem: &Problem, inputs: &[Tensor<2>]) -> Result<WelchPeaks, Refusal> {
    let device = inputs.first().map(Tensor::device).unwrap_or_default();
    WelchPeaksConfig::new()
        .with_n_fft(problem.options.n_fft)
        .with_hop(Some(problem.options.hop))
        .with_tier(problem.tier)
        .with_k(problem.k)
        .with_window(WINDOW)
        .with_symmetry(SYMMETRY)
        .with_scaling(problem.options.scaling)
        .with_detrend(problem.options.detrend)
        .init(&device)
        .map_err(|error| Refusal::Unsupported(error.to_string()))
}
