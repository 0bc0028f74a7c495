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

/// Nanoseconds in the unit that suits them, three digits.
pub fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")])
}

/// A count with a thousand, million or billion as its letter, three digits.
pub fn count(value: f64) -> String {
    scaled(value, &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")])
}

/// A number with three digits.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.6 of a unit would print as 1000.
    let fits = units.iter().find(|(size, _)| value >= 0.9995 * size).or(units.last());
    fits.map_or_else(|| digits(value), |(size, unit)| format!("{}{unit}", digits(value / size)))
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

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [0.0, 1.234, 9.999, 12.34, 99.97, 123.4].map(digits),
            ["0.00", "1.23", "10.0", "12.3", "100", "123"]
        );
        assert_eq!(duration(512.0), "512 ns");
        assert_eq!(duration(1_234.0), "1.23 µs");
        assert_eq!(duration(999_700.0), "1.00 ms");
        assert_eq!(duration(2.5e9), "2.50 s");
        assert_eq!(count(10_834_000.0), "10.8 M");
        assert_eq!(count(12.0), "12.0");
    }
}
