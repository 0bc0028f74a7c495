//! Device code of Welch power and peaks in one launch.
//!
//! Per row: `samples` loads a pair of segments and applies the window, `stockham` transforms it (with `short_transform`
//! in registers), `row_power` sums and folds the squares (`products` the products of neighbours, which `gain` may take), and
//! `select` writes the strongest bins.

mod arguments;
mod fused;
mod gain;
mod network_keys;
mod peak;
mod products;
mod row_power;
mod samples;
mod select;
mod select_by_bound;
mod select_by_network;
mod stockham;
mod team;
mod unit_tables;

pub use arguments::{LaunchShapeLaunch, WelchInputLaunch, WelchOutputArgs};
pub use fused::welch;
