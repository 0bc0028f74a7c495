//! Cases as a table for terminals.
use firefly_app::table::{Align, TextTable};

use crate::harness::format::{digits, duration};
use crate::harness::outcome::{CaseOutcome, CaseRecord, Measured};
use crate::harness::runner::COPY_BASELINE;

/// Table with a row per case. `columns` names the parameters of a problem to show; instruction sets and threads are
/// shown where they differ.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let shape = Shape::of(cases);
    let mut table = key_columns(cases, columns);
    if shape.instruction_sets {
        table = table.column("set", Align::Left);
    }
    if shape.threads {
        table = table.column("threads", Align::Right);
    }
    table = table
        .column("median", Align::Right)
        .column("p10 – p90", Align::Right)
        .column("ns/row", Align::Right)
        .column("GB/s", Align::Right)
        .column("error", Align::Right);
    if shape.accuracy {
        table = table.column("recall (exact)", Align::Right);
    }
    for baseline in &shape.baselines {
        table = table.column(relation(baseline), Align::Left);
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
            CaseOutcome::Measured(measured) => {
                cells.extend(figures(measured, &shape));
                table.row(cells);
            }
            other => table.row_with_remark(cells, other.remark()),
        }
    }
    table
}

/// A table with columns for those of a problem's parameters that are named in `columns`, and for the strategy.
pub fn key_columns(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let mut table = TextTable::default();
    for column in columns {
        let is_word = cases.iter().any(|case| case.problem.get(column).is_some_and(|value| value.is_string()));
        table = table.column(*column, if is_word { Align::Left } else { Align::Right });
    }
    table.column("strategy", Align::Left)
}

/// Title of the speed relative to a baseline.
pub fn relation(baseline: &str) -> String {
    if baseline == COPY_BASELINE { format!("of {COPY_BASELINE}") } else { format!("× {baseline}") }
}

/// Columns of the table.
struct Shape {
    instruction_sets: bool,
    threads: bool,
    accuracy: bool,
    baselines: Vec<String>,
}

impl Shape {
    fn of(cases: &[CaseRecord]) -> Self {
        let measured = || cases.iter().filter_map(CaseRecord::measured);
        let mut baselines: Vec<String> = Vec::new();
        for speed in measured().flat_map(|measured| &measured.speed) {
            if !baselines.contains(&speed.baseline) {
                baselines.push(speed.baseline.clone());
            }
        }
        Self {
            instruction_sets: cases.iter().any(|case| case.instruction_set.is_some()),
            threads: cases.windows(2).any(|pair| pair[0].threads != pair[1].threads),
            accuracy: measured().any(|measured| measured.accuracy.is_some()),
            baselines,
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
    for baseline in &shape.baselines {
        let shown = measured.speed_over(baseline);
        let shown =
            shown.map(|ratio| format!("{} ({} – {})", digits(ratio.median), digits(ratio.p10), digits(ratio.p90)));
        cells.push(shown.unwrap_or_default());
    }
    cells
}
