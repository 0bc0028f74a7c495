//! Report of `profile`: data movement of a model, node by node, and decisions on rewriting it.

use firefly_app::number::{bytes, duration};
use firefly_app::table::{Align, TextTable};
use firefly_framework::cost::{FusionDecision, Prediction};
use firefly_framework::movement::GraphMovement;
use firefly_framework::profile::DeviceProfile;
use serde::{Deserialize, Serialize};

use super::schema::Tool;
use crate::harness::parameters::ParameterMap;

/// Version of the JSON format; it changes when a reader would have to.
pub const PROFILE_FORMAT: u32 = 3;

/// Data movement of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileReport {
    /// [`PROFILE_FORMAT`].
    pub format: u32,
    /// The program.
    pub tool: Tool,
    /// Name of the model.
    pub model: String,
    /// Parameters that the model was made with, by the options that give them.
    pub parameters: ParameterMap,
    /// Costs that times are predicted and decisions made with.
    pub target: DeviceProfile,
    /// Data movement, node by node.
    pub profile: GraphMovement,
    /// Predicted nanoseconds of data movement.
    pub prediction: Prediction,
    /// The fusion gate's decision on each rewrite that was found.
    pub decisions: Vec<FusionDecision>,
}

impl ProfileReport {
    /// Table with a row per node, and the total.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::default()
            .column("node", Align::Right)
            .column("operation", Align::Left)
            .column("output", Align::Left)
            .optional("launches", Align::Right, 1)
            .optional("syncs", Align::Right, 4)
            .column("traffic", Align::Right)
            .optional("to host", Align::Right, 2)
            .optional("in use", Align::Right, 3);
        for (place, node) in self.profile.nodes.iter().enumerate() {
            let outputs = node.shapes.iter().zip(&node.dtypes).map(|(shape, dtype)| format!("{dtype}{shape:?}"));
            let operation = if node.view { format!("({})", node.operation) } else { node.operation.clone() };
            let outputs = outputs.collect::<Vec<_>>().join(" ");
            let moved = node.movement;
            table.row([place.to_string(), operation, outputs].into_iter().chain([
                moved.launches.to_string(),
                moved.syncs.to_string(),
                bytes(moved.traffic),
                bytes(moved.host_output),
                bytes(node.live_bytes),
            ]));
        }
        let total = self.profile.total;
        table.row([
            String::new(),
            "total".into(),
            String::new(),
            total.launches.to_string(),
            total.syncs.to_string(),
            bytes(total.traffic),
            bytes(total.host_output),
            bytes(self.profile.peak_bytes),
        ]);
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
            format!("predicted on {}: {} = {}", self.target.name, duration(self.prediction.total()), terms.join(" + ")),
        ]
    }
}
