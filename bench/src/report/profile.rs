//! Report of `profile`: data movement of a model, node by node, and decisions on rewriting it.

use firefly_app::number::{bytes, duration};
use firefly_app::table::TextTable;
use firefly_framework::cost::{FusionDecision, Prediction};
use firefly_framework::movement::{GraphMovement, NodeMovement};
use firefly_framework::profile::DeviceProfile;
use serde::{Deserialize, Serialize};

use super::schema::Tool;
use super::terminal::Columns;
use crate::harness::ParameterMap;

/// Version of the JSON format; it changes when a reader would have to.
pub const PROFILE_FORMAT: u32 = 3;

/// Data movement of one model.
#[allow(missing_docs, reason = "bench/SCHEMA.md describes the fields")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    pub format: u32,
    pub tool: Tool,
    pub model: String,
    pub parameters: ParameterMap,
    pub target: DeviceProfile,
    pub profile: GraphMovement,
    pub prediction: Prediction,
    pub decisions: Vec<FusionDecision>,
}

impl ProfileReport {
    /// Table with a row per node, and the total.
    pub fn table(&self) -> TextTable {
        let total = &self.profile.total;
        let name =
            |node: &NodeMovement| if node.view { format!("({})", node.operation) } else { node.operation.clone() };
        let mut table = Columns::<(usize, &NodeMovement)>::new()
            .number("node", |(place, _)| place.to_string())
            .word("operation", |(_, node)| name(node))
            .word("output", |(_, node)| {
                let outputs = node.shapes.iter().zip(&node.dtypes).map(|(shape, dtype)| format!("{dtype}{shape:?}"));
                outputs.collect::<Vec<_>>().join(" ")
            })
            .optional("launches", 1, |(_, node)| node.movement.launches.to_string())
            .optional("syncs", 4, |(_, node)| node.movement.syncs.to_string())
            .number("traffic", |(_, node)| bytes(node.movement.traffic))
            .optional("to host", 2, |(_, node)| bytes(node.movement.host_output))
            .optional("in use", 3, |(_, node)| bytes(node.live_bytes))
            .table(&self.profile.nodes.iter().enumerate().collect::<Vec<_>>());
        let counts = [total.launches, total.syncs].map(|count| count.to_string());
        let sizes = [total.traffic, total.host_output, self.profile.peak_bytes].map(bytes);
        table.row([String::new(), "total".into(), String::new()].into_iter().chain(counts).chain(sizes));
        table
    }

    /// Memory and predicted time, as lines of text.
    pub fn summary(&self) -> [String; 2] {
        let GraphMovement { held_bytes, peak_bytes, .. } = self.profile;
        let terms: Vec<String> =
            self.prediction.terms().map(|(name, time)| format!("{name} {}", duration(time))).collect();
        [
            format!(
                "inputs and constants take {}; at most {} are in use at once",
                bytes(held_bytes),
                bytes(peak_bytes)
            ),
            format!(
                "predicted on {}{}: {} = {}",
                self.target.name,
                if self.target.fingerprint.is_empty() { "" } else { ", calibrated" },
                duration(self.prediction.total()),
                terms.join(" + ")
            ),
        ]
    }
}
