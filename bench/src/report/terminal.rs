//! Cases as a table for terminals.
use firefly_app::number::{duration, duration_range, significant};
use firefly_app::table::{Align, TextTable};

use crate::harness::outcome::{CaseOutcome, CaseRecord, Measured};
use crate::harness::runner::COPY_BASELINE;

/// Table with a row per case, in groups by problem. `columns` names the parameters of a problem to show; instruction
/// sets, threads and selections are shown where there are some.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let shape = Shape::of(cases);
    let mut table = key_columns(cases, columns);
    if shape.instruction_sets {
        table = table.optional("set", Align::Left, 9);
    }
    if shape.threads {
        table = table.column("threads", Align::Right);
    }
    if shape.selections {
        table = table.optional("picked", Align::Left, 3);
    }
    table = table
        .column("median", Align::Right)
        .optional("p10 – p90", Align::Right, 6)
        .optional("ns/row", Align::Right, 8)
        .wide("GB/s", Align::Right)
        .optional("error", Align::Right, 7);
    if shape.accuracy {
        table = table.optional("recall (exact)", Align::Right, 1);
    }
    for (place, baseline) in shape.baselines.iter().enumerate() {
        let title = relation(baseline);
        table = if place == 0 { table.column(&title, Align::Right) } else { table.optional(&title, Align::Right, 5) };
        table = table.wide(format!("{title}: p10 – p90"), Align::Right);
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
                if shape.selections {
                    cells.push(measured.selected.as_ref().map(|found| found.choice.clone()).unwrap_or_default());
                }
                cells.extend(figures(measured, &shape));
                table.row(cells);
            }
            other => table.row_with_remark(cells, other.remark()),
        }
    }
    table
}

/// A table with columns for those of a problem's parameters that are named in `columns`, which group its rows, and for
/// the strategy.
pub fn key_columns(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let mut table = TextTable::default();
    for column in columns {
        let is_word = cases.iter().any(|case| case.problem.get(column).is_some_and(|value| value.is_string()));
        table = table.column(*column, if is_word { Align::Left } else { Align::Right });
    }
    table.column("strategy", Align::Left).grouped(columns.len())
}

/// Title of the speed relative to a baseline.
pub fn relation(baseline: &str) -> String {
    if baseline == COPY_BASELINE { format!("of {COPY_BASELINE}") } else { format!("× {baseline}") }
}

/// Columns of the table.
struct Shape {
    instruction_sets: bool,
    threads: bool,
    selections: bool,
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
            selections: measured().any(|measured| measured.selected.is_some()),
            accuracy: measured().any(|measured| measured.accuracy.is_some()),
            baselines,
        }
    }
}

fn figures(measured: &Measured, shape: &Shape) -> Vec<String> {
    let mut cells = vec![
        duration(measured.time_ns.median),
        duration_range(measured.time_ns.p10, measured.time_ns.p90),
        significant(measured.ns_per_row, 3),
        significant(measured.useful_gb_per_second, 3),
        format!("{:.1e}", measured.verification.error),
    ];
    if shape.accuracy {
        let shown = measured.accuracy.map(|found| format!("{:.3} ({:.3})", found.recall, found.exact_recall));
        cells.push(shown.unwrap_or_default());
    }
    for baseline in &shape.baselines {
        let shown = measured.speed_over(baseline);
        cells.push(shown.map(|ratio| significant(ratio.median, 3)).unwrap_or_default());
        let range = shown.map(|ratio| format!("{} – {}", significant(ratio.p10, 3), significant(ratio.p90, 3)));
        cells.push(range.unwrap_or_default());
    }
    cells
}
