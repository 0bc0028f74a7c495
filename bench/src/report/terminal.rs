//! Cases as a table, and tables driven by columns: each has a title, an alignment, an importance, and a function from a row
//! to its cell.

use firefly_app::number::{duration, duration_range, significant};
use firefly_app::table::{Align, TextTable};

use crate::harness::{COPY_BASELINE, CaseOutcome, CaseRecord, Measured, distinct};

/// Table with a row per case, in groups by problem. `columns` names the parameters of a problem to show; instruction
/// sets, threads and selections are shown where there are some.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let measured = || cases.iter().filter_map(CaseRecord::measured);
    let baselines = distinct(measured().flat_map(|found| &found.speed).map(|speed| speed.baseline.as_str()));
    let has_sets = cases.iter().any(|case| case.instruction_set.is_some());
    let has_threads = cases.windows(2).any(|pair| pair[0].threads != pair[1].threads);
    let has_selections = measured().any(|measured| measured.selected.is_some());
    let has_accuracy = measured().any(|measured| measured.accuracy.is_some());
    let keys = key_columns(cases, columns)
        .and(has_sets, |all| all.optional_word("set", 9, |case| case.instruction_set.clone().unwrap_or_default()))
        .and(has_threads, |all| all.number("threads", |case| case.threads.to_string()));
    let count = keys.cells.len();
    let mut all = keys
        .and(has_selections, |all| {
            all.optional_word("picked", 3, of(|found| found.selected.as_ref().map(|found| found.choice.clone())))
        })
        .number("median", of(|found| Some(duration(found.time_ns.median))))
        .optional("p10 – p90", 6, of(|found| Some(duration_range(found.time_ns.p10, found.time_ns.p90))))
        .optional("ns/row", 8, of(|found| Some(significant(found.ns_per_row, 3))))
        .wide("GB/s", of(|found| Some(significant(found.useful_gb_per_second, 3))))
        .optional("error", 7, of(|found| Some(format!("{:.1e}", found.verification.error))))
        .and(has_accuracy, |all| {
            let recall = |found: &Measured| {
                found.accuracy.map(|found| format!("{:.3} ({:.3})", found.recall, found.exact_recall))
            };
            all.optional("recall (exact)", 1, of(recall))
        });
    for (place, baseline) in baselines.into_iter().enumerate() {
        let title = if baseline == COPY_BASELINE { format!("of {COPY_BASELINE}") } else { format!("× {baseline}") };
        let median = of(move |found| Some(significant(found.speed_over(baseline)?.median, 3)));
        all = if place == 0 { all.number(&title, median) } else { all.optional(&title, 5, median) };
        all = all.wide(
            format!("{title}: p10 – p90"),
            of(move |found| {
                let ratio = found.speed_over(baseline)?;
                Some(format!("{} – {}", significant(ratio.p10, 3), significant(ratio.p90, 3)))
            }),
        );
    }
    all.table_with_remarks(cases, count, |case| match &case.outcome {
        CaseOutcome::Measured(_) => None,
        other => Some(other.remark()),
    })
}

/// Columns for those of a problem's parameters that are named in `columns`, which group the rows, and for the strategy.
pub(crate) fn key_columns<'a>(cases: &[CaseRecord], columns: &'a [&'a str]) -> Columns<'a, CaseRecord> {
    let mut all = Columns::new();
    for &column in columns {
        let is_word = cases.iter().any(|case| case.problem.get(column).is_some_and(|value| value.is_string()));
        let cell = move |case: &CaseRecord| case.problem.shown(column);
        all = if is_word { all.word(column, cell) } else { all.number(column, cell) };
    }
    all.grouped().word("strategy", |case| case.strategy.clone())
}

/// Cell of a measured case; empty where there is nothing to show.
pub fn of<'a>(shown: impl Fn(&Measured) -> Option<String> + 'a) -> impl Fn(&CaseRecord) -> String + 'a {
    move |case| case.measured().and_then(&shown).unwrap_or_default()
}

type Cell<'a, T> = Box<dyn Fn(&T) -> String + 'a>;

pub(crate) struct Columns<'a, T: ?Sized> {
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

    pub fn table<'b>(self, rows: impl IntoIterator<Item = &'b T>) -> TextTable
    where
        T: 'b,
    {
        self.table_with_remarks(rows, 0, |_| None)
    }
}
