//! Decision of the fusion gate in prose, and its terms as a small table.

use firefly_app::number::{bytes, duration, significant};
use firefly_app::table::{Align, TableLayout, TextTable, wrapped};
use firefly_framework::cost::{FusionDecision, Score, SlowdownCheck};
use firefly_framework::movement::DataMovement;

use super::traffic::signed_bytes;

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
