//! TimesNet: a series as pictures of its periods.

mod block;
mod config;
mod family;
mod module;
mod periods;

pub use block::TimesBlock;
pub use config::TimesNetConfig;
pub use module::TimesNet;
pub use periods::{Periods, find_periods};
