//! Self-contained HTML pages with charts: inline style, chart specifications as JSON, and one inline script that draws
//! them with Chart.js (vendored). A page loads nothing: it opens from disk and can be mailed. Without a script, and on
//! paper, the values of its charts stand in tables.
//!
//! Text from outside is escaped. A number that is not finite is a gap in a chart and `n/a` in a table.

pub mod chart;
pub mod document;
pub mod figure;
pub mod heat_map;
pub mod html_table;
#[cfg(test)]
mod tests;

pub use self::document::escape;
