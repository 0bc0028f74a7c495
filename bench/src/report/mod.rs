//! Reports: as JSON, on a terminal, and as pages; what follows from them.

pub mod any;
pub mod changes;
pub mod crossover;
pub mod decision;
pub mod html;
pub mod json;
pub mod markdown;
pub mod picker_report;
pub mod profile;
pub mod schema;
pub mod terminal;
pub mod traffic;
