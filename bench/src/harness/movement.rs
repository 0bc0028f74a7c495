//! What a way to compute moves, beside what that was predicted to take.

use firefly_framework::cost::{Benefit, FusionDecision, Prediction};
use firefly_framework::movement::DataMovement;
use serde::{Deserialize, Serialize};

/// What one run moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// Launches, synchronisations and bytes, counted from the graph of what runs on the device.
    pub io: DataMovement,
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
    pub decision: Option<FusionDecision>,
    /// The verdict of that decision.
    pub fuse: Option<bool>,
}
