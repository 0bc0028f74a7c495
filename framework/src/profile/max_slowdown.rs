//! Limit on what the fusion gate may make slower.

use serde::{Deserialize, Serialize};

/// Upper limit on the predicted slowdown of a fused computation, from a batch size on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaxSlowdown {
    /// The smallest batch that the limit applies to.
    pub batch: u64,
    /// The largest ratio of predicted time after to predicted time before.
    pub ratio: f64,
}
