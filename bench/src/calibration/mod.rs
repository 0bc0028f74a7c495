//! What a device costs, measured: constants of moving data, and times of methods over a grid.

mod constants;
mod grid;
mod rates;

pub use constants::constants;
pub use grid::Grid;
pub use rates::measure_rates;
