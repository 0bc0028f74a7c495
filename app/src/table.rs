//! Tables for terminals, wrapped to the terminal's width.

use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent};

/// Style without borders, with a rule under the titles.
const STYLE: &str = "     ─             ";
/// Title of the column of remarks.
const REMARK: &str = "remark";

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under titles. A row may end in a remark in place of its last cells.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<TextRow>,
}

#[derive(Debug, Clone)]
struct TextRow {
    cells: Vec<String>,
    remark: Option<String>,
}

impl TextTable {
    /// Adds a column.
    pub fn column(mut self, title: impl Into<String>, align: Align) -> Self {
        self.columns.push((title.into(), align));
        self
    }

    /// Adds several columns of one alignment.
    pub fn columns<'a>(mut self, titles: impl IntoIterator<Item = &'a str>, align: Align) -> Self {
        self.columns.extend(titles.into_iter().map(|title| (title.to_string(), align)));
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(TextRow { cells: cells.into_iter().collect(), remark: None });
    }

    /// Adds a row whose last cells are empty, with a remark in a last column.
    pub fn row_with_remark(&mut self, cells: impl IntoIterator<Item = String>, remark: impl Into<String>) {
        self.rows.push(TextRow { cells: cells.into_iter().collect(), remark: Some(remark.into()) });
    }

    /// Titles of the columns, that of the remarks last if there are any.
    pub fn titles(&self) -> Vec<&str> {
        let remark = self.has_remarks().then_some(REMARK);
        self.columns.iter().map(|(title, _)| title.as_str()).chain(remark).collect()
    }

    /// Alignments of the columns, as many as there are [titles](Self::titles).
    pub fn alignments(&self) -> Vec<Align> {
        let remark = self.has_remarks().then_some(Align::Left);
        self.columns.iter().map(|(_, align)| *align).chain(remark).collect()
    }

    /// Cells of every row, as many as there are [titles](Self::titles).
    pub fn cells(&self) -> Vec<Vec<&str>> {
        let has_remarks = self.has_remarks();
        self.rows
            .iter()
            .map(|row| {
                let mut cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
                cells.resize(self.columns.len(), "");
                if has_remarks {
                    cells.push(row.remark.as_deref().unwrap_or_default());
                }
                cells
            })
            .collect()
    }

    /// The table as lines of text, wrapped to the terminal's width if the standard output is one.
    pub fn render(&self) -> String {
        let terminal = console::Term::stdout();
        self.render_to(terminal.is_term().then(|| terminal.size().1))
    }

    /// The table as lines of text, wrapped to `width` columns if given.
    pub fn render_to(&self, width: Option<u16>) -> String {
        let mut table = Table::new();
        table.load_preset(STYLE).set_header(self.titles()).add_rows(self.cells());
        // Each column is padded by one space; a blank line between columns makes that two, and interrupts the rule.
        table.set_style(TableComponent::VerticalLines, ' ').set_style(TableComponent::MiddleHeaderIntersections, ' ');
        if let Some(width) = width {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        for (column, align) in table.column_iter_mut().zip(self.alignments()) {
            column.set_padding((0, 1)).set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn has_remarks(&self) -> bool {
        self.rows.iter().any(|row| row.remark.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_remarks_stand_at_the_end() {
        let mut table = TextTable::default().column("strategy", Align::Left).columns(["batch", "median"], Align::Right);
        table.row(["firefly".into(), "1024".into(), "98.7 µs".into()]);
        table.row(["x".into(), "8".into(), "1 ns".into()]);
        table.row_with_remark(["x".into(), "16".into()], "failed: power is wrong in a long sentence");
        let text = table.render_to(None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[0].starts_with("strategy  batch   median  remark"), "{text}");
        assert!(lines[1].chars().all(|character| character == '─' || character == ' '), "{text}");
        assert_eq!(lines[2], "firefly    1024  98.7 µs", "{text}");
        assert_eq!(lines[4], "x            16           failed: power is wrong in a long sentence", "{text}");
        let narrow = table.render_to(Some(40));
        assert!(narrow.lines().count() > 5 && narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    }
}
