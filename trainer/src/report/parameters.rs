//! The learned taper, and the gain of every bin.

use super::Report;
use firefly_app::page::figure::Figure;
use firefly_app::page::line::{Horizontal, LineChart, Series, Vertical};

const NOTHING: &str = "No finite value was learned.";

/// A figure for each of taper and gain that the model has.
pub(super) fn figures(report: &Report) -> Vec<Figure> {
    let mut figures = Vec::new();
    if !report.taper.is_empty() {
        let mut tapers = vec![series("learned taper", &report.taper)];
        if !report.window.is_empty() {
            tapers.push(series("exact window", &report.window));
        }
        figures.push(
            LineChart {
                id: "taper",
                title: "Taper",
                x_label: "sample of the segment",
                y_label: "weight (no unit)",
                horizontal: Horizontal::Linear,
                vertical: Vertical::Linear,
                series: &tapers,
                nothing: NOTHING,
            }
            .figure(),
        );
    }
    if report.gain_db.iter().any(|values| !values.is_empty()) {
        let names = ["from the bin below", "its own", "from the bin above"];
        let gains: Vec<Series> =
            names.into_iter().zip(&report.gain_db).map(|(name, values)| series(name, values)).collect();
        figures.push(
            LineChart {
                id: "gain",
                title: "Gain per bin",
                x_label: "frequency bin",
                y_label: "gain (dB)",
                horizontal: Horizontal::Linear,
                vertical: Vertical::Linear,
                series: &gains,
                nothing: NOTHING,
            }
            .figure(),
        );
    }
    figures
}

fn series(name: &str, values: &[f32]) -> Series {
    let points = values.iter().enumerate().map(|(index, value)| (index as f64, f64::from(*value))).collect();
    Series { name: name.into(), points }
}
