//! Cases and crossovers as HTML tables.

use firefly_app::page::html_table::{HtmlRow, HtmlTable};
use firefly_app::table::TextTable;

use crate::harness::outcome::{CaseOutcome, CaseRecord, DERIVED, SpeedRatio};
use crate::report::crossover::{Crossover, crossovers as find_crossovers};
use crate::report::schema::BenchReport;
use crate::report::terminal::relation;
use crate::report::traffic::summary;
use firefly_app::number::{duration, duration_range, significant};

/// Milliseconds of every strategy over batch and over K.
pub(super) fn crossovers(cases: &[CaseRecord]) -> String {
    let table = |over: &str, crossover: &Crossover| {
        let row = |cells: Vec<String>| HtmlRow::new(&cells[0], cells[1..].to_vec());
        let columns =
            [vec![over.to_owned()], crossover.titles(), ["fastest", "× next", "clear"].map(String::from).into()];
        let caption = format!("Median milliseconds over {over}: {}", crossover.common.without(&DERIVED));
        let rows = crossover.rows.iter().map(|size| row(crossover.cells(size))).collect();
        HtmlTable { caption, columns: columns.concat(), rows }.html_folded_if_long()
    };
    let tables = |over: &str| find_crossovers(cases, over).iter().map(|found| table(over, found)).collect::<String>();
    ["batch", "k"].map(tables).concat()
}

/// A table for terminals as HTML.
pub(super) fn of_text(caption: &str, text: &TextTable) -> String {
    let row = |cells: Vec<&str>| HtmlRow::new(cells[0], cells[1..].iter().map(|cell| (*cell).to_owned()).collect());
    let columns = text.titles().into_iter().map(str::to_owned).collect();
    let rows = text.cells().into_iter().map(row).collect();
    HtmlTable { caption: caption.to_owned(), columns, rows }.html_folded_if_long()
}

/// Every case of a report, in groups by problem.
pub(super) fn cases(report: &BenchReport) -> String {
    let columns = ["case", "median", "speed", "p10 – p90", "ns per row", "GB/s", "error", "recall (exact)", "moves"];
    let mut rows = Vec::new();
    for group in report.cases.chunk_by(|a, b| a.problem == b.problem) {
        let problem = group[0].problem.without(&DERIVED).to_string();
        rows.push(HtmlRow { strong: true, ..HtmlRow::new(&problem, vec![String::new(); columns.len() - 1]) });
        rows.extend(group.iter().map(|case| HtmlRow::new(&case.configuration(), cells(case))));
    }
    HtmlTable { caption: "Every case".into(), columns: columns.map(str::to_owned).into(), rows }.html_folded_if_long()
}

fn cells(case: &CaseRecord) -> Vec<String> {
    let measured = match &case.outcome {
        CaseOutcome::Measured(measured) => measured,
        other => return vec![other.remark()],
    };
    let speed = |speed: &SpeedRatio| format!("{} {}", significant(speed.ratio.median, 3), relation(&speed.baseline));
    vec![
        duration(measured.time_ns.median),
        measured.speed.iter().map(speed).collect::<Vec<_>>().join(", "),
        duration_range(measured.time_ns.p10, measured.time_ns.p90),
        significant(measured.ns_per_row, 3),
        significant(measured.useful_gb_per_second, 3),
        format!("{:.1e}", measured.verification.error),
        measured.accuracy.map(|found| format!("{:.3} ({:.3})", found.recall, found.exact_recall)).unwrap_or_default(),
        measured.traffic.as_ref().map(|traffic| summary(traffic)).unwrap_or_default(),
    ]
}
