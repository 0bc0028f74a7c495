//! The training section: loss and its terms, the task's metrics and learning rate over steps.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries};
use firefly_app::page::figure::Figure;

use crate::metrics::TrainingPoint;
use crate::task::MetricCurve;

const EMPTY: &str = "No finite value was recorded.";

/// The figures of a training history: the loss with its terms, a figure per curve, and the learning rate; none of an
/// empty history.
pub(super) fn figures(
    training: &[TrainingPoint],
    terms: &[(&'static str, &'static str)],
    curves: &[MetricCurve],
) -> Vec<Figure> {
    if training.is_empty() {
        return Vec::new();
    }
    let curve = |name: &str, colour: usize, value: &dyn Fn(&TrainingPoint) -> Option<f64>| {
        ChartSeries::line(name, colour, training.iter().filter_map(|point| Some((point.step as f64, value(point)?))))
    };
    let chart = |y: &str, scale: AxisScale, series: Vec<ChartSeries>| Chart {
        x: ChartAxis::new("training step", AxisScale::Linear),
        y: ChartAxis::new(y, scale),
        series,
        threshold: None,
    };
    let mut losses = vec![curve("total", 0, &|point| Some(point.loss))];
    for (index, (metric, name)) in terms.iter().enumerate() {
        losses.push(curve(name, index + 1, &|point| point.metric(metric)));
    }
    let all = training.iter().flat_map(|point| {
        let terms = terms.iter().filter_map(|(metric, _)| point.metric(metric));
        std::iter::once(point.loss).chain(terms)
    });
    let scale = AxisScale::spanning(all);
    let title = if terms.is_empty() { "Loss" } else { "Loss and its terms" };
    let mut figures = vec![Figure::chart(title, chart("loss (no unit)", scale, losses), EMPTY)];
    for MetricCurve { metric, name, title, axis, is_share, empty } in curves {
        let series = vec![curve(name, 0, &|point| point.metric(metric))];
        let scale = match is_share {
            true => AxisScale::Share,
            false => AxisScale::spanning(training.iter().filter_map(|point| point.metric(metric))),
        };
        figures.push(Figure::chart(title, chart(axis, scale, series), empty));
    }
    let rate = vec![curve("learning rate", 0, &|point| Some(point.learning_rate))];
    figures.push(Figure::chart("Learning rate", chart("learning rate (no unit)", AxisScale::Linear, rate), EMPTY));
    figures
}
