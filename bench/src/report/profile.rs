//! Report of `profile`: data movement of a model, node by node, and decisions on rewriting it, in prose and as tables.

use firefly_app::number::{bytes, duration, significant};
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use firefly_framework::cost::{FusionDecision, Prediction, Score, SlowdownCheck};
use firefly_framework::movement::{DataMovement, GraphMovement, NodeMovement};
use firefly_framework::profile::DeviceProfile;
use serde::{Deserialize, Serialize};

use super::schema::Tool;
use super::terminal::Columns;
use super::traffic::signed_bytes;
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

/// Layout of decisions on pages.
pub const PAGE: TableLayout = TableLayout { width: 100, every_column: true };

/// The decision as sentences, then launches, synchronisations and bytes before and after, and what their difference is
/// worth.
pub fn explain(decision: &FusionDecision, layout: TableLayout) -> String {
    let mut text: String = wrapped(&prose(decision), layout.width).iter().flat_map(|line| [line, "\n"]).collect();
    text += &terms(decision).render_in(layout);
    text
}

/// Verdict and reason in sentences.
fn prose(decision: &FusionDecision) -> String {
    let FusionDecision { device, before, after, score, min_gain, slowdown, .. } = decision;
    let by = if decision.is_measured() { "measured operations" } else { "data movement" };
    let [before, after] = [before.1, after.1].map(|prediction| duration(prediction.total()));
    let verdict = if decision.fuse() { "The gate fuses" } else { "The gate leaves the graph as it is" };
    let total = decision.gain();
    let enough = if total >= *min_gain { "enough" } else { "too little" };
    let mut text = format!(
        "{verdict} on {device}. By {by} the graph takes {before}, and {after} after the rewrite. The rewrite \
         scores {}, which is {enough}: {} are required.",
        duration(total),
        duration(*min_gain)
    );
    if score.host_penalty > 0.0 {
        text += &format!(" It makes the device wait for the host, which costs {}.", duration(score.host_penalty));
    }
    if let Some(check) = slowdown {
        let SlowdownCheck { limit, ratio } = check;
        text += &format!(
            " Fused, it is predicted to take {} of the time before; from a batch of {} on, at most {} is allowed{}.",
            significant(*ratio, 3),
            limit.batch,
            significant(limit.ratio, 3),
            if check.passed() { "" } else { ", so that it is refused" }
        );
    }
    text
}

/// Data movement before and after, the difference, and its worth.
fn terms(decision: &FusionDecision) -> TextTable {
    let mut table = TextTable::default()
        .column("", Align::Left)
        .columns(["launches", "syncs", "traffic", "to host", "predicted"], Align::Right);
    for (name, (movement, prediction)) in [("before", &decision.before), ("after", &decision.after)] {
        let DataMovement { launches, syncs, host_output, traffic } = *movement;
        let bytes = [traffic, host_output].map(bytes);
        let counts = [name.into(), launches.to_string(), syncs.to_string()];
        table.row(counts.into_iter().chain(bytes).chain([duration(prediction.total())]));
    }
    let saved = decision.benefit;
    let bytes = [saved.traffic, saved.read_back].map(signed_bytes);
    table.row(["saved".into(), saved.launches.to_string(), saved.syncs.to_string()].into_iter().chain(bytes));
    let Score { launches, syncs, traffic, read_back, host_penalty } = decision.score;
    let worth = [launches, syncs - host_penalty, traffic, read_back, decision.score.total()].map(duration);
    table.row(["worth".into()].into_iter().chain(worth));
    table
}

#[cfg(test)]
mod tests {
    use firefly_framework::profile::Preset;

    use super::*;

    #[test]
    fn a_decision_is_prose_and_a_small_table() {
        let [before, after] = [(9, 20_000_000), (1, 12_000_000)].map(|(launches, traffic)| DataMovement {
            launches,
            syncs: 0,
            host_output: 1 << 20,
            traffic,
        });
        let layout = TableLayout { width: 100, every_column: false };
        let fused = explain(&FusionDecision::new(&Preset::Metal.profile(), before, after, 8192), layout);
        assert!(fused.starts_with("The gate fuses on metal."), "{fused}");
        assert!(fused.contains("worth") && fused.contains("19.1 MiB"), "{fused}");
        assert!(fused.lines().all(|line| line.chars().count() <= 100), "{fused}");
        let waiting = DataMovement { syncs: 1, ..after };
        let left = explain(&FusionDecision::new(&Preset::Cuda.profile(), before, waiting, 1), layout);
        assert!(left.contains("leaves the graph as it is on cuda") && left.contains("too little"), "{left}");
        assert!(left.contains("wait for the host"), "{left}");
    }
}
