//! Data movement of cases, as a table and as text.
use firefly_app::number::{bytes, duration, significant};
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use firefly_framework::movement::DataMovement;

use super::terminal::key_columns;
use crate::harness::outcome::CaseRecord;
use crate::harness::phase_traffic::PhaseTraffic;
use crate::suites::phases::Phase;
use crate::suites::predictions::{GOOD, share_within};

/// Table with a row per case whose data movement was counted, in groups by problem.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let mut table = key_columns(cases, columns)
        .optional("launches", Align::Right, 8)
        .wide("syncs", Align::Right)
        .optional("traffic", Align::Right, 7)
        .wide("to host", Align::Right)
        .column("read back", Align::Right)
        .wide("launches saved", Align::Right)
        .wide("syncs saved", Align::Right)
        .wide("read-back saved", Align::Right)
        .wide("predicted by movement", Align::Right)
        .column("predicted", Align::Right)
        .column("measured", Align::Right)
        .optional("predicted / measured", Align::Right, 6)
        .optional("gate", Align::Left, 5);
    for case in cases {
        let Some((measured, traffic)) = case.measured().and_then(|found| Some((found, found.traffic.as_ref()?))) else {
            continue;
        };
        let PhaseTraffic { io, bytes_read, predicted_ns, saved, .. } = **traffic;
        let mut cells: Vec<String> = columns.iter().map(|column| case.problem.shown(column)).collect();
        cells.push(case.strategy.clone());
        cells.extend([io.launches.to_string(), io.syncs.to_string()]);
        cells.extend([io.traffic, io.host_output, bytes_read].map(bytes));
        cells.extend(match saved {
            Some(saved) => [saved.launches.to_string(), saved.syncs.to_string(), signed_bytes(saved.read_back)],
            None => [const { String::new() }; 3],
        });
        let time = measured.time_ns.median;
        let movement = traffic.prediction.total();
        cells.extend([movement, predicted_ns, time].map(duration));
        cells.push(significant(predicted_ns / time, 3));
        cells.push(verdict(traffic));
        table.row(cells);
    }
    table
}

/// Tables of phases by batch, for every combination of the other parameters in `columns`: how many times as fast as the
/// baseline each phase is, and the bytes of read-back that the last one saves. None for a single batch.
pub fn sweeps(cases: &[CaseRecord], columns: &[&str], layout: TableLayout) -> String {
    let mut groups: Vec<(String, Vec<&CaseRecord>)> = Vec::new();
    for case in cases.iter().filter(|case| case.measured().is_some()) {
        let shown =
            columns.iter().filter(|name| **name != "batch").map(|name| format!("{name} {}", case.problem.shown(name)));
        let title = format!("{}, threads {}", shown.collect::<Vec<_>>().join(", "), case.threads);
        match groups.iter_mut().find(|(other, _)| *other == title) {
            Some((_, group)) => group.push(case),
            None => groups.push((title, vec![case])),
        }
    }
    groups.into_iter().filter_map(|(title, group)| Some((title, sweep(&group)?))).fold(
        String::new(),
        |text, (title, table)| {
            let title =
                wrapped(&format!("times as fast as the baseline over batch: {title}"), layout.width).join("\n  ");
            format!("{text}\n{title}\n{}", table.render_in(layout))
        },
    )
}

/// The table of one sweep over batches.
fn sweep(cases: &[&CaseRecord]) -> Option<TextTable> {
    let (mut batches, mut phases): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for case in cases {
        let batch = case.problem.shown("batch");
        if !batches.contains(&batch) {
            batches.push(batch);
        }
        let improves = case.measured().and_then(|measured| measured.traffic.as_ref()?.saved);
        if improves.is_some() && !phases.contains(&case.strategy.as_str()) {
            phases.push(&case.strategy);
        }
    }
    if batches.len() < 2 || phases.is_empty() {
        return None;
    }
    let mut table = TextTable::default()
        .column("batch", Align::Right)
        .columns(phases.iter().copied(), Align::Right)
        .column("read-back saved", Align::Right);
    for batch in batches {
        let of = |phase: &str| {
            let is_it = |case: &&&CaseRecord| case.strategy == phase && case.problem.shown("batch") == batch;
            cases.iter().find(is_it).and_then(|case| case.measured())
        };
        let time = |phase: &str| of(phase).map(|measured| measured.time_ns.median);
        let ratio = |phase: &&str| match (time(Phase::Baseline.name()), time(phase)) {
            (Some(baseline), Some(time)) => significant(baseline / time, 3),
            _ => String::new(),
        };
        let saved = phases.iter().rev().find_map(|phase| of(phase)?.traffic.as_ref()?.saved);
        let cells =
            phases.iter().map(ratio).chain([saved.map(|saved| signed_bytes(saved.read_back)).unwrap_or_default()]);
        table.row([batch.clone()].into_iter().chain(cells));
    }
    Some(table)
}

/// Share of the cases whose predicted time is within a factor of 2 of the measured median, as a line of text; none
/// where nothing was predicted.
pub fn quality(cases: &[CaseRecord]) -> Option<String> {
    let predicted = |case: &CaseRecord| {
        let measured = case.measured()?;
        Some(measured.traffic.as_ref()?.predicted_ns / measured.time_ns.median)
    };
    let ratios: Vec<f64> = cases.iter().filter_map(predicted).collect();
    let share = share_within(GOOD, ratios.iter().copied())?;
    Some(format!("{:.0} % of {} cases predicted within × {GOOD} of the measured median", 100.0 * share, ratios.len()))
}

/// Bytes saved, or added if they are negative.
pub fn signed_bytes(count: i64) -> String {
    format!("{}{}", if count < 0 { "−" } else { "" }, bytes(count.unsigned_abs()))
}

/// Data movement and the fusion gate's verdict as a line of text.
pub fn summary(traffic: &PhaseTraffic) -> String {
    let DataMovement { launches, syncs, .. } = traffic.io;
    let (read, predicted) = (bytes(traffic.bytes_read), duration(traffic.predicted_ns));
    let moved = format!("{launches} launches, {syncs} syncs, {read} read back; {predicted} predicted");
    if traffic.fuse.is_some() { format!("{moved}; {}", verdict(traffic)) } else { moved }
}

/// The fusion gate's verdict as a word, and the predicted gain.
fn verdict(traffic: &PhaseTraffic) -> String {
    let (Some(decision), Some(fuse)) = (&traffic.decision, traffic.fuse) else { return String::new() };
    let score = decision.score.total();
    let sign = if score < 0.0 { "loses" } else { "gains" };
    format!("{}: {sign} {}", if fuse { "fuse" } else { "leave" }, duration(score.abs()))
}
