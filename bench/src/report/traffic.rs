//! Data movement of cases, as a table and as text.
use firefly_app::table::{Align, TextTable};
use firefly_framework::movement::DataMovement;

use super::terminal::key_columns;
use crate::harness::format::{digits, duration};
use crate::harness::outcome::CaseRecord;
use crate::harness::traffic::PhaseTraffic;

/// TextTable with a row per case whose data movement was counted.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> TextTable {
    let mut table = key_columns(cases, columns);
    for title in ["launches", "syncs", "traffic, bytes", "to host, bytes", "read, bytes", "launches saved"] {
        table = table.column(title, Align::Right);
    }
    for title in ["syncs saved", "read-back saved", "predicted", "measured", "predicted / measured"] {
        table = table.column(title, Align::Right);
    }
    table = table.column("gate", Align::Left);
    for case in cases {
        let Some((measured, traffic)) = case.measured().and_then(|found| Some((found, found.traffic.as_ref()?))) else {
            continue;
        };
        let PhaseTraffic { io, bytes_read, predicted_ns, saved, .. } = **traffic;
        let mut cells: Vec<String> = columns.iter().map(|column| case.problem.shown(column)).collect();
        cells.push(case.strategy.clone());
        cells.extend([io.launches, io.syncs, io.traffic, io.host_output, bytes_read].map(|count| count.to_string()));
        let saved = saved.map(|saved| [saved.launches, saved.syncs, saved.read_back].map(|count| count.to_string()));
        cells.extend(saved.unwrap_or_default());
        let time = measured.time_ns.median;
        cells.extend([duration(predicted_ns), duration(time), digits(predicted_ns / time)]);
        cells.push(verdict(traffic));
        table.row(cells);
    }
    table
}

/// Data movement and the fusion gate's verdict as a line of text.
pub fn summary(traffic: &PhaseTraffic) -> String {
    let DataMovement { launches, syncs, .. } = traffic.io;
    let predicted = duration(traffic.predicted_ns);
    let moved = format!("{launches} launches, {syncs} syncs, {} bytes read; {predicted} predicted", traffic.bytes_read);
    if traffic.fuse.is_some() { format!("{moved}; {}", verdict(traffic)) } else { moved }
}

/// The fusion gate's verdict as a word, and the predicted gain.
fn verdict(traffic: &PhaseTraffic) -> String {
    let (Some(decision), Some(fuse)) = (&traffic.decision, traffic.fuse) else { return String::new() };
    let score = decision.score.total();
    let sign = if score < 0.0 { "loses" } else { "gains" };
    format!("{}: {sign} {}", if fuse { "fuse" } else { "leave" }, duration(score.abs()))
}
