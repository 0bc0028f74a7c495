//! Data movement of a fusion phase: counted, observed and predicted.

use firefly_framework::cost::{Benefit, FusionDecision, Prediction};
use firefly_framework::movement::DataMovement;
use serde::{Deserialize, Serialize};

/// Data movement per run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseTraffic {
    /// Launches, synchronisations and bytes, counted from the graph that runs on the device.
    pub io: DataMovement,
    /// Bytes read back to the host, as observed.
    pub bytes_read: u64,
    /// Peak bytes of device memory in use, by the graph.
    pub peak_bytes: u64,
    /// Predicted nanoseconds of data movement, term by term.
    pub prediction: Prediction,
    /// Predicted nanoseconds per run: data movement, and the host's search for peaks where there is one; of the native
    /// operation on a calibrated device, the time that calibration measured.
    pub predicted_ns: f64,
    /// Savings over the baseline; none of the baseline itself.
    pub saved: Option<Benefit>,
    /// Fusion gate's decision with every term: on replacing the baseline by this phase or, where a graph was rewritten,
    /// on the rewrite.
    pub decision: Option<FusionDecision>,
    /// Verdict of that decision.
    pub fuse: Option<bool>,
}
