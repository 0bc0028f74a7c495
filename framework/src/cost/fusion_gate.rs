//! Fusion gate: the decision whether a rewritten graph replaces the original on a device, as data.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Benefit, Prediction, Score};
use crate::movement::DataMovement;
use crate::profile::{DeviceProfile, MaxSlowdown};

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
    /// The decision on replacing `before` by `after` for `batch` rows.
    pub fn new(device: &DeviceProfile, before: DataMovement, after: DataMovement, batch: u64) -> Self {
        let benefit = Benefit::new(&before, &after);
        let [time_before, time_after] = [before, after].map(|movement| Prediction::new(&movement, device));
        let limit = device.max_slowdowns.iter().filter(|limit| batch >= limit.batch).max_by_key(|limit| limit.batch);
        let ratio = time_after.total() / time_before.total();
        Self {
            device: device.name.clone(),
            before: (before, time_before),
            after: (after, time_after),
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

    /// Whether the score of the data movement is high enough.
    pub fn saves_enough(&self) -> bool {
        self.score.total() >= self.min_gain
    }

    /// Whether to fuse: the score is high enough, and no slowdown limit is exceeded.
    pub fn fuse(&self) -> bool {
        self.saves_enough() && self.slowdown.is_none_or(|check| check.passed())
    }

    /// The decision and every term, one line each.
    pub fn explain(&self) -> String {
        let verdict = if self.fuse() { "fuse" } else { "leave" };
        let mut text = format!("{verdict} on {}\n", self.device);
        // Writing to a string can't fail.
        for (name, (movement, prediction)) in [("before", &self.before), ("after", &self.after)] {
            let DataMovement { launches, syncs, host_output, traffic } = movement;
            let _ = writeln!(
                text,
                "  {name}: {launches} launches, {syncs} syncs, {host_output} bytes to the host, {traffic} bytes of \
                 traffic"
            );
            let _ = writeln!(text, "  {name}: {prediction}");
        }
        let Benefit { launches, syncs, read_back, traffic } = self.benefit;
        let _ = writeln!(
            text,
            "  saved: {launches} launches, {syncs} syncs, {read_back} bytes of read-back, {traffic} bytes of traffic"
        );
        let _ = writeln!(text, "  score: {}; at least {:.0} ns are required", self.score, self.min_gain);
        if let Some(SlowdownCheck { limit, ratio }) = self.slowdown {
            let _ = writeln!(
                text,
                "  slowdown: {ratio:.3} of the time before; at most {:.2} is allowed from batch {}",
                limit.ratio, limit.batch
            );
        }
        text
    }
}

#[cfg(test)]
mod tests;
