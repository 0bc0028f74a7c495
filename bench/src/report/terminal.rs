//! Cases as a table for a terminal.

use crate::harness::format::{digits, duration};
use crate::harness::outcome::{CaseRecord, Measured, Outcome};
use crate::harness::runner::COPY;
use crate::report::table::{Side, Table};

/// A row a case. Of a problem's parameters, those named in `columns` are shown; instruction sets and threads where they
/// differ.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> Table {
    let shape = Shape::of(cases);
    let mut table = key_columns(cases, columns);
    if shape.instruction_sets {
        table = table.column("set", Side::Left);
    }
    if shape.threads {
        table = table.column("threads", Side::Right);
    }
    table = table
        .column("median", Side::Right)
        .column("p10 – p90", Side::Right)
        .column("ns/row", Side::Right)
        .column("GB/s", Side::Right)
        .column("error", Side::Right);
    if shape.accuracy {
        table = table.column("recall (exact)", Side::Right);
    }
    for than in &shape.relations {
        table = table.column(relation(than), Side::Left);
    }
    for case in cases {
        let mut cells: Vec<String> = columns.iter().map(|column| case.problem.shown(column)).collect();
        cells.push(case.strategy.clone());
        if shape.instruction_sets {
            cells.push(case.instruction_set.clone().unwrap_or_default());
        }
        if shape.threads {
            cells.push(case.threads.to_string());
        }
        match &case.outcome {
            Outcome::Measured(measured) => {
                cells.extend(figures(measured, &shape));
                table.row(cells);
            }
            other => table.row_with_remark(cells, other.remark()),
        }
    }
    table
}

/// A table with columns for those of a problem's parameters that are named in `columns`, and for the strategy.
pub fn key_columns(cases: &[CaseRecord], columns: &[&str]) -> Table {
    let mut table = Table::default();
    for column in columns {
        let is_word = cases.iter().any(|case| case.problem.get(column).is_some_and(|value| value.is_string()));
        table = table.column(*column, if is_word { Side::Left } else { Side::Right });
    }
    table.column("strategy", Side::Left)
}

/// How a relation is called where its figure stands.
pub fn relation(than: &str) -> String {
    if than == COPY { format!("of {COPY}") } else { format!("× {than}") }
}

/// Which columns there are.
struct Shape {
    instruction_sets: bool,
    threads: bool,
    accuracy: bool,
    relations: Vec<String>,
}

impl Shape {
    fn of(cases: &[CaseRecord]) -> Self {
        let measured = || cases.iter().filter_map(CaseRecord::measured);
        let mut relations: Vec<String> = Vec::new();
        for speed in measured().flat_map(|measured| &measured.speed) {
            if !relations.contains(&speed.than) {
                relations.push(speed.than.clone());
            }
        }
        Self {
            instruction_sets: cases.iter().any(|case| case.instruction_set.is_some()),
            threads: cases.windows(2).any(|pair| pair[0].threads != pair[1].threads),
            accuracy: measured().any(|measured| measured.accuracy.is_some()),
            relations,
        }
    }
}

fn figures(measured: &Measured, shape: &Shape) -> Vec<String> {
    let mut cells = vec![
        duration(measured.time_ns.median),
        format!("{} – {}", duration(measured.time_ns.p10), duration(measured.time_ns.p90)),
        digits(measured.ns_per_row),
        digits(measured.useful_gb_per_second),
        format!("{:.1e}", measured.verification.error),
    ];
    if shape.accuracy {
        let shown = measured.accuracy.map(|found| format!("{:.3} ({:.3})", found.recall, found.exact_recall));
        cells.push(shown.unwrap_or_default());
    }
    for than in &shape.relations {
        let shown = measured.speed_than(than);
        let shown =
            shown.map(|ratio| format!("{} ({} – {})", digits(ratio.median), digits(ratio.p10), digits(ratio.p90)));
        cells.push(shown.unwrap_or_default());
    }
    cells
}
