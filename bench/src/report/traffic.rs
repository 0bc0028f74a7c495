//! Data movement of cases, as a table and as text.
use firefly_app::number::{bytes, duration, significant};
use firefly_app::table::{Align, TextTable};
use firefly_framework::movement::DataMovement;

use super::terminal::key_columns;
use crate::harness::outcome::CaseRecord;
use crate::harness::traffic::PhaseTraffic;

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
        cells.extend([duration(predicted_ns), duration(time), significant(predicted_ns / time, 3)]);
        cells.push(verdict(traffic));
        table.row(cells);
    }
    table
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
