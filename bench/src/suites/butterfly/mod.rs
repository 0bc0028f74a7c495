//! Suite of butterfly transforms, exact and learned, forward and backward.

mod coefficients;
mod expected;
mod inputs;
mod problem;
mod strategies;
mod verify;

pub use coefficients::{CoefficientSets, Coefficients};
pub use expected::ExpectedTransforms;
pub use inputs::ButterflyInputs;
pub use problem::{ButterflyProblem, grid};
pub use strategies::catalogue;

use std::convert::Infallible;

use burn::tensor::Device;

use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError, WorkSize};

impl Problem for ButterflyProblem {
    type Inputs = ButterflyInputs;
    type Expected = ExpectedTransforms;
    type ReferenceError = Infallible;

    fn parameters(&self) -> ParameterMap {
        ParameterMap::default().with("n", self.n).with("batch", self.batch).with("open", self.open)
    }

    fn check(&self) -> Result<(), ProblemError> {
        self.validate()
    }

    /// Every value is read once and written once.
    fn size(&self) -> WorkSize {
        WorkSize { rows: self.batch, useful_bytes: 2 * self.input_bytes() }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        ButterflyInputs::memory(self, most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> ButterflyInputs {
        ButterflyInputs::generate(self, seed, most_sets, device)
    }

    fn fits(&self, inputs: &ButterflyInputs) -> bool {
        inputs.fit(self)
    }

    fn expected(&self, inputs: &ButterflyInputs, seed: u64) -> Result<ExpectedTransforms, Infallible> {
        Ok(ExpectedTransforms::new(self, inputs.count(), seed))
    }
}
