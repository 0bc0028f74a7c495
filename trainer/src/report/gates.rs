//! The gates section: heat map of the butterflies and bars of the segments.

use super::{GateMap, OPEN, bars, heat_map};
use firefly_app::page::figure::Figure;
use firefly_app::page::number::{fixed, percent};

const TITLE: &str = "Gates of the butterflies";

/// The figures of a model that has gates; none for a model without any.
pub(super) fn figures(gates: &GateMap) -> Vec<Figure> {
    if gates.values.is_empty() && gates.segments.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![butterflies(gates)];
    if !gates.segments.is_empty() {
        figures.push(bars::segment_gates("segment-gates", &gates.segments));
    }
    figures
}

fn butterflies(gates: &GateMap) -> Figure {
    let count = gates.values.len();
    if count == 0 {
        return Figure::note(TITLE, "This model has no gates on butterflies.");
    }
    if gates.stages.checked_mul(gates.pairs) != Some(count) {
        return Figure::note(
            TITLE,
            &format!("Not drawn: {count} values do not make {} stages of {} pairs.", gates.stages, gates.pairs),
        );
    }
    let open = gates.values.iter().filter(|gate| **gate >= OPEN).count();
    let mut figure = Figure::new(TITLE, heat_map::svg("gate-map", TITLE, gates));
    figure.wide = true;
    figure.caption = format!(
        "{} of {} gates are open ({}). Stage 0 joins neighbours, the last stage joins the halves.",
        fixed(open as f64, 0),
        fixed(count as f64, 0),
        percent(heat_map::open_share(&gates.values)),
    );
    let pooled = heat_map::pairs_per_column(gates.pairs);
    if pooled > 1 {
        figure.caption += &format!(" One column is the mean of {pooled} neighbouring butterflies.");
    }
    figure
}
