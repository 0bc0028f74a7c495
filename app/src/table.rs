//! Tables for terminals: rows in groups, with the columns that fit.

use comfy_table::{CellAlignment, Table, TableComponent};
use console::measure_text_width;

use crate::streams::printable;

/// Style without borders, with a rule under the titles.
const STYLE: &str = "     ─             ";
/// Title of the column of remarks.
const REMARK: &str = "remark";
/// Spaces between columns.
const GAP: usize = 2;
/// Indentation of rows below the heading of their group.
const INDENT: usize = 2;
/// Indentation of a remark below a row that is not indented.
const REMARK_INDENT: usize = 4;
/// Default greatest width, in columns of the terminal.
const WIDTH: usize = 100;
/// Least width: a narrower terminal wraps lines itself.
const MIN_WIDTH: usize = 40;

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Space that a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLayout {
    /// Columns of characters.
    pub width: usize,
    /// Whether every column is shown, whatever the width.
    pub every_column: bool,
}

impl TableLayout {
    /// The layout for standard output: as wide as its terminal, at most 100 columns; with `every_column` as wide as it
    /// takes.
    pub fn of_stdout(every_column: bool) -> Self {
        let terminal = console::Term::stdout();
        let columns = if terminal.is_term() { usize::from(terminal.size().1) } else { WIDTH };
        Self { width: columns.clamp(MIN_WIDTH, WIDTH), every_column }
    }
}

/// Rows of text under titles. A row may have a remark.
#[derive(Debug, Clone, Default)]
pub struct TextTable {
    columns: Vec<TextColumn>,
    rows: Vec<TextRow>,
    /// The first columns, which stand in the headings of groups.
    grouped: usize,
}

#[derive(Debug, Clone)]
struct TextColumn {
    title: String,
    align: Align,
    importance: Importance,
}

/// Whether a column is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Importance {
    /// Column that is always shown.
    Key,
    /// Column that is shown where it fits; the greatest number is the first to be left out.
    Optional(u8),
    /// Column that is shown only where every column is.
    Wide,
}

#[derive(Debug, Clone)]
struct TextRow {
    cells: Vec<String>,
    remark: Option<String>,
}

impl TextTable {
    /// Adds a column that is always shown.
    pub fn column(self, title: impl Into<String>, align: Align) -> Self {
        self.with(title, align, Importance::Key)
    }

