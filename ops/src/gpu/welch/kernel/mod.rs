//! Device code of Welch power and peaks in one launch.
//!
//! Per row: `samples` loads a pair of segments and applies the window, the passes of `transform` transform it, `row_power`
//! sums and folds the squares (`products` the products of neighbours, which `gain` may take), and `select` writes the
//! strongest bins. `spectra` and `row_gain` are the same in launches of their own.

mod arguments;
mod fused;
mod gain;
mod products;
mod row_gain;
mod row_power;
mod samples;
mod select;
mod select_by_bound;
mod select_by_network;
mod spectra;
mod team;
mod unit_tables;

pub use arguments::{LaunchShapeLaunch, WelchInputLaunch, WelchOutputArgs};
pub use fused::welch;
pub use row_gain::{GainInputLaunch, apply_row_gain, gain_adjoint, gain_sums};
pub use spectra::{SpectraShapeLaunch, SumGradientBuffersLaunch, spectrum_gradients, sum_products, sum_squares};
