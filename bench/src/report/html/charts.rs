//! Curves of time over the sizes that a report goes through.

use firefly_app::page::chart::{AxisScale, Chart, ChartAxis, ChartSeries, Mark, Point, Range};
use firefly_app::page::figure::Figure;

use crate::harness::outcome::{CaseRecord, DERIVED, Measured};
use crate::harness::parameters::ParameterMap;

/// Sizes that are drawn from left to right, and what they count.
const SIZES: [(&str, &str); 4] = [
    ("batch", "batch (rows per call, logarithmic)"),
    ("k", "k (peaks per row, logarithmic)"),
    ("n_fft", "n_fft (samples per segment, logarithmic)"),
    ("n", "n (values per row, logarithmic)"),
];
/// Charts of a report at most; more are in its table only.
const MOST_CHARTS: usize = 24;

/// Time per row over each parameter that takes several sizes: a chart for every combination of the others.
pub(super) fn figures(cases: &[CaseRecord]) -> Vec<Figure> {
    let charts =
        SIZES.iter().flat_map(|&(over, label)| of_size(cases, over).into_iter().map(move |group| (label, group)));
    charts.take(MOST_CHARTS).map(|(label, group)| figure(label, group)).collect()
}

fn figure(label: &str, group: Group) -> Figure {
    let chart = Chart {
        x: ChartAxis::new(label, AxisScale::Log2),
        y: ChartAxis::new("median time (ns per row, logarithmic)", AxisScale::Log),
        series: group.series,
        threshold: None,
    };
    let mut figure = Figure::chart(&group.title, chart, "No case was measured.");
    figure.caption =
        "Both axes are logarithmic, as in every chart of this page. Band: 10th to 90th percentile of the iterations."
            .to_owned();
    figure
}

/// The curves of one chart.
struct Group {
    title: String,
    common: ParameterMap,
    series: Vec<ChartSeries>,
}

fn of_size(cases: &[CaseRecord], over: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for case in cases {
        let (Some(size), Some(measured)) = (case.problem.count(over), case.measured()) else { continue };
        let common = case.problem.without(&DERIVED).without(&[over]).with("threads", case.threads);
        let place = groups.iter().position(|group| group.common == common).unwrap_or_else(|| {
            groups.push(Group { title: format!("{common} on {}", case.device), common, series: Vec::new() });
            groups.len() - 1
        });
        let series = &mut groups[place].series;
        let name = match &case.instruction_set {
            Some(set) => format!("{} ({set})", case.strategy),
            None => case.strategy.clone(),
        };
        let point = point(size as f64, measured);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(ChartSeries::new(&name, series.len(), Mark::Line, vec![point])),
        }
    }
    for series in groups.iter_mut().flat_map(|group| &mut group.series) {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    groups.retain(|group| group.series.iter().any(|series| series.points.len() > 1));
    groups
}

/// Median time per row at a size, with the percentiles as its range.
fn point(size: f64, measured: &Measured) -> Point {
    let time = &measured.time_ns;
    let per_row = measured.ns_per_row / time.median;
    let range = Range { low: time.p10 * per_row, high: time.p90 * per_row };
    Point { range: Some(range), ..Point::at(size, measured.ns_per_row) }
}