    /// Adds several columns of one alignment that are always shown.
    pub fn columns<'a>(self, titles: impl IntoIterator<Item = &'a str>, align: Align) -> Self {
        titles.into_iter().fold(self, |table, title| table.column(title, align))
    }

    /// Adds a column that is shown where it fits. The greatest `rank` is the first to be left out.
    pub fn optional(self, title: impl Into<String>, align: Align, rank: u8) -> Self {
        self.with(title, align, Importance::Optional(rank))
    }

    /// Adds a column that is shown only where every column is.
    pub fn wide(self, title: impl Into<String>, align: Align) -> Self {
        self.with(title, align, Importance::Wide)
    }

    fn with(mut self, title: impl Into<String>, align: Align, importance: Importance) -> Self {
        self.columns.push(TextColumn { title: title.into(), align, importance });
        self
    }

    /// The same table with rows in groups: on a terminal the first `count` columns stand in a heading above the rows
    /// that share them.
    pub fn grouped(mut self, count: usize) -> Self {
        self.grouped = count;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.push(cells, None);
    }

    /// Adds a row whose last cells are empty, with a remark below it.
    pub fn row_with_remark(&mut self, cells: impl IntoIterator<Item = String>, remark: impl Into<String>) {
        self.push(cells, Some(remark.into()));
    }

    /// Text may come from outside: control characters don't reach the terminal.
    fn push(&mut self, cells: impl IntoIterator<Item = String>, remark: Option<String>) {
        let clean = |text: String| printable(&text).replace(['\n', '\t'], " ");
        let mut cells: Vec<String> = cells.into_iter().map(clean).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(TextRow { cells, remark: remark.map(clean) });
    }

    /// Titles of all columns, that of the remarks last if there are any.
    pub fn titles(&self) -> Vec<&str> {
        let remark = self.has_remarks().then_some(REMARK);
        self.columns.iter().map(|column| column.title.as_str()).chain(remark).collect()
    }

    /// Alignments of the columns, as many as there are [titles](Self::titles).
    pub fn alignments(&self) -> Vec<Align> {
        let remark = self.has_remarks().then_some(Align::Left);
        self.columns.iter().map(|column| column.align).chain(remark).collect()
    }

    /// Cells of every row, as many as there are [titles](Self::titles).
    pub fn cells(&self) -> Vec<Vec<&str>> {
        let has_remarks = self.has_remarks();
        self.rows
            .iter()
            .map(|row| {
                let remark = has_remarks.then(|| row.remark.as_deref().unwrap_or_default());
                row.cells.iter().map(String::as_str).chain(remark).collect()
            })
            .collect()
    }

    /// The table as lines of text, for standard output.
    pub fn render(&self) -> String {
        self.render_in(TableLayout::of_stdout(false))
    }

    /// The table as lines of text with the columns that fit into `width`; with all but the wide ones if none is given.
    pub fn render_to(&self, width: Option<u16>) -> String {
        self.render_in(TableLayout { width: width.map_or(usize::MAX, usize::from), every_column: false })
    }

    /// The table as lines of text.
    pub fn render_in(&self, layout: TableLayout) -> String {
        let shown = self.shown(layout);
        let mut table = Table::new();
        table.load_preset(STYLE).set_header(shown.iter().map(|&place| &self.columns[place].title));
        let width = if layout.every_column { usize::MAX } else { layout.width };
        let cells = self.fitting_cells(&shown, width);
        table.add_rows(&cells);
        // Each column is padded by one space; a blank line between columns makes that two, and interrupts the rule.
        table.set_style(TableComponent::VerticalLines, ' ').set_style(TableComponent::MiddleHeaderIntersections, ' ');
        for (column, &place) in table.column_iter_mut().zip(&shown) {
            column.set_padding((0, 1)).set_cell_alignment(match self.columns[place].align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        let indent = if self.grouped == 0 { 0 } else { INDENT };
        let line = |text: String| format!("{:indent$}{text}", "").trim_end().to_string() + "\n";
        let mut lines = table.lines().map(line);
        let mut text: String = lines.by_ref().take(2).collect();
        let mut group: Option<String> = None;
        for (row, cells) in self.rows.iter().zip(&cells) {
            let heading = (self.grouped > 0).then(|| self.heading(row));
            if heading != group {
                text += if group.is_some() { "\n" } else { "" };
                text.extend(heading.iter().flat_map(|heading| [heading.as_str(), "\n"]));
                group = heading;
            }
            let height = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
            text.extend(lines.by_ref().take(height));
            if let Some(remark) = &row.remark {
                for part in wrapped(remark, layout.width.saturating_sub(indent + REMARK_INDENT)) {
                    text += &format!("{:1$}{part}\n", "", indent + REMARK_INDENT);
                }
            }
        }
        text
    }

    /// Titles of the columns that a layout leaves out.
    pub fn hidden(&self, layout: TableLayout) -> Vec<&str> {
        let shown = self.shown(layout);
        let places = (self.grouped..self.columns.len()).filter(|place| !shown.contains(place));
        places.map(|place| self.columns[place].title.as_str()).collect()
    }

    /// A line that names the columns that a layout leaves out; none if it shows all.
    pub fn remark_on_hidden(&self, layout: TableLayout) -> Option<String> {
        let hidden = self.hidden(layout);
        let line = format!("not shown: {}; --wide shows every column", hidden.join(", "));
        (!hidden.is_empty()).then(|| wrapped(&line, layout.width).join("\n"))
    }

    /// The table as lines of text, and a line that names the columns that the layout leaves out.
    pub fn render_with_remark(&self, layout: TableLayout) -> String {
        let remark = self.remark_on_hidden(layout).map(|remark| remark + "\n").unwrap_or_default();
        self.render_in(layout) + &remark
    }

    /// The values that a row's group shares.
    fn heading(&self, row: &TextRow) -> String {
        let pairs = self.columns.iter().zip(&row.cells).take(self.grouped);
        let shown = pairs.filter(|(_, cell)| !cell.is_empty()).map(|(column, cell)| match column.title.as_str() {
            "" => cell.clone(),
            title => format!("{title} {cell}"),
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// Cells of the columns shown. Where they are wider than `width`, the widest column of words is broken between
    /// words.
    fn fitting_cells(&self, shown: &[usize], width: usize) -> Vec<Vec<String>> {
        let excess = self.total_width(shown).saturating_sub(width);
        let words = shown.iter().copied().filter(|&place| self.columns[place].align == Align::Left);
        let widest = words.max_by_key(|&place| self.width(place)).filter(|_| excess > 0);
        let cell = |row: &TextRow, place: usize| match widest {
            Some(widest) if widest == place => {
                wrapped(&row.cells[place], self.width(place).saturating_sub(excess)).join("\n")
            }
            _ => row.cells[place].clone(),
        };
        self.rows.iter().map(|row| shown.iter().map(|&place| cell(row, place)).collect()).collect()
    }

    /// Width of a table with these columns.
    fn total_width(&self, shown: &[usize]) -> usize {
        // The rule goes one beyond the last column.
        let gaps = (GAP * shown.len()).saturating_sub(1);
        let indent = if self.grouped == 0 { 0 } else { INDENT };
        shown.iter().map(|&place| self.width(place)).sum::<usize>() + gaps + indent
    }

    /// Positions of the columns that a layout shows.
    fn shown(&self, layout: TableLayout) -> Vec<usize> {
        let mut shown: Vec<usize> = (self.grouped..self.columns.len()).collect();
        if layout.every_column {
            return shown;
        }
        shown.retain(|&place| self.columns[place].importance != Importance::Wide);
        while self.total_width(&shown) > layout.width {
            let least = shown.iter().copied().max_by_key(|&place| self.columns[place].importance);
            match least.filter(|&place| self.columns[place].importance > Importance::Key) {
                Some(least) => shown.retain(|&place| place != least),
                None => break,
            }
        }
        shown
    }

    fn width(&self, place: usize) -> usize {
        let cells = self.rows.iter().map(|row| measure_text_width(&row.cells[place]));
        cells.max().unwrap_or(0).max(measure_text_width(&self.columns[place].title))
    }

    fn has_remarks(&self) -> bool {
        self.rows.iter().any(|row| row.remark.is_some())
    }
}

/// Text in lines of at most `width` columns, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| measure_text_width(line) + 1 + measure_text_width(word) <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TextTable {
        let mut table = TextTable::default()
            .columns(["n_fft", "batch"], Align::Right)
            .column("strategy", Align::Left)
            .column("median", Align::Right)
            .optional("error", Align::Right, 2)
            .optional("p10 – p90", Align::Right, 1)
            .wide("GB/s", Align::Right)
            .grouped(2);
        let cells = |cells: [&str; 7]| cells.map(String::from);
        table.row(cells(["256", "8", "firefly", "98.7 µs", "1.5e-7", "91 – 99 µs", "12"]));
        table.row(cells(["256", "8", "rustfft", "1 ns", "1.5e-7", "1 – 2 ns", "3"]));
        table.row_with_remark(["256".into(), "16".into(), "x".into()], "failed: power is wrong in a long sentence");
        table
    }

    #[test]
    fn rows_stand_in_groups_and_remarks_below_their_row() {
        let text = table().render_in(TableLayout { width: 100, every_column: true });
        let expected = "  strategy   median   error   p10 – p90  GB/s
  ───────── ──────── ─────── ─────────── ─────
n_fft 256, batch 8
  firefly   98.7 µs  1.5e-7  91 – 99 µs    12
  rustfft      1 ns  1.5e-7    1 – 2 ns     3

n_fft 256, batch 16
  x
      failed: power is wrong in a long sentence
";
        assert_eq!(text, expected, "{text}");
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out_and_nothing_is_broken_within_words() {
        let of = |width| table().render_in(TableLayout { width, every_column: false });
        assert!(!of(100).contains("GB/s") && of(100).contains("error"));
        assert!(!of(33).contains("error") && of(33).contains("p10 – p90"), "{}", of(33));
        assert!(of(20).contains("median") && !of(20).contains("p10"), "{}", of(20));
        for width in [33, 40, 100] {
            assert!(of(width).lines().all(|line| measure_text_width(line) <= width), "{}", of(width));
        }
        let narrow = TableLayout { width: 33, every_column: false };
        assert_eq!(table().hidden(narrow), ["error", "GB/s"]);
        let remark = "not shown: error, GB/s; --wide\nshows every column\n";
        assert_eq!(table().render_with_remark(narrow), table().render_in(narrow) + remark);
        let wide = TableLayout { every_column: true, ..narrow };
        assert_eq!(table().render_with_remark(wide), table().render_in(wide));
    }

    #[test]
    fn columns_that_are_always_shown_break_between_words() {
        let mut table = TextTable::default().column("model", Align::Left).column("recall", Align::Right);
        table.row(["learned at a price with a long name".into(), "0.850".into()]);
        table.row(["fast".into(), "0.829".into()]);
        let text = table.render_to(Some(30));
        let expected = "model               recall
─────────────────── ───────
learned at a price   0.850
with a long name
fast                 0.829
";
        assert_eq!(text, expected, "{text}");
    }

    #[test]
    fn tables_without_groups_have_every_column_in_every_row() {
        let mut table = TextTable::default().column("strategy", Align::Left).columns(["batch", "median"], Align::Right);
        table.row(["firefly".into(), "1024".into(), "98.7 µs".into()]);
        table.row(["x".into(), "8".into(), "1 ns".into()]);
        let text = table.render_to(None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "strategy  batch   median");
        assert_eq!(lines[2], "firefly    1024  98.7 µs", "{text}");
        assert_eq!(lines[3], "x             8     1 ns", "{text}");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut table = TextTable::default().column("case", Align::Left);
        table.row(["\u{1b}[2Jgone\nover".into()]);
        assert!(!table.render_to(None).contains('\u{1b}') && table.render_to(None).lines().count() == 3);
    }
}
