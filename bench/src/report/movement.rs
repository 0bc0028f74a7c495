//! What cases move, as a table and in words.

use firefly_framework::movement::DataMovement;

use super::table::{Side, Table};
use super::terminal::key_columns;
use crate::harness::format::{digits, duration};
use crate::harness::movement::Movement;
use crate::harness::outcome::CaseRecord;

/// A row for each case that was measured and says what it moves.
pub fn table(cases: &[CaseRecord], columns: &[&str]) -> Table {
    let mut table = key_columns(cases, columns);
    for title in ["launches", "syncs", "traffic, bytes", "to host, bytes", "read, bytes", "launches saved"] {
        table = table.column(title, Side::Right);
    }
    for title in ["syncs saved", "read-back saved", "predicted", "measured", "predicted / measured"] {
        table = table.column(title, Side::Right);
    }
    table = table.column("gate", Side::Left);
    for case in cases {
        let Some((measured, movement)) = case.measured().and_then(|found| Some((found, found.movement.as_ref()?)))
        else {
            continue;
        };
        let Movement { io, bytes_read, predicted_ns, saved, .. } = &**movement;
        let mut cells: Vec<String> = columns.iter().map(|column| case.problem.shown(column)).collect();
        cells.push(case.strategy.clone());
        cells.extend([io.launches, io.syncs, io.traffic, io.host_output, *bytes_read].map(|count| count.to_string()));
        let saved = saved.map(|saved| [saved.launches, saved.syncs, saved.read_back].map(|count| count.to_string()));
        cells.extend(saved.unwrap_or_default());
        let time = measured.time_ns.median;
        cells.extend([duration(*predicted_ns), duration(time), digits(predicted_ns / time)]);
        cells.push(movement.verdict());
        table.row(cells);
    }
    table
}

impl Movement {
    /// What moves, and the gate's verdict, in a line.
    pub fn summary(&self) -> String {
        let DataMovement { launches, syncs, .. } = self.io;
        let predicted = duration(self.predicted_ns);
        let moved =
            format!("{launches} launches, {syncs} syncs, {} bytes read; {predicted} predicted", self.bytes_read);
        if self.fuse.is_some() { format!("{moved}; {}", self.verdict()) } else { moved }
    }

    /// The gate's verdict in a word, and what it comes to.
    fn verdict(&self) -> String {
        let (Some(decision), Some(fuse)) = (&self.decision, self.fuse) else { return String::new() };
        let score = decision.score.total();
        let sign = if score < 0.0 { "loses" } else { "gains" };
        format!("{}: {sign} {}", if fuse { "fuse" } else { "leave" }, duration(score.abs()))
    }
}
