//! The gates section: heat map of the butterflies, and bars of the segments and of blocks of bins.

use firefly_app::number::{fixed, percent};
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Threshold};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;

use super::{GateMap, OPEN};

const BUTTERFLIES: &str = "Gates of the butterflies";
const SEGMENTS: Bars = Bars { title: "Segment gates", axis: "segment of the frame", what: "segments" };
const BLOCKS: Bars = Bars { title: "Gates of blocks of bins", axis: "block of bins", what: "blocks" };
/// Bars drawn at most; more are said to be left out.
const MOST_BARS: usize = 512;

/// What gates that are drawn as bars are of.
struct Bars {
    title: &'static str,
    axis: &'static str,
    what: &'static str,
}

/// The figures of a model that has gates; none for a model without any.
pub(super) fn figures(gates: &GateMap) -> Vec<Figure> {
    if gates.values.is_empty() && gates.segments.is_empty() {
        return Vec::new();
    }
    let mut figures = vec![butterflies(gates)];
    for (gates, of) in [(&gates.segments, SEGMENTS), (&gates.blocks, BLOCKS)] {
        if !gates.is_empty() {
            figures.push(bars(gates, &of));
        }
    }
    figures
}

fn butterflies(gates: &GateMap) -> Figure {
    let count = gates.values.len();
    if count == 0 {
        return Figure::note(BUTTERFLIES, "This model has no gates on butterflies.");
    }
    if gates.stages.checked_mul(gates.pairs) != Some(count) {
        return Figure::note(
            BUTTERFLIES,
            &format!("Not drawn: {count} values do not make {} stages of {} pairs.", gates.stages, gates.pairs),
        );
    }
    let mut map = HeatMap::new(gates.pairs, ["butterfly of the stage (pair)", "stage"], ["0 closed", "1 open"]);
    for (stage, row) in gates.values.chunks(gates.pairs).enumerate() {
        map.row(stage.to_string(), percent(open_share(row)), row);
    }
    let mut figure = Figure::heat_map(BUTTERFLIES, &map, "share of open gates");
    figure.caption = format!(
        "{} of {} gates are open ({}), on the right per stage. Stage 0 joins neighbours, the last stage joins the \
         halves.",
        fixed(open(&gates.values) as f64, 0),
        fixed(count as f64, 0),
        percent(open_share(&gates.values)),
    );
    if map.pooled() > 1 {
        figure.caption += &format!(" One column is the mean of {} neighbouring butterflies.", map.pooled());
    }
    figure
}

/// One bar per gate; a value that is not finite has no bar.
fn bars(gates: &[f32], of: &Bars) -> Figure {
    let bar = |(index, gate): (usize, &f32)| {
        let inside = if gate.is_finite() { f64::from(gate.clamp(0.0, 1.0)) } else { f64::NAN };
        Point::at(index as f64, inside)
    };
    let points = gates.iter().enumerate().take(MOST_BARS).map(bar).collect();
    let chart = Chart {
        x: ChartAxis::new(of.axis, AxisScale::Category),
        y: ChartAxis::new("gate", AxisScale::Share),
        series: vec![ChartSeries::new("gate", 2, Mark::Bars, points)],
        threshold: Some(Threshold { value: f64::from(OPEN), label: format!("open from {OPEN}") }),
    };
    let mut figure = Figure::chart(of.title, chart, "No gate is finite.");
    figure.caption = format!("{} of {} {} are open.", open(gates), gates.len(), of.what);
    if gates.len() > MOST_BARS {
        figure.caption += &format!(" The first {MOST_BARS} are shown.");
    }
    figure
}

/// Open gates; a gate that is not finite is closed.
fn open(gates: &[f32]) -> usize {
    gates.iter().filter(|gate| **gate >= OPEN).count()
}

/// Share of open gates among `gates`.
fn open_share(gates: &[f32]) -> f64 {
    open(gates) as f64 / gates.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_that_are_not_finite_are_closed() {
        assert_eq!(open_share(&[f32::NAN, 0.5, 0.49, 1.0]), 0.5);
    }
}
