//! Cases and crossovers as HTML tables.

use firefly_app::page::table::{Row, Table};

use crate::harness::format::{digits, duration};
use crate::harness::outcome::{CaseOutcome, CaseRecord, DERIVED, SpeedRatio};
use crate::report::crossover::{self, crossovers as find_crossovers};
use crate::report::schema::BenchReport;
use crate::report::terminal::relation;
use crate::report::traffic::summary;

/// Fastest strategies over batch and over K.
pub(super) fn crossovers(cases: &[CaseRecord]) -> String {
    let table = |over: &str| {
        let found = find_crossovers(cases, over);
        let rows: Vec<Row> = found
            .iter()
            .flat_map(|crossover| {
                let common = crossover.common.without(&DERIVED).to_string();
                crossover.ranges.iter().map(move |range| Row::new(&common, crossover::row(range).into()))
            })
            .collect();
        let columns = ["problem", over, "fastest", "times as fast as the next", "next", "beyond the spread"];
        let caption = format!("Fastest over {over}");
        let table = Table { caption, columns: columns.map(str::to_owned).into(), rows };
        if table.rows.is_empty() { String::new() } else { table.html_folded_if_long() }
    };
    ["batch", "k"].map(table).concat()
}

/// Every case of a report.
pub(super) fn cases(report: &BenchReport) -> String {
    let columns = ["case", "median", "p10 – p90", "ns per row", "GB/s", "error", "recall (exact)", "moves", "speed"];
    let rows = report.cases.iter().map(|case| Row::new(&case.label(), cells(case)));
    let table =
        Table { caption: "Every case".into(), columns: columns.map(str::to_owned).into(), rows: rows.collect() };
    table.html_folded_if_long()
}

fn cells(case: &CaseRecord) -> Vec<String> {
    let measured = match &case.outcome {
        CaseOutcome::Measured(measured) => measured,
        other => return vec![other.remark()],
    };
    let speed = |speed: &SpeedRatio| format!("{} {}", digits(speed.ratio.median), relation(&speed.baseline));
    vec![
        duration(measured.time_ns.median),
        format!("{} – {}", duration(measured.time_ns.p10), duration(measured.time_ns.p90)),
        digits(measured.ns_per_row),
        digits(measured.useful_gb_per_second),
        format!("{:.1e}", measured.verification.error),
        measured.accuracy.map(|found| format!("{:.3} ({:.3})", found.recall, found.exact_recall)).unwrap_or_default(),
        measured.traffic.as_ref().map(|traffic| summary(traffic)).unwrap_or_default(),
        measured.speed.iter().map(speed).collect::<Vec<_>>().join(", "),
    ]
}
