//! Data movement of cases, as a table and as text.

use firefly_app::number::{bytes, duration, significant};
use firefly_app::table::{TableLayout, TextTable, wrapped};
use firefly_framework::cost::Benefit;

use super::terminal::{Columns, key_columns, of};
use crate::harness::{CaseRecord, Measured, PhaseTraffic, distinct, grouped};
use crate::suites::phases::Phase;

/// Table with a row per case whose data movement was counted, in groups by problem.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    fn moved<'a>(shown: impl Fn(&PhaseTraffic) -> String + 'a) -> impl Fn(&CaseRecord) -> String + 'a {
        of(move |found| Some(shown(found.traffic.as_ref()?)))
    }
    let saved = |shown: fn(Benefit) -> String| moved(move |moved| moved.saved.map(shown).unwrap_or_default());
    let ratio = |found: &Measured| Some(significant(found.traffic.as_ref()?.predicted_ns / found.time_ns.median, 3));
    key_columns(cases, columns)
        .optional("launches", 8, moved(|moved| moved.io.launches.to_string()))
        .wide("syncs", moved(|moved| moved.io.syncs.to_string()))
        .optional("traffic", 7, moved(|moved| bytes(moved.io.traffic)))
        .wide("to host", moved(|moved| bytes(moved.io.host_output)))
        .number("read back", moved(|moved| bytes(moved.bytes_read)))
        .wide("launches saved", saved(|saved| saved.launches.to_string()))
        .wide("syncs saved", saved(|saved| saved.syncs.to_string()))
        .wide("read-back saved", saved(|saved| signed_bytes(saved.read_back)))
        .wide("predicted by movement", moved(|moved| duration(moved.prediction.total())))
        .number("predicted", moved(|moved| duration(moved.predicted_ns)))
        .number("measured", of(|found| Some(duration(found.time_ns.median))))
        .optional("predicted / measured", 6, of(ratio))
        .optional_word("gate", 5, moved(verdict))
        .table(cases.iter().filter(|case| case.measured().is_some_and(|found| found.traffic.is_some())))
}

/// Tables of phases by batch, for every combination of the other parameters in `columns`: how many times as fast as the
/// baseline each phase is, and the bytes of read-back that the last one saves. None for a single batch.
pub fn sweeps(cases: &[CaseRecord], columns: &[&str], layout: TableLayout) -> String {
    let titled = cases.iter().filter(|case| case.measured().is_some()).map(|case| {
        let shown =
            columns.iter().filter(|name| **name != "batch").map(|name| format!("{name} {}", case.problem.shown(name)));
        (format!("{}, threads {}", shown.collect::<Vec<_>>().join(", "), case.threads), case)
    });
    let mut text = String::new();
    for (title, group) in grouped(titled) {
        let Some(table) = sweep(&group) else { continue };
        let title = format!("times as fast as the baseline over batch: {title}");
        text += &format!("\n{}\n{}", wrapped(&title, layout.width).join("\n  "), table.render_in(layout));
    }
    text
}

fn sweep(cases: &[&CaseRecord]) -> Option<TextTable> {
    let batches = distinct(cases.iter().map(|case| case.problem.shown("batch")));
    let improves = |case: &&&CaseRecord| case.measured().and_then(|found| found.traffic.as_ref()?.saved).is_some();
    let phases = distinct(cases.iter().filter(improves).map(|case| case.strategy.as_str()));
    if batches.len() < 2 || phases.is_empty() {
        return None;
    }
    let find = |phase: &str, batch: &str| {
        let is_it = |case: &&&CaseRecord| case.strategy == phase && case.problem.shown("batch") == batch;
        cases.iter().find(is_it).and_then(|case| case.measured())
    };
    let mut columns = Columns::<String>::new().number("batch", String::clone);
    for &phase in &phases {
        let time = |phase: &str, batch: &str| Some(find(phase, batch)?.time_ns.median);
        columns = columns.number(phase, move |batch| {
            let times = time(Phase::Baseline.name(), batch).zip(time(phase, batch));
            times.map(|(baseline, time)| significant(baseline / time, 3)).unwrap_or_default()
        });
    }
    let columns = columns.number("read-back saved", |batch| {
        let saved = phases.iter().rev().find_map(|phase| find(phase, batch)?.traffic.as_ref()?.saved);
        saved.map(|saved| signed_bytes(saved.read_back)).unwrap_or_default()
    });
    Some(columns.table(&batches))
}

/// Factor of the measured time within which a prediction is good.
const GOOD: f64 = 2.0;

/// Shares of the cases whose predicted time is within a factor of 2 of the measured median, and of the fastest tenth of
/// the samples, as a line of text; none where nothing was predicted.
pub fn quality(cases: &[CaseRecord]) -> Option<String> {
    let predicted = |case: &CaseRecord| {
        let measured = case.measured()?;
        let predicted = measured.traffic.as_ref()?.predicted_ns;
        Some([predicted / measured.time_ns.median, predicted / measured.time_ns.p10])
    };
    let ratios: Vec<[f64; 2]> = cases.iter().filter_map(predicted).collect();
    let [of_median, of_fastest] = [0, 1].map(|which| share_within(GOOD, ratios.iter().map(move |of| of[which])));
    Some(format!(
        "{:.0} % of {} cases predicted within × {GOOD} of the measured median, {:.0} % of the fastest tenth of the samples",
        100.0 * of_median?,
        ratios.len(),
        100.0 * of_fastest?
    ))
}

/// Share of ratios of predicted to measured time that are within a factor; none of no ratios.
fn share_within(factor: f64, ratios: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = ratios.len();
    let within = ratios.filter(|ratio| ratio.max(1.0 / *ratio) <= factor).count();
    (count > 0).then(|| within as f64 / count as f64)
}

/// Bytes saved, or added if they are negative.
pub fn signed_bytes(count: i64) -> String {
    format!("{}{}", if count < 0 { "−" } else { "" }, bytes(count.unsigned_abs()))
}

/// The fusion gate's verdict as a word, and the predicted gain.
fn verdict(traffic: &PhaseTraffic) -> String {
    let Some(decision) = &traffic.decision else { return String::new() };
    let score = decision.score.total();
    let sign = if score < 0.0 { "loses" } else { "gains" };
    format!("{}: {sign} {}", if decision.fuse() { "fuse" } else { "leave" }, duration(score.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_and_their_inverses_count_equally() {
        assert_eq!(share_within(2.0, [1.0, 0.5, 2.0, 0.4, 2.1, 1.9].into_iter()), Some(4.0 / 6.0));
        assert_eq!(share_within(2.0, [].into_iter()), None);
    }
}
