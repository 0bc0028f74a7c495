//! The training section: loss, active share, validation recall and learning rate over steps.

use crate::metrics::TrainingPoint;
use firefly_app::page::figure::Figure;
use firefly_app::page::line::{Horizontal, LineChart, Series, Vertical};

const NOTHING: &str = "No finite value was recorded.";

/// The four figures of a training history with at least one point.
pub(super) fn figures(training: &[TrainingPoint]) -> Vec<Figure> {
    let loss = [
        series("total", training, |point| point.loss),
        series("ranking", training, |point| point.ranking),
        series("log power", training, |point| point.log_power),
        series("price on gates", training, |point| point.price),
    ];
    let active = [series("active share", training, |point| point.active_share)];
    let recall = [Series {
        name: "validation recall".into(),
        points: training.iter().filter_map(|point| Some((point.step as f64, point.validation_recall?))).collect(),
    }];
    let rate = [series("learning rate", training, |point| point.learning_rate)];
    let chart = LineChart {
        id: "",
        title: "",
        x_label: "training step",
        y_label: "",
        horizontal: Horizontal::Linear,
        vertical: Vertical::Share,
        series: &[],
        nothing: NOTHING,
    };
    vec![
        LineChart {
            id: "loss",
            title: "Loss and its terms",
            y_label: "loss (no unit)",
            vertical: Vertical::Adaptive,
            series: &loss,
            ..chart
        }
        .figure(),
        LineChart {
            id: "validation-recall",
            title: "Validation recall",
            y_label: "recall of the reference peaks (exact bin)",
            series: &recall,
            nothing: "Validation recall was not measured.",
            ..chart
        }
        .figure(),
        LineChart {
            id: "active-share",
            title: "Active butterflies, hard gates",
            y_label: "open butterflies, share of the reference's",
            series: &active,
            ..chart
        }
        .figure(),
        LineChart {
            id: "learning-rate",
            title: "Learning rate",
            y_label: "learning rate (no unit)",
            vertical: Vertical::Linear,
            series: &rate,
            ..chart
        }
        .figure(),
    ]
}

fn series(name: &str, training: &[TrainingPoint], value: impl Fn(&TrainingPoint) -> f64) -> Series {
    Series { name: name.into(), points: training.iter().map(|point| (point.step as f64, value(point))).collect() }
}
