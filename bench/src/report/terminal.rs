//! Cases as a table.

use firefly_app::number::{duration, duration_range, significant};
use firefly_app::table::TextTable;

use super::columns::Columns;
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
    let count = keys.count();
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
pub fn key_columns<'a>(cases: &[CaseRecord], columns: &'a [&'a str]) -> Columns<'a, CaseRecord> {
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
