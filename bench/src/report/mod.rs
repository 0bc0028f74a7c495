//! Reports: as JSON, on a terminal, and as pages; what follows from them.

pub mod crossover;
pub mod html;
pub mod json;
pub mod movement;
pub mod schema;
pub mod table;
pub mod terminal;
