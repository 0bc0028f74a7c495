//! The learned taper, and the gain of every bin.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries};
use firefly_app::page::figure::Figure;

use super::PeaksReport;

const EMPTY: &str = "No finite value was learned.";

/// A figure for each of taper and gain that the model has.
pub(super) fn figures(report: &PeaksReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    if !report.taper.is_empty() {
        let curves = [("learned taper", &report.taper), ("exact window", &report.window)];
        figures.push(figure("Taper", "sample of the segment", "weight (no unit)", &curves));
    }
    if report.gain_db.iter().any(|values| !values.is_empty()) {
        let [below, own, above] = &report.gain_db;
        let curves = [("from the bin below", below), ("its own", own), ("from the bin above", above)];
        figures.push(figure("Gain per bin", "frequency bin", "gain (dB)", &curves));
    }
    figures
}

/// A curve for each of the named values, over their index.
fn figure(title: &str, x: &str, y: &str, curves: &[(&str, &Vec<f32>)]) -> Figure {
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
    Figure::chart(title, chart, EMPTY)
}
