//! What the model has learned: a heat map of its butterflies, bars of its segments, its taper, and the gain of every
//! bin.

use firefly_app::number::{fixed, percent};
use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Threshold};
use firefly_app::page::figure::Figure;
use firefly_app::page::heat_map::HeatMap;

use super::{GateMap, OPEN, PeaksReport};

const BUTTERFLIES: &str = "Gates of the butterflies";
const SEGMENTS: &str = "Segment gates";
/// Bars drawn at most; more are said to be left out.
const MAX_BARS: usize = 512;

/// The figures of each of gates, taper and gain that the model has.
pub(super) fn figures(report: &PeaksReport) -> Vec<Figure> {
    let gates = &report.gates;
    let mut figures = Vec::new();
    if !(gates.values.is_empty() && gates.segments.is_empty()) {
        figures.push(butterflies(gates));
    }
    if !gates.segments.is_empty() {
        figures.push(segments(&gates.segments));
    }
    if !report.taper.is_empty() {
        let curves = [("learned taper", &report.taper), ("exact window", &report.window)];
        figures.push(curves_figure("Taper", "sample of the segment", "weight (no unit)", &curves));
    }
    if report.gain_db.iter().any(|values| !values.is_empty()) {
        let [below, own, above] = &report.gain_db;
        let curves = [("from the bin below", below), ("its own", own), ("from the bin above", above)];
        figures.push(curves_figure("Gain per bin", "frequency bin", "gain (dB)", &curves));
    }
    figures
}

fn butterflies(gates: &GateMap) -> Figure {
    let count = gates.values.len();
    if count == 0 {
        return Figure::note(BUTTERFLIES, "The transform is exact: butterflies have no gates.");
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

/// One bar per segment; a value that is not finite has no bar.
fn segments(gates: &[f32]) -> Figure {
    let bar = |(index, gate): (usize, &f32)| {
        let inside = if gate.is_finite() { f64::from(gate.clamp(0.0, 1.0)) } else { f64::NAN };
        Point::at(index as f64, inside)
    };
    let points = gates.iter().enumerate().take(MAX_BARS).map(bar).collect();
    let chart = Chart {
        x: ChartAxis::new("segment of the frame", AxisScale::Category),
        y: ChartAxis::new("gate", AxisScale::Share),
        series: vec![ChartSeries::new("gate", 2, Mark::Bars, points)],
        threshold: Some(Threshold { value: f64::from(OPEN), label: format!("open from {OPEN}") }),
    };
    let mut figure = Figure::chart(SEGMENTS, chart, "No gate is finite.");
    figure.caption = format!("{} of {} segments are open.", open(gates), gates.len());
    if gates.len() > MAX_BARS {
        figure.caption += &format!(" The first {MAX_BARS} are shown.");
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

/// A curve for each of the named values, over their index.
fn curves_figure(title: &str, x: &str, y: &str, curves: &[(&str, &Vec<f32>)]) -> Figure {
    let curve = |(index, (name, values)): (usize, &(&str, &Vec<f32>))| {
        let points = values.iter().enumerate().map(|(place, value)| (place as f64, f64::from(*value)));
        ChartSeries::line(name, index, points)
    };
    let series = curves.iter().enumerate().map(curve).collect();
    let chart = Chart {
        x: ChartAxis::new(x, AxisScale::Linear),
        y: ChartAxis::new(y, AxisScale::Linear),
        series,
        threshold: None,
    };
    Figure::chart(title, chart, "No finite value was learned.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_that_are_not_finite_are_closed() {
        assert_eq!(open_share(&[f32::NAN, 0.5, 0.49, 1.0]), 0.5);
    }
}
