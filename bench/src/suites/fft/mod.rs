//! Suite of discrete Fourier transforms: complex and real, forward and inverse, of any lengths in up to three
//! dimensions, none of them normalised.

mod expected;
mod inputs;
mod problem;
mod reference;
mod shape;
mod strategies;
mod verify;

pub use expected::ExpectedRows;
pub use inputs::FftInputs;
pub use problem::{DIRECTIONS, Extent, FftProblem, Values, grid};
pub use shape::{ParseShapeError, Shapes, TransformShape};
pub use strategies::catalogue;
