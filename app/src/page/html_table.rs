//! Plain HTML tables.

use std::fmt::Write;

use super::document::escape;

/// A table with a row header in its first column and figures in the others.
pub struct HtmlTable {
    /// Caption of the table.
    pub caption: String,
    /// Names of the columns, that of the row headers first.
    pub columns: Vec<String>,
    /// The rows, in order.
    pub rows: Vec<HtmlRow>,
}

/// One row of an [`HtmlTable`].
pub struct HtmlRow {
    /// Index of the colour and shape that charts draw it with, shown before its name.
    pub colour: Option<usize>,
    /// The row's header.
    pub name: String,
    /// The cells after it.
    pub cells: Vec<String>,
    /// Set apart from the other rows.
    pub strong: bool,
}

/// Shapes of the series in a chart, by index of their colour.
const SHAPES: [char; 4] = ['■', '●', '◆', '▲'];
/// Colours of series; more begin again.
const COLOURS: usize = 8;
/// Rows beyond which a table is folded.
const LONG: usize = 24;

impl HtmlTable {
    /// The table as HTML, in a box that scrolls sideways on a narrow screen.
    pub fn html(&self) -> String {
        let caption = escape(&self.caption);
        let mut html = format!(r#"<div class="scroll" role="region" tabindex="0" aria-label="{caption}">"#);
        let _ = write!(html, "<table><caption>{caption}</caption><thead><tr>");
        for column in &self.columns {
            let _ = write!(html, r#"<th scope="col">{}</th>"#, escape(column));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            let class = if row.strong { r#" class="strong""# } else { "" };
            let _ = write!(html, r#"<tr{class}><th scope="row">{}{}</th>"#, row.mark(), escape(&row.name));
            for cell in &row.cells {
                let _ = write!(html, "<td>{}</td>", escape(cell));
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        html
    }

    /// As [`HtmlTable::html`]; a long table is folded and says how many rows it has.
    pub fn html_folded_if_long(&self) -> String {
        match self.rows.len() {
            0..=LONG => self.html(),
            rows => {
                let (caption, table) = (escape(&self.caption), self.html());
                format!(r#"<details class="folded values"><summary>{caption} ({rows} rows)</summary>{table}</details>"#)
            }
        }
    }
}

impl HtmlRow {
    /// A row without a colour, like the others.
    pub fn new(name: &str, cells: Vec<String>) -> Self {
        Self { colour: None, name: name.to_owned(), cells, strong: false }
    }

    fn mark(&self) -> String {
        match self.colour {
            None => String::new(),
            Some(colour) => format!(
                r#"<span class="mark s{}" aria-hidden="true">{}</span>"#,
                colour % COLOURS,
                SHAPES[colour % SHAPES.len()]
            ),
        }
    }
}
