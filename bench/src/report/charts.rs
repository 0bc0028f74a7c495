//! Curves of time over the sizes that a report goes through.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Range};
use firefly_app::page::figure::Figure;

use crate::harness::{CaseRecord, DERIVED, Measured, grouped};

/// Sizes that are drawn from left to right, and what they count.
const SIZES: [(&str, &str); 4] = [
    ("batch", "batch (rows per call, logarithmic)"),
    ("k", "k (peaks per row, logarithmic)"),
    ("n_fft", "n_fft (samples per segment, logarithmic)"),
    ("n", "n (values per row, logarithmic)"),
];
/// Charts of a report at most; more are in its table only.
const MAX_CHARTS: usize = 24;

/// Time per row over each parameter that takes several sizes: a chart for every combination of the others.
pub fn figures(cases: &[CaseRecord]) -> Vec<Figure> {
    let charts =
        SIZES.iter().flat_map(|&(over, label)| of_size(cases, over).into_iter().map(move |group| (label, group)));
    charts.take(MAX_CHARTS).map(|(label, group)| figure(label, group)).collect()
}

fn figure(label: &str, (title, series): (String, Vec<ChartSeries>)) -> Figure {
    let chart = Chart {
        x: ChartAxis::new(label, AxisScale::Log2),
        y: ChartAxis::new("median time (ns per row, logarithmic)", AxisScale::Log),
        series,
        threshold: None,
    };
    let mut figure = Figure::chart(&title, chart, "No case was measured.");
    figure.caption =
        "Both axes are logarithmic, as in every chart of this page. Band: 10th to 90th percentile of the iterations."
            .to_owned();
    figure
}

/// Curves of charts with their titles.
fn of_size(cases: &[CaseRecord], over: &str) -> Vec<(String, Vec<ChartSeries>)> {
    let points = cases.iter().filter_map(|case| {
        let point = point(case.problem.count(over)? as f64, case.measured()?);
        let common = case.problem.without(&DERIVED).without(&[over]).with("threads", case.threads);
        let name = match &case.instruction_set {
            Some(set) => format!("{} ({set})", case.strategy),
            None => case.strategy.clone(),
        };
        Some((format!("{common} on {}", case.device), (name, point)))
    });
    let series = |(place, (name, mut points)): (usize, (String, Vec<Point>))| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        ChartSeries::new(&name, place, Mark::Line, points)
    };
    let charts = grouped(points).into_iter();
    let charts = charts.map(|(title, named)| (title, grouped(named).into_iter().enumerate().map(series).collect()));
    charts.filter(|(_, series): &(_, Vec<ChartSeries>)| series.iter().any(|series| series.points.len() > 1)).collect()
}

/// Median time per row at a size, with the percentiles as its range.
fn point(size: f64, measured: &Measured) -> Point {
    let time = &measured.time_ns;
    let per_row = measured.ns_per_row / time.median;
    let range = Range { low: time.p10 * per_row, high: time.p90 * per_row };
    Point { range: Some(range), ..Point::at(size, measured.ns_per_row) }
}
