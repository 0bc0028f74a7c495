//! The training section: loss, active share, validation recall and learning rate over steps.

use firefly_app::page::chart::{Axis, Chart, Scale, Series};
use firefly_app::page::figure::Figure;

use crate::metrics::TrainingPoint;

const EMPTY: &str = "No finite value was recorded.";

/// The four figures of a training history; none of an empty one.
pub(super) fn figures(training: &[TrainingPoint]) -> Vec<Figure> {
    if training.is_empty() {
        return Vec::new();
    }
    let curve = |name: &str, colour: usize, value: fn(&TrainingPoint) -> Option<f64>| {
        Series::line(name, colour, training.iter().filter_map(|point| Some((point.step as f64, value(point)?))))
    };
    let chart = |y: &str, scale: Scale, series: Vec<Series>| Chart {
        x: Axis::new("training step", Scale::Linear),
        y: Axis::new(y, scale),
        series,
        threshold: None,
    };
    let terms = vec![
        curve("total", 0, |point| Some(point.loss)),
        curve("ranking", 1, |point| Some(point.ranking)),
        curve("log power", 2, |point| Some(point.log_power)),
        curve("price on gates", 3, |point| Some(point.price)),
    ];
    let losses = |point: &TrainingPoint| [point.loss, point.ranking, point.log_power, point.price];
    let loss = chart("loss (no unit)", Scale::spanning(training.iter().flat_map(losses)), terms);
    let recall = vec![curve("validation recall", 0, |point| point.validation_recall)];
    let recall = chart("recall of the reference peaks (exact bin)", Scale::Share, recall);
    let active = vec![curve("active share", 0, |point| Some(point.active_share))];
    let active = chart("open butterflies, share of the reference's", Scale::Share, active);
    let rate = vec![curve("learning rate", 0, |point| Some(point.learning_rate))];
    let rate = chart("learning rate (no unit)", Scale::Linear, rate);
    vec![
        Figure::chart("Loss and its terms", loss, EMPTY),
        Figure::chart("Validation recall", recall, "Validation recall was not measured."),
        Figure::chart("Active butterflies, hard gates", active, EMPTY),
        Figure::chart("Learning rate", rate, EMPTY),
    ]
}
