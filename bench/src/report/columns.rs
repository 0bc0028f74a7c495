//! Tables driven by columns: each has a title, an alignment, an importance, and a function from a row to its cell.

use firefly_app::table::{Align, TextTable};

type Cell<'a, T> = Box<dyn Fn(&T) -> String + 'a>;

/// Columns of tables with a row per `T`.
pub struct Columns<'a, T: ?Sized> {
    table: TextTable,
    cells: Vec<Cell<'a, T>>,
}

impl<'a, T: ?Sized> Columns<'a, T> {
    pub fn new() -> Self {
        Self { table: TextTable::default(), cells: Vec::new() }
    }

    fn with(self, add: impl FnOnce(TextTable) -> TextTable, cell: impl Fn(&T) -> String + 'a) -> Self {
        let mut cells = self.cells;
        cells.push(Box::new(cell));
        Self { table: add(self.table), cells }
    }

    /// Words, which are always shown.
    pub fn word(self, title: impl Into<String>, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.with(|table| table.column(title, Align::Left), cell)
    }

    /// Numbers, which are always shown.
    pub fn number(self, title: impl Into<String>, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.with(|table| table.column(title, Align::Right), cell)
    }

    /// Words where they fit: the greatest `rank` is the first to be left out.
    pub fn optional_word(self, title: &str, rank: u8, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.with(|table| table.optional(title, Align::Left, rank), cell)
    }

    /// Numbers where they fit.
    pub fn optional(self, title: &str, rank: u8, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.with(|table| table.optional(title, Align::Right, rank), cell)
    }

    /// Numbers with `--wide` alone.
    pub fn wide(self, title: impl Into<String>, cell: impl Fn(&T) -> String + 'a) -> Self {
        self.with(|table| table.wide(title, Align::Right), cell)
    }

    /// The columns so far stand in the headings of groups.
    pub fn grouped(mut self) -> Self {
        self.table = self.table.grouped(self.cells.len());
        self
    }

    /// `more` columns, if there are some.
    pub fn and(self, is_there: bool, more: impl FnOnce(Self) -> Self) -> Self {
        if is_there { more(self) } else { self }
    }

    /// Number of columns so far.
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// The table of `rows`. A row with a `remark` has the first `keys` cells and the remark below them.
    pub fn table_with_remarks<'b>(
        self,
        rows: impl IntoIterator<Item = &'b T>,
        keys: usize,
        remark: impl Fn(&T) -> Option<String>,
    ) -> TextTable
    where
        T: 'b,
    {
        let Self { mut table, cells } = self;
        for row in rows {
            match remark(row) {
                Some(remark) => table.row_with_remark(cells[..keys].iter().map(|cell| cell(row)), remark),
                None => table.row(cells.iter().map(|cell| cell(row))),
            }
        }
        table
    }

    /// The table of `rows`.
    pub fn table<'b>(self, rows: impl IntoIterator<Item = &'b T>) -> TextTable
    where
        T: 'b,
    {
        self.table_with_remarks(rows, 0, |_| None)
    }
}
