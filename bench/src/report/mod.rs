//! Reports: as JSON, on a terminal, and as pages; what follows from them.

pub mod changes;
pub mod crossover;
pub(crate) mod page;
pub mod profile;
pub mod regret;
pub mod schema;
pub mod terminal;
pub mod traffic;
