//! Plain HTML tables.

use std::fmt::Write;

use super::escape::escape;

/// A table with a row header in its first column and figures in the others.
pub struct Table {
    /// What it is about.
    pub caption: String,
    /// Names of the columns, that of the row headers first.
    pub columns: Vec<String>,
    /// The rows, in order.
    pub rows: Vec<Row>,
}

/// One row of a [`Table`].
pub struct Row {
    /// SVG before the name; trusted, not escaped.
    pub swatch: String,
    /// The row's header.
    pub name: String,
    /// The cells after it.
    pub cells: Vec<String>,
    /// Set apart from the other rows.
    pub strong: bool,
}

impl Table {
    /// The table as HTML, in a box that scrolls sideways on a narrow screen.
    pub fn html(&self) -> String {
        let mut html = format!(
            r#"<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table><caption>{caption}</caption><thead><tr>"#,
            caption = escape(&self.caption)
        );
        for column in &self.columns {
            let _ = write!(html, r#"<th scope="col">{}</th>"#, escape(column));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            let class = if row.strong { r#" class="strong""# } else { "" };
            let _ = write!(html, r#"<tr{class}><th scope="row">{}{}</th>"#, row.swatch, escape(&row.name));
            for cell in &row.cells {
                let _ = write!(html, "<td>{}</td>", escape(cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        html
    }
}
