//! Tables of aligned text.

/// A column's title and side.
#[derive(Debug, Clone)]
struct Column {
    title: String,
    side: Side,
}

/// Which side a column's cells are aligned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under titles; the last cells of a row may be one remark instead.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    cells: Vec<String>,
    remark: Option<String>,
}

impl Table {
    /// Adds a column.
    pub fn column(mut self, title: impl Into<String>, side: Side) -> Self {
        self.columns.push(Column { title: title.into(), side });
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), remark: None });
    }

    /// Adds a row whose first cells are `cells`, with `remark` in place of the others. It doesn't widen a column.
    pub fn row_with_remark(&mut self, cells: impl IntoIterator<Item = String>, remark: impl Into<String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), remark: Some(remark.into()) });
    }

    /// The table as lines of text, each ended.
    pub fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.width(index)).collect();
        let line = |cells: &[String], remark: Option<&str>| {
            let mut parts: Vec<String> = cells
                .iter()
                .zip(&self.columns)
                .zip(&widths)
                .map(|((cell, column), &width)| match column.side {
                    Side::Left => format!("{cell:<width$}"),
                    Side::Right => format!("{cell:>width$}"),
                })
                .collect();
            parts.extend(remark.map(str::to_string));
            format!("{}\n", parts.join("  ").trim_end())
        };
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let rules: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        let mut text = line(&titles, None) + &line(&rules, None);
        for row in &self.rows {
            text += &line(&row.cells, row.remark.as_deref());
        }
        text
    }

    fn width(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(index));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        longest.max(self.columns[index].title.chars().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_remarks_stand_at_the_end() {
        let mut table =
            Table::default().column("strategy", Side::Left).column("batch", Side::Right).column("median", Side::Right);
        table.row(["firefly".into(), "1024".into(), "98.7 µs".into()]);
        table.row(["x".into(), "8".into(), "1 ns".into()]);
        table.row_with_remark(["x".into(), "16".into()], "failed: power is wrong in a long sentence");
        assert_eq!(
            table.render(),
            "strategy  batch   median\n\
             ────────  ─────  ───────\n\
             firefly    1024  98.7 µs\n\
             x             8     1 ns\n\
             x            16  failed: power is wrong in a long sentence\n"
        );
    }
}
