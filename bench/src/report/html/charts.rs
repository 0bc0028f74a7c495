//! Curves of time over the sizes that a report goes through.

use firefly_app::page::figure::Figure;
use firefly_app::page::line::{Horizontal, LineChart, Series, Vertical};

use crate::harness::outcome::{CaseRecord, DERIVED};
use crate::harness::parameters::Parameters;

/// Sizes that are drawn from left to right, and what they count.
const SIZES: [(&str, &str); 4] = [
    ("batch", "batch (rows of a call)"),
    ("k", "k (peaks of a row)"),
    ("n_fft", "n_fft (samples of a segment)"),
    ("n", "n (values of a row)"),
];
/// Charts of a report at most; more are in its table only.
const MOST_CHARTS: usize = 24;

/// Nanoseconds a row over each parameter that takes several sizes: a chart for every combination of the others.
pub(super) fn figures(id: &str, cases: &[CaseRecord]) -> Vec<Figure> {
    let charts =
        SIZES.iter().flat_map(|&(over, label)| of_size(cases, over).into_iter().map(move |group| (label, group)));
    let figure = |(index, (label, group)): (usize, (&str, Group))| {
        LineChart {
            id: &format!("{id}-{index}"),
            title: &group.title,
            x_label: label,
            y_label: "median time (ns a row)",
            horizontal: Horizontal::PowersOfTwo,
            vertical: Vertical::Adaptive,
            series: &group.series,
            nothing: "No case was measured.",
        }
        .figure()
    };
    charts.take(MOST_CHARTS).enumerate().map(figure).collect()
}

/// The curves of one chart.
struct Group {
    title: String,
    common: Parameters,
    series: Vec<Series>,
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
        let point = (size as f64, measured.ns_per_row);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name, points: vec![point] }),
        }
    }
    for series in groups.iter_mut().flat_map(|group| &mut group.series) {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    groups.retain(|group| group.series.iter().any(|series| series.points.len() > 1));
    groups
}
