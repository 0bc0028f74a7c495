//! Peaks suite: the strongest lines of Welch spectra.

mod exact_module;
mod expected;
mod inputs;
pub mod memory;
mod problem;
mod strategies;
mod tensor_routine;
mod verify;

pub use exact_module::{config, exact_model};
pub use expected::{ExpectedPeaks, ReferenceMismatch};
pub use inputs::FrameInputs;
pub use problem::{MAX_INPUT_BYTES, PeaksProblem, SYMMETRY, WINDOW, facts, grid};
pub use strategies::{LearnedSource, TrainedModels, catalogue, firefly, from_host, learned_rows};
pub use tensor_routine::{DeviceOutput, HostOutput, HostPeaksOutput, HostValuesOutput, MemorySpace, TensorRoutine};
pub use verify::check_peaks;

use burn::tensor::Device;

use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError, WorkSize};

impl Problem for PeaksProblem {
    type Inputs = FrameInputs;
    type Expected = Vec<ExpectedPeaks>;
    type ReferenceError = ReferenceMismatch;

    fn parameters(&self) -> ParameterMap {
        ParameterMap::default()
            .with("n_fft", self.options.n_fft)
            .with("tier", self.tier.to_string())
            .with("segments", self.options.segments)
            .with("hop", self.options.hop)
            .with("frame", self.frame())
            .with("batch", self.batch)
            .with("k", self.k)
    }

    fn check(&self) -> Result<(), ProblemError> {
        Ok(self.validate()?)
    }

    fn size(&self) -> WorkSize {
        WorkSize { rows: self.batch, useful_bytes: self.useful_bytes() }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        FrameInputs::memory(self, most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> FrameInputs {
        FrameInputs::generate(self, seed, most_sets, device)
    }

    fn fits(&self, inputs: &FrameInputs) -> bool {
        inputs.fit(self)
    }

    fn expected(&self, inputs: &FrameInputs, seed: u64) -> Result<Vec<ExpectedPeaks>, ReferenceMismatch> {
        expected::expected(self, inputs, seed)
    }
}
