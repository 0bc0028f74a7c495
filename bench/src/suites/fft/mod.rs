//! Suite of discrete Fourier transforms: complex and real, forward and inverse, of any lengths in up to three
//! dimensions, none of them normalised.

mod expected;
mod inputs;
mod problem;
mod reference;
mod shape;
mod strategies;
mod verify;

use std::convert::Infallible;

use burn::tensor::Device;
use firefly_ops::Direction;

pub use expected::ExpectedRows;
pub use inputs::FftInputs;
pub use problem::{DIRECTIONS, Extent, FftProblem, FftValues, grid};
pub use shape::{FftShape, ParseShapeError, Shapes};
pub use strategies::catalogue;

use crate::harness::parameters::ParameterMap;
use crate::harness::problem::{Problem, ProblemError, WorkSize};

/// Largest input or output of a problem, in bytes.
const MAX_BYTES: usize = 8 << 30;

impl Problem for FftProblem {
    type Inputs = FftInputs;
    type Expected = ExpectedRows;
    type ReferenceError = Infallible;

    fn parameters(&self) -> ParameterMap {
        let name =
            |all: &[(&'static str, FftValues)]| all.iter().find(|(_, v)| *v == self.values).map_or("", |(n, _)| n);
        let direction = if self.direction == Direction::Forward { "forward" } else { "inverse" };
        ParameterMap::default()
            .with("values", name(&FftValues::NAMED))
            .with("direction", direction)
            .with("n", self.shape.to_string())
            .with("batch", self.batch)
    }

    fn check(&self) -> Result<(), ProblemError> {
        let most = MAX_BYTES / self.input().bytes().max(self.output().bytes());
        if self.batch > most {
            let expected = format!("at most {most}, for values of 8 GiB");
            return Err(ProblemError::OutOfRange { parameter: "batch", got: self.batch, expected });
        }
        Ok(())
    }

    /// Every value is read once and written once.
    fn size(&self) -> WorkSize {
        WorkSize { rows: self.batch, useful_bytes: self.batch * (self.input().bytes() + self.output().bytes()) }
    }

    fn input_memory(&self, most_sets: usize) -> usize {
        FftInputs::memory(self, most_sets)
    }

    fn generate(&self, seed: u64, most_sets: usize, device: &Device) -> FftInputs {
        FftInputs::generate(self, seed, most_sets, device)
    }

    fn fits(&self, inputs: &FftInputs) -> bool {
        inputs.fit(self)
    }

    fn expected(&self, inputs: &FftInputs, seed: u64) -> Result<ExpectedRows, Infallible> {
        Ok(ExpectedRows::choose(self, inputs.count(), seed))
    }
}
