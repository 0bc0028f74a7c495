//! Complex transforms: problems, inputs, what must come out, and the strategies that compute it.

mod coefficients;
mod expected;
mod inputs;
mod problem;
mod strategies;
mod verify;

pub use coefficients::{Network, Networks};
pub use expected::Expected;
pub use inputs::Inputs;
pub use problem::{TransformProblem, grid};
pub use strategies::catalogue;

use burn::tensor::Device;

use crate::harness::parameters::Parameters;
use crate::harness::problem::{Problem, Size};

impl Problem for TransformProblem {
    type Inputs = Inputs;
    type Expected = Expected;

    fn parameters(&self) -> Parameters {
        Parameters::default().with("n", self.n).with("batch", self.batch).with("open", self.open)
    }

    fn check(&self) -> Result<(), String> {
        self.validate()
    }

    /// Every value is read once and written once.
    fn size(&self) -> Size {
        Size { rows: self.batch, useful_bytes: 2 * self.input_bytes() }
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

    fn expected(&self, inputs: &Inputs, seed: u64) -> Result<Expected, String> {
        Ok(Expected::new(self, inputs.count(), seed))
    }
}
