//! Self-contained HTML pages with charts: inline CSS, inline SVG, and a few lines of inline script for reading values off the
//! curves. A page loads nothing: it opens from disk and can be mailed.
//!
//! Text from outside is escaped. A number that is not finite is a gap in a curve and `n/a` in a table.

pub mod axis;
pub mod chart;
pub mod document;
pub mod escape;
pub mod figure;
pub mod line;
pub mod number;
pub mod table;
mod thin;
