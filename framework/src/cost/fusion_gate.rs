//! Fusion gate: the benefit of a rewritten graph over the original, and the decision whether it replaces it on a device,
//! as data.

use serde::{Deserialize, Serialize};

use super::Prediction;
use crate::movement::{DataMovement, GraphMovement};
use crate::profile::{DeviceProfile, MaxSlowdown};

/// Savings of a rewrite: before minus after, so that a positive number is a saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benefit {
    /// Launches saved.
    pub launches: i64,
    /// Synchronisations saved.
    pub syncs: i64,
    /// Bytes of host output saved; the device's own traffic for it is counted in `traffic`.
    pub read_back: i64,
    /// Bytes of device memory traffic saved.
    pub traffic: i64,
}

impl Benefit {
    /// Savings of `after` over `before`.
    pub const fn new(before: &DataMovement, after: &DataMovement) -> Self {
        Self {
            launches: before.launches as i64 - after.launches as i64,
            syncs: before.syncs as i64 - after.syncs as i64,
            read_back: before.host_output as i64 - after.host_output as i64,
            traffic: before.traffic as i64 - after.traffic as i64,
        }
    }
}

/// Benefit in nanoseconds on a device, term by term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Launches.
    pub launches: f64,
    /// Synchronisations.
    pub syncs: f64,
    /// Device memory traffic.
    pub traffic: f64,
    /// Read-back: over the link, or by the host's scan where memory is unified.
    pub read_back: f64,
    /// Penalty of added synchronisations, as a positive number.
    pub host_penalty: f64,
}

impl Score {
    /// Score of a benefit on a device.
    pub fn new(benefit: &Benefit, device: &DeviceProfile) -> Self {
        let added = benefit.syncs.min(0).unsigned_abs();
        Self {
            launches: benefit.launches as f64 * device.dispatch,
            syncs: benefit.syncs as f64 * device.roundtrip,
            traffic: benefit.traffic as f64 / device.memory_bandwidth,
            read_back: benefit.read_back as f64 / device.host_bandwidth(),
            host_penalty: added as f64 * device.host_penalty,
        }
    }

    /// Sum of all terms, in nanoseconds.
    pub fn total(&self) -> f64 {
        self.launches + self.syncs + self.traffic + self.read_back - self.host_penalty
    }
}

/// A slowdown limit that applied to a decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowdownCheck {
    /// The limit.
    pub limit: MaxSlowdown,
    /// Predicted time after divided by predicted time before.
    pub ratio: f64,
}

impl SlowdownCheck {
    /// Whether the ratio is within the limit.
    pub fn passed(&self) -> bool {
        self.ratio <= self.limit.ratio
    }
}

/// Decision whether to fuse on a device, with every term that it follows from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FusionDecision {
    /// The device's name.
    pub device: String,
    /// Data movement and predicted time of the original graph.
    pub before: (DataMovement, Prediction),
    /// Data movement and predicted time of the rewritten graph.
    pub after: (DataMovement, Prediction),
    /// Savings of the rewrite.
    pub benefit: Benefit,
    /// Score of those savings.
    pub score: Score,
    /// The lowest score that is accepted, in nanoseconds.
    pub min_gain: f64,
    /// The slowdown limit for this batch, if there is one.
    pub slowdown: Option<SlowdownCheck>,
}

impl FusionDecision {
    /// The decision on replacing `before` by `after` for `batch` rows, by data movement alone.
    pub fn new(device: &DeviceProfile, before: DataMovement, after: DataMovement, batch: u64) -> Self {
        Self::of(device, [before, after].map(|movement| (movement, Prediction::new(&movement, device))), batch)
    }

    /// The decision on replacing one graph by another for `batch` rows, by the measured latencies of their operations
    /// where the device has them.
    pub fn of_graphs(device: &DeviceProfile, before: &GraphMovement, after: &GraphMovement, batch: u64) -> Self {
        Self::of(device, [before, after].map(|graph| (graph.total, Prediction::of_graph(graph, device))), batch)
    }

    fn of(device: &DeviceProfile, [before, after]: [(DataMovement, Prediction); 2], batch: u64) -> Self {
        let benefit = Benefit::new(&before.0, &after.0);
        let limit = device.max_slowdowns.iter().filter(|limit| batch >= limit.batch).max_by_key(|limit| limit.batch);
        let ratio = after.1.total() / before.1.total();
        Self {
            device: device.name.clone(),
            before,
            after,
            benefit,
            score: Score::new(&benefit, device),
            min_gain: device.min_gain,
            slowdown: limit.map(|&limit| SlowdownCheck { limit, ratio }),
        }
    }

    /// The same decision with other estimates of the times before and after for the slowdown limit, in nanoseconds.
    pub fn with_times(self, before: f64, after: f64) -> Self {
        Self { slowdown: self.slowdown.map(|check| SlowdownCheck { ratio: after / before, ..check }), ..self }
    }

    /// Whether the latency of an operation was measured, so that predicted times decide and not the score.
    pub fn is_measured(&self) -> bool {
        self.before.1.operations > 0.0 || self.after.1.operations > 0.0
    }

    /// Nanoseconds that fusing is worth: the score of the data movement, or where operations were measured the
    /// difference of the predicted times, less the penalty of added synchronisations.
    pub fn gain(&self) -> f64 {
        if self.is_measured() {
            self.before.1.total() - self.after.1.total() - self.score.host_penalty
        } else {
            self.score.total()
        }
    }

    /// Whether the gain is high enough.
    pub fn saves_enough(&self) -> bool {
        self.gain() >= self.min_gain
    }

    /// Whether to fuse: the gain is high enough, and no slowdown limit is exceeded.
    pub fn fuse(&self) -> bool {
        self.saves_enough() && self.slowdown.is_none_or(|check| check.passed())
    }

    /// The decision and every term, one line each.
    pub fn explain(&self) -> String {
        let verdict = if self.fuse() { "fuse" } else { "leave" };
        let by = if self.is_measured() { "measured operations" } else { "data movement" };
        let Self { device, before, after, benefit, score, min_gain, slowdown } = self;
        let mut text = format!(
            "{verdict} on {device}\n  before: {}, {:?}\n  after: {}, {:?}\n  saved: {benefit:?}\n  score: {:.0} ns, \
             {score:?}\n  by {by}: {:.0} ns are saved; at least {min_gain:.0} ns are required\n",
            before.1,
            before.0,
            after.1,
            after.0,
            score.total(),
            self.gain()
        );
        if let Some(SlowdownCheck { limit, ratio }) = slowdown {
            text += &format!(
                "  slowdown: {ratio:.3} of the time before; at most {:.2} is allowed from batch {}\n",
                limit.ratio, limit.batch
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;
