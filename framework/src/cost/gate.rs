//! Whether a rewrite pays, as data.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Benefit, DeviceProfile, Io, Prediction, Score};

/// From `batch` rows on, a fused computation may be predicted to take at most `ratio` times what it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floor {
    /// The smallest batch it holds for.
    pub batch: u64,
    /// The largest ratio of predicted times.
    pub ratio: f64,
}

/// A floor that applied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FloorCheck {
    /// The floor.
    pub floor: Floor,
    /// Predicted time after by predicted time before.
    pub ratio: f64,
}

impl FloorCheck {
    /// Whether the rewrite is allowed.
    pub fn passed(&self) -> bool {
        self.ratio <= self.floor.ratio
    }
}

/// Whether to rewrite on a device, with every term that led there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The device's name.
    pub device: String,
    /// What runs if the graph stays as it is, and its predicted time.
    pub before: (Io, Prediction),
    /// What runs if it is rewritten, and its predicted time.
    pub after: (Io, Prediction),
    /// What is saved.
    pub benefit: Benefit,
    /// What that is worth.
    pub score: Score,
    /// What it has to be worth, in nanoseconds.
    pub min_gain: f64,
    /// The floor for this batch, if there is one.
    pub floor: Option<FloorCheck>,
}

impl Decision {
    /// Weighs replacing `before` by `after` for `batch` rows.
    pub fn new(device: &DeviceProfile, before: Io, after: Io, batch: u64) -> Self {
        let benefit = Benefit::new(&before, &after, device.unified);
        let [time_before, time_after] = [before, after].map(|io| Prediction::new(&io, device));
        let floor = device.floors.iter().filter(|floor| batch >= floor.batch).max_by_key(|floor| floor.batch);
        let ratio = time_after.total() / time_before.total();
        Self {
            device: device.name.clone(),
            before: (before, time_before),
            after: (after, time_after),
            benefit,
            score: Score::new(&benefit, device),
            min_gain: device.min_gain,
            floor: floor.map(|&floor| FloorCheck { floor, ratio }),
        }
    }

    /// Whether the rewrite is worth it, and no floor forbids it.
    pub fn fuse(&self) -> bool {
        self.score.total() >= self.min_gain && self.floor.is_none_or(|check| check.passed())
    }

    /// The decision and every term, a line each.
    pub fn explain(&self) -> String {
        let verdict = if self.fuse() { "fuse" } else { "leave" };
        let mut text = format!("{verdict} on {}\n", self.device);
        for (name, (io, prediction)) in [("before", &self.before), ("after", &self.after)] {
            let Io { launches, syncs, host_output, traffic } = io;
            let _ = writeln!(
                text,
                "  {name}: {launches} launches, {syncs} syncs, {host_output} bytes to the host, {traffic} bytes of traffic"
            );
            let _ = writeln!(text, "  {name}: {prediction}");
        }
        let Benefit { launches, syncs, read_back, traffic } = self.benefit;
        let _ = writeln!(
            text,
            "  saved: {launches} launches, {syncs} syncs, {read_back} bytes of read-back, {traffic} bytes of traffic"
        );
        let _ = writeln!(text, "  score: {}; at least {:.0} ns are asked for", self.score, self.min_gain);
        if let Some(FloorCheck { floor, ratio }) = self.floor {
            let _ = writeln!(
                text,
                "  floor: {ratio:.3} of the time before; at most {:.2} is allowed from batch {}",
                floor.ratio, floor.batch
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;
