//! Drawings of a graph with the traffic of its nodes: in the DOT language, and as SVG.

mod dot;
mod escape;
mod svg;

pub use dot::dot;
pub use svg::svg;
