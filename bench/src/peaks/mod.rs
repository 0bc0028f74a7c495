//! The strongest lines of Welch spectra: problems, inputs, what must come out, and the strategies that compute it.

mod copy;
mod expected;
mod input;
pub mod peers;
mod problem;
mod program;
mod strategy;
mod verify;

pub use expected::ExpectedRow;
pub use input::Inputs;
pub use problem::{PeaksProblem, SYMMETRY, WINDOW, grid};
pub use program::{Memory, Output, PeaksReadBack, Program, ReadBack, ValuesReadBack};
pub use strategy::{BurnStock, Firefly, FromHost, Learned, PsdTopK, StockPower, catalogue, check_peaks, exact_model};
pub use verify::tolerance;
