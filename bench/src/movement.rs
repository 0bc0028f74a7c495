//! What a way to compute moves, beside what that was predicted to take.

use firefly_framework::cost::{Benefit, Decision, Io, Prediction};
use serde::{Deserialize, Serialize};

use crate::cases::key_columns;
use crate::json::CaseRecord;
use crate::table::{Side, Table, digits, duration};

/// What one run moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// Launches, synchronisations and bytes, counted from the graph of what runs on the device.
    pub io: Io,
    /// Bytes that came to the host in a run.
    pub bytes_read: u64,
    /// Most bytes of device memory in use at once, by the graph.
    pub peak_bytes: u64,
    /// Nanoseconds that moving is predicted to take, term by term.
    pub prediction: Prediction,
    /// Predicted nanoseconds of the whole run: of moving, and of what the host does with what it reads; by the measured
    /// rate of the fused operation where that runs and the device was calibrated.
    pub predicted_ns: f64,
    /// What is saved over the baseline; none of the baseline itself.
    pub saved: Option<Benefit>,
    /// Whether it pays: to replace the baseline by this, or, where a graph was rewritten, what the rewriter decided on.
    pub decision: Option<Decision>,
    /// The verdict of that decision.
    pub fuse: Option<bool>,
}

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
        let Io { launches, syncs, .. } = self.io;
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
