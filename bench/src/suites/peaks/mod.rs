//! The strongest lines of Welch spectra: problems, inputs, what must come out, and the strategies that compute it.

mod expected;
mod inputs;
mod model;
mod problem;
mod program;
mod strategies;
mod verify;

pub use expected::ExpectedRow;
pub use inputs::Inputs;
pub use model::{config, exact_model};
pub use problem::{PeaksProblem, SYMMETRY, WINDOW, facts, grid};
pub use program::{Memory, Output, PeaksReadBack, Program, ReadBack, ValuesReadBack};
pub use strategies::{Firefly, FromHost, catalogue};
pub use verify::check_peaks;

use burn::tensor::Device;

use crate::harness::parameters::Parameters;
use crate::harness::problem::{Problem, Size};

impl Problem for PeaksProblem {
    type Inputs = Inputs;
    type Expected = Vec<ExpectedRow>;

    fn parameters(&self) -> Parameters {
        Parameters::default()
            .with("n_fft", self.options.n_fft)
            .with("tier", self.tier.to_string())
            .with("segments", self.options.segments)
            .with("hop", self.options.hop)
            .with("frame", self.frame())
            .with("batch", self.batch)
            .with("k", self.k)
    }

    fn check(&self) -> Result<(), String> {
        self.validate().map_err(|error| error.to_string())
    }

    fn size(&self) -> Size {
        Size { rows: self.batch, useful_bytes: self.useful_bytes() }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        Inputs::memory(self, most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> Inputs {
        Inputs::generate(self, seed, most_sets, device)
    }

    fn fits(&self, inputs: &Inputs) -> bool {
        inputs.fit(self)
    }

    fn expected(&self, inputs: &Inputs, seed: u64) -> Result<Vec<ExpectedRow>, String> {
        expected::expected(self, inputs, seed)
    }
}
